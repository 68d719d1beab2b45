"""What a page gets of a preview, and of the variables that a call reads."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .doc import Doc


class TablePart(Doc):
    """A table's first rows."""

    kind: Literal["table"]
    type: str
    shape: list[int]
    columns: list[list[str]] = Field(description="Name and dtype of those that are kept.")
    index: list[str] | None = Field(description="Labels of the rows, if they have any.")
    rows: str = Field(description="JSON text of a list of rows.")
    sha256: str


class ChangedRow(Doc):
    """A row that would be added, removed or changed."""

    how: Literal["added", "removed", "changed"]
    label: str
    was: list[str | None] = Field(description="By column; None: as it is, or not there.")
    now: list[str | None]


class ChangesPart(Doc):
    """What would change in a table."""

    kind: Literal["changes"]
    columns: list[str]
    all_columns: int
    shape_before: list[int]
    shape_after: list[int]
    added: int
    removed: int
    changed: int
    rows: list[ChangedRow]
    sha256: str


class TextPart(Doc):
    """Text; `length` is that of all of it, in characters."""

    kind: Literal["text"]
    text: str
    length: int


class DiffPart(Doc):
    """A unified diff."""

    kind: Literal["diff"]
    text: str
    length: int
    added: int
    removed: int


class SqlPart(Doc):
    """A statement, and how many rows it would touch, if that was asked."""

    kind: Literal["sql"]
    text: str
    length: int
    rows: int | None


class MarkdownPart(Doc):
    """Markdown as sanitised HTML: the page takes known elements of it, and no attribute."""

    kind: Literal["markdown"]
    html: str
    shown: int
    length: int


class HtmlPart(Doc):
    """Sanitised HTML, for a frame that runs and loads nothing."""

    kind: Literal["html"]
    text: str
    length: int


class ImagePart(Doc):
    """An image; `data` is base64."""

    kind: Literal["image"]
    mime: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    data: str
    alt: str


AnyPart = (
    TablePart | ChangesPart | TextPart | DiffPart | SqlPart | MarkdownPart | HtmlPart | ImagePart
)


class PreviewDoc(Doc):
    """What would happen, as the tool's own preview says."""

    made_at: str
    bound: bool = Field(description="It is part of the fingerprint.")
    failed: str | None
    parts: list[Annotated[AnyPart, Field(discriminator="kind")]]


class ReadDoc(Doc):
    """A variable that the call reads."""

    name: str
    type: str
    shape: list[int] | None
    value: str | None = Field(description="JSON text, when it is short.")
    digest: str
    missing: bool


class ReadChange(Doc):
    """A variable that changed since the call was asked before."""

    name: str
    was: ReadDoc
    added: list[str]
    removed: list[str]
    retyped: list[str]
