"""The pydantic models behind the p*.json cases (no `from __future__ import annotations`)."""

# Old spellings on purpose: what people write is tested, not what a linter likes.
# ruff: noqa: ANN001, ANN202, ANN206, UP007, UP017, UP042, UP045

import datetime as dt
import enum
import ipaddress
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, Union

from pydantic import (
    AnyUrl,
    Base64Bytes,
    BaseModel,
    ConfigDict,
    EmailStr,
    Field,
    HttpUrl,
    Json,
    RootModel,
    SecretStr,
    StrictInt,
    StringConstraints,
    constr,
    field_validator,
    model_validator,
)


class Scalars(BaseModel):
    name: str
    count: int
    ratio: float
    enabled: bool


class OptionalScalars(BaseModel):
    note: Optional[str] = None
    limit: int | None = None
    score: float | None = None
    owner: str | None  # required but nullable


class Literals(BaseModel):
    mode: Literal["fast", "safe", "dry-run"]
    level: Literal[1, 2, 3] = 2
    kind: Literal["only"] = "only"
    maybe: Literal["x", "y"] | None = None


class Color(str, enum.Enum):
    RED = "red"
    GREEN = "green"
    BLUE = "blue"


class Prio(enum.IntEnum):
    LOW = 1
    MID = 5
    HIGH = 9


class Enums(BaseModel):
    color: Color
    prio: Prio = Prio.MID
    accent: Color | None = None


class IntBounds(BaseModel):
    port: int = Field(ge=1, le=65535)
    pct: float = Field(gt=0, lt=1)
    step: int = Field(default=10, multiple_of=5)
    money: float = Field(default=0.25, multiple_of=0.25)


class StrRules(BaseModel):
    slug: constr(pattern=r"^[a-z][a-z0-9-]*$", min_length=3, max_length=12)
    code: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}\d{2}$")]
    memo: str = Field(default="", max_length=200)


class Contacts(BaseModel):
    email: EmailStr
    homepage: HttpUrl
    link: AnyUrl | None = None
    ip: ipaddress.IPv4Address = ipaddress.IPv4Address("127.0.0.1")


class Temporal(BaseModel):
    day: dt.date
    at: dt.datetime
    clock: dt.time
    wait: dt.timedelta
    until: dt.date | None = None


class IdsDecimals(BaseModel):
    ref: uuid.UUID
    amount: Decimal = Field(max_digits=12, decimal_places=2)
    fee: Decimal | None = None


class Secrets(BaseModel):
    user: str
    token: SecretStr
    backup: SecretStr | None = None


class Binary(BaseModel):
    raw: bytes
    b64: Base64Bytes


class Address(BaseModel):
    street: str
    city: str
    zip_code: str = Field(pattern=r"^\d{5}$")


class Company(BaseModel):
    name: str
    hq: Address


class Nested(BaseModel):
    person: str
    company: Company


class OptionalNested(BaseModel):
    title: str
    address: Address | None = None


class ScalarLists(BaseModel):
    tags: list[str]
    ports: list[int] = Field(min_length=1, max_length=3)
    maybe: list[str] | None = None


class Item(BaseModel):
    sku: str
    qty: int = Field(ge=1)
    note: str | None = None


class ModelList(BaseModel):
    order: str
    items: list[Item] = Field(min_length=1)


class Sets(BaseModel):
    words: set[str]
    colors: set[Color]
    days: list[Literal["mon", "tue", "wed"]] = []


class Tuples(BaseModel):
    pair: tuple[int, str]
    rgb: tuple[float, float, float] = (0.0, 0.0, 0.0)
    many: tuple[int, ...] = ()


class DictModel(BaseModel):
    hosts: dict[str, Address]


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(ge=0, le=9)


class Dog(BaseModel):
    kind: Literal["dog"]
    breed: str
    good: bool = True


Pet = Annotated[Union[Cat, Dog], Field(discriminator="kind")]


class Discriminated(BaseModel):
    owner: str
    pet: Pet


class ListDiscriminated(BaseModel):
    pets: list[Pet]


class UnionScalars(BaseModel):
    ident: int | str
    when: dt.date | Literal["never"]
    ratio: float | bool | None = None


class Car(BaseModel):
    wheels: int
    brand: str


class Boat(BaseModel):
    draft_m: float
    sail: bool = False


class UnionModels(BaseModel):
    vehicle: Car | Boat


class Tree(BaseModel):
    label: str
    children: list["Tree"] = []


class Defaults(BaseModel):
    name: str = "anon"
    retries: int = 3
    ratio: float = 0.5
    on: bool = True
    color: Color = Color.GREEN
    tags: list[str] = ["a", "b"]
    addr: Address = Address(street="1 Main", city="Bern", zip_code="30000")
    nothing: str | None = None


class DefaultFactory(BaseModel):
    ident: uuid.UUID = Field(default_factory=uuid.uuid4)
    tags: list[str] = Field(default_factory=list)
    opts: dict[str, int] = Field(default_factory=dict)
    created: dt.datetime = Field(default_factory=lambda: dt.datetime.now(dt.timezone.utc))


class Deprecated(BaseModel):
    new: str
    old: Annotated[str | None, Field(deprecated=True)] = None
    old2: Annotated[int, Field(deprecated="use new")] = 0


class ReadOnly(BaseModel):
    sql: str = Field(default="DELETE FROM t WHERE id = 7", json_schema_extra={"readOnly": True})
    version: Literal[2] = 2
    approve: bool
    hidden_out: str | None = Field(default=None, json_schema_extra={"writeOnly": True})


class LongText(BaseModel):
    body: str = Field(max_length=20000, description="Lorem ipsum dolor sit amet. " * 120)
    html: str = Field(default="", json_schema_extra={"contentMediaType": "text/html"})


class AnyJson(BaseModel):
    anything: Any = None
    obj: dict[str, Any] = {}
    raw: Json = "null"


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    user_id: Annotated[StrictInt, Field(alias="userId", gt=0)]
    flag: Annotated[bool, Field(alias="is-on", title="Is it on?")] = False
    words: Annotated[list[Annotated[str, Field(min_length=2)]], Field(max_length=3)] = []


class RootList(RootModel[list[int]]):
    pass


class RootChoice(RootModel[Literal["approve", "reject", "edit"]]):
    pass


Hundred = type(
    "Hundred",
    (BaseModel,),
    {
        "__annotations__": {
            f"field_{i:03d}": [str, int, float, bool, Color][i % 5] for i in range(100)
        },
        "__module__": __name__,
    },
)


class ExtraForbid(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int
    b: str = "x"


class Empty(BaseModel):
    """Nothing to fill: only confirm."""


class CrossField(BaseModel):
    start: dt.date
    end: dt.date
    guests: list[str] = []

    @model_validator(mode="after")
    def _order(self):
        if self.end < self.start:
            raise ValueError("end must not be before start")
        return self

    @field_validator("guests")
    @classmethod
    def _guests(cls, v):
        if len(v) != len(set(v)):
            raise ValueError("guests must be different people")
        return v


class BigNumbers(BaseModel):
    big: int
    exact: Decimal
    tiny: float
