"""Cases of kinds that are not in the files: types, then JSON Schemas.

An invalid instance stands with the paths where its errors have to be, union branches left out.
"""

# Enums with aliases and bare True and False are among what is tested.
# ruff: noqa: PIE796, E501

import dataclasses
import datetime as dt
import enum
import pathlib
import uuid
from collections import deque
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, NotRequired

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, SecretBytes, SecretStr
from typing_extensions import TypedDict

from tests.conformance.forms.cases import Case

CASES: list[Case] = []


def case(name: str, source: Any, valid: Any, *invalid: tuple[Any, list[str | int]]) -> None:
    bad = tuple((value, (tuple(path),)) for value, path in invalid)
    CASES.append(Case(name, source, valid, bad))


# -- types ----------------------------------------------------------------------------------------


class Level(enum.Enum):
    """Two names for one value."""

    LOW = 1
    SMALL = 1
    HIGH = "high"


UserId = NewType("UserId", int)


class Address(TypedDict):
    street: str
    floor: NotRequired[int]


class Person(TypedDict):
    name: str
    home: Address


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    label: str | None = None


class Chain(BaseModel):
    value: int
    next: "Chain | None" = None


class Folder(BaseModel):
    files: dict[str, "Folder"] = {}
    size: int = 0


class Approve(BaseModel):
    type: Literal["approve"] = "approve"
    note: str | None = None


class Reject(BaseModel):
    type: Literal["reject"] = "reject"
    reason: str = Field(min_length=3)


class Edit(BaseModel):
    type: Literal["edit"] = "edit"
    count: int


Decision = Annotated[Approve | Reject | Edit, Field(discriminator="type")]


class Black(BaseModel):
    kind: Literal["cat"]
    color: Literal["black"]
    luck: int


class White(BaseModel):
    kind: Literal["cat"]
    color: Literal["white"]
    purrs: bool


class Dog(BaseModel):
    kind: Literal["dog"]
    breed: str


Cat = Annotated[Black | White, Field(discriminator="color")]


class Zoo(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    more: list[Annotated[Cat | Dog, Field(discriminator="kind")]] = []


class TriState(BaseModel):
    sure: bool | None
    really: bool


class Names(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    first: str = Field(validation_alias="givenName")
    last: str = Field(validation_alias=AliasChoices("family-name", "surname"))
    odd: dict[str, int] = Field(default={}, serialization_alias="out")


class OddKeys(BaseModel):
    a: int = Field(alias="a/b")
    b: int = Field(alias="c~d")
    c: int = Field(alias="with space")
    d: int = Field(alias="ünï.cödé[0]")


class Account(BaseModel):
    user: str
    login: SecretStr
    keys: list[SecretBytes] = []


class Vault(BaseModel):
    accounts: list[Account]
    parent: "Vault | None" = None


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    name: str


type_words = Annotated[list[Annotated[str, Field(min_length=2)]], Field(max_length=2)]
Json = RootModel["dict[str, Json] | list[Json] | str | int | None"]

case("int", int, 2**53 + 1, ("x", []), (1.5, []))
case("bool", bool, False, ("maybe", []))
case("float", float, 1e-07, ("x", []))
case("str", str, "x", (5, []))
case("none", None, None, (5, []))
case("any", Any, {"a": [None, 9007199254740993]})
case("date", dt.date, "2026-02-28", ("2026-02-30", []))
case("naive-datetime", dt.datetime, "2026-01-31T13:45:00", ("then", []))
case("time", dt.time, "08:30:00", ("25:00", []))
case("timedelta", dt.timedelta, "PT1H30M", ("soon", []))
case("decimal", Decimal, "19.90", ("1.x", []))
case("path", pathlib.Path, "a/b.txt", (5, []))
case("uuid-or-int", uuid.UUID | int, "3fa85f64-5717-4562-b3fc-2c963f66afa6", ("zz", []))
case("bytes", bytes, "ab", (5, []))
case("list-int", list[int], [1, 2], (["x"], [0]))
case("annotated-items", type_words, ["ab", "cd"], (["ab", "c"], [1]), (["ab", "cd", "ef"], []))
case("tuple-any-length", tuple[int, ...], [1, 2, 3], ([1, "x"], [1]))
case("tuple-then-model", tuple[str, Point], ["a", {"x": 1.0, "y": 0.0, "label": None}],
     (["a", {}], [1, "x"]))  # fmt: skip
case("frozenset", frozenset[str], ["a", "b"], ("ab", []))
case("deque", deque[int], [1, 2], (["x"], [0]))
case("enum-aliases", Level, "high", ("low", []))
case("newtype", UserId, 7, ("x", []))
case("typeddict", Person, {"name": "a", "home": {"street": "s"}},
     ({"name": "a", "home": {}}, ["home", "street"]),
     ({"name": "a", "home": {"street": "s", "floor": "x"}}, ["home", "floor"]))  # fmt: skip
case("dataclass", Point, {"x": 1.5, "y": 2.0, "label": None}, ({"x": "q"}, ["x"]))
case("literal-mixed", Literal[1, "two", True], "two", ("three", []))
case("literal-true", Literal[True], True, (False, []))
case("chain", Chain, {"value": 1, "next": {"value": 2, "next": None}},
     ({"value": 1, "next": {"value": "x"}}, ["next", "value"]))  # fmt: skip
case("recursive-dict", Folder, {"files": {"a": {"files": {}, "size": 1}}, "size": 0},
     ({"files": {"a": {"size": "x"}}}, ["files", "a", "size"]))  # fmt: skip
case("recursive-json", Json, {"a": [1, "x", None, {"b": []}]}, (1.5, []))
case("decision", Decision, {"type": "reject", "reason": "because"},
     ({"type": "reject", "reason": "no"}, ["reason"]), ({"type": "other"}, []))  # fmt: skip
case("nested-tags", Zoo,
     {"pet": {"kind": "cat", "color": "white", "purrs": True}, "more": [{"kind": "dog", "breed": "b"}]},
     ({"pet": {"kind": "cat", "color": "white"}}, ["pet", "purrs"]),
     ({"more": [{"kind": "cat", "color": "black", "luck": "x"}]}, ["more", 0, "luck"]))  # fmt: skip
case("tri-state", TriState, {"sure": None, "really": False}, ({"sure": True}, ["really"]))
case("validation-alias", Names, {"givenName": "a", "family-name": "b", "odd": {"x": 1}},
     ({"givenName": "a", "family-name": 5}, ["family-name"]))  # fmt: skip
case("odd-keys", OddKeys, {"a/b": 1, "c~d": 2, "with space": 3, "ünï.cödé[0]": 4},
     ({"a/b": "x", "c~d": 2, "with space": 3, "ünï.cödé[0]": 4}, ["a/b"]))  # fmt: skip
case("typed-extra", Extra, {"name": "a", "more": 5}, ({"name": "a", "more": "x"}, ["more"]))
case("secrets", Vault,
     {"accounts": [{"user": "a", "login": "s3cret-a", "keys": ["k1"]},
                   {"user": "b", "login": "s3cret-b", "keys": []}], "parent": None},
     ({"accounts": [{"user": "a"}]}, ["accounts", 0, "login"]))  # fmt: skip
case("list-or-text", list[str] | str, ["a"], (5, []))
case("dict-int", dict[str, int], {"a": 1, "b c": 2}, ({"a": "x"}, ["a"]))
case("int-keys", dict[int, str], {"1": "a"}, ({"x": "a"}, ["x"]))
case("text-edges", list[str], ["a\nb", " pad ", "\u202e", "\U0001f600", '"\\', "0"], ([None], [0]))

# -- JSON Schemas ---------------------------------------------------------------------------------

OBJ = {"type": "object"}
case("names-with-slash-and-tilde",
     {**OBJ, "properties": {"x": {"$ref": "#/$defs/a~1b~0c"}, "y": {"$ref": "#/$defs/p%25q"}},
      "$defs": {"a/b~c": {"type": "integer"}, "p%q": {"type": "boolean"}}},
     {"x": 1, "y": True}, ({"x": "q"}, ["x"]))  # fmt: skip
case("anchor", {**OBJ, "properties": {"x": {"$ref": "#num"}},
                "$defs": {"n": {"$anchor": "num", "type": "integer"}}},
     {"x": 1}, ({"x": "q"}, ["x"]))  # fmt: skip
case("self-reference", {**OBJ, "properties": {"v": {"type": "string"}, "next": {"$ref": "#"}},
                        "required": ["v"]},
     {"v": "a", "next": {"v": "b"}}, ({"v": "a", "next": {}}, ["next", "v"]))  # fmt: skip
case("pattern-properties", {**OBJ, "patternProperties": {"^n_": {"type": "integer"}},
                            "additionalProperties": False},
     {"n_a": 1}, ({"n_a": "x"}, ["n_a"]), ({"zz": 1}, ["zz"]))  # fmt: skip
case("const-null", {**OBJ, "properties": {"x": {"const": None}}}, {"x": None}, ({"x": 1}, ["x"]))
case("type-null", {**OBJ, "properties": {"x": {"type": "null"}}}, {"x": None}, ({"x": 1}, ["x"]))
case("true-schema", True, [1, {"a": None}])
case("empty-schema", {}, "text")
case("true-property", {**OBJ, "properties": {"x": True}}, {"x": [1]})
case("false-property", {**OBJ, "properties": {"x": False, "y": {"type": "string"}}}, {"y": "a"},
     ({"x": 1}, ["x"]))  # fmt: skip
case("all-of", {"allOf": [{**OBJ, "properties": {"a": {"type": "string", "minLength": 2}},
                           "required": ["a"]},
                          {"properties": {"b": {"type": "integer"}, "a": {"maxLength": 3}},
                           "required": ["b"]}]},
     {"a": "xx", "b": 1}, ({"a": "x", "b": 1}, ["a"]), ({"a": "xx"}, ["b"]))  # fmt: skip
case("dependent-required", {**OBJ, "properties": {"card": {"type": "string"},
                                                  "cvc": {"type": "string"}},
                            "dependentRequired": {"card": ["cvc"]}},
     {"card": "1", "cvc": "2"}, ({"card": "1"}, ["cvc"]))  # fmt: skip
case("dependent-schemas", {**OBJ, "properties": {"card": {"type": "string"}},
                           "dependentSchemas": {"card": {"properties": {"cvc": {"type": "string"}},
                                                         "required": ["cvc"]}}},
     {"card": "1", "cvc": "2"}, ({"card": "1"}, ["cvc"]))  # fmt: skip
case("if-then-else-in-all-of",
     {**OBJ, "properties": {"how": {"enum": ["mail", "call"]}}, "required": ["how"],
      "allOf": [{"if": {"properties": {"how": {"const": "mail"}}},
                 "then": {"properties": {"to": {"type": "string", "format": "email"}},
                          "required": ["to"]},
                 "else": {"properties": {"phone": {"type": "string"}}, "required": ["phone"]}}]},
     {"how": "mail", "to": "a@example.org"}, ({"how": "call"}, ["phone"]),
     ({"how": "mail", "to": "x"}, ["to"]))  # fmt: skip
case("any-of-required", {**OBJ, "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                         "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
     {"b": "x"}, ({}, []))  # fmt: skip
case("shared-and-branches", {**OBJ, "properties": {"id": {"type": "integer"}}, "required": ["id"],
                             "oneOf": [{"title": "By name", "required": ["name"],
                                        "properties": {"name": {"type": "string"}}},
                                       {"title": "By date", "required": ["day"],
                                        "properties": {"day": {"type": "string",
                                                               "format": "date"}}}]},
     {"id": 1, "day": "2026-01-31"}, ({"id": 1, "day": "x"}, ["day"]))  # fmt: skip
case("type-list", {**OBJ, "properties": {"x": {"type": ["integer", "string", "null"]}}},
     {"x": "a"}, ({"x": []}, ["x"]))  # fmt: skip
case("nullable-object", {**OBJ, "properties": {"x": {"type": ["object", "null"],
                                                     "properties": {"a": {"type": "string"}},
                                                     "required": ["a"]}}, "required": ["x"]},
     {"x": None}, ({"x": {}}, ["x", "a"]))  # fmt: skip
case("nullable-array", {**OBJ, "properties": {"x": {"type": ["array", "null"],
                                                    "items": {"type": "string"}}}},
     {"x": ["a"]}, ({"x": [1]}, ["x", 0]))  # fmt: skip
case("one-of-in-any-of", {**OBJ, "properties": {"x": {"anyOf": [
        {"oneOf": [{**OBJ, "title": "A", "properties": {"k": {"const": "a"}, "n": {"type": "integer"}},
                    "required": ["k", "n"]},
                   {**OBJ, "title": "B", "properties": {"k": {"const": "b"}}, "required": ["k"]}],
         "discriminator": {"propertyName": "k"}}, {"type": "null"}]}}},
     {"x": {"k": "a", "n": 1}}, ({"x": {"k": "a", "n": "q"}}, ["x", "n"]))  # fmt: skip
case("enum-big-integers", {"enum": [2**53 + 1, 2**53 + 3]}, 2**53 + 3, (1, []))
case("enum-with-null", {**OBJ, "properties": {"x": {"enum": ["a", None]}}, "required": ["x"]},
     {"x": None}, ({"x": "b"}, ["x"]))  # fmt: skip
case("titled-consts", {"oneOf": [{"const": 1, "title": "One"}, {"const": 2, "title": "Two"}]}, 2,
     (3, []))  # fmt: skip
case("draft-07-tuple-unsaid", {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]},
     [1, "a"], (["x", "a"], [0]))  # fmt: skip
case("write-only-object", {**OBJ, "properties": {"k": {**OBJ, "writeOnly": True,
                                                       "properties": {"a": {"type": "string"}}}}},
     {"k": {"a": "s3cret"}}, ({"k": 5}, ["k"]))  # fmt: skip
case("unique-items", {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
     ["a", "b"], (["a", "a"], []))  # fmt: skip
case("contains", {"type": "array", "items": {"type": "integer"}, "contains": {"const": 5}},
     [1, 5], ([1], []))  # fmt: skip
case("not", {"type": "string", "not": {"const": "root"}}, "ann", ("root", []))
case("default-big", {**OBJ, "properties": {"n": {"type": "integer", "default": 2**60 + 1}}},
     {"n": 2**60 + 1}, ({"n": "x"}, ["n"]))  # fmt: skip
