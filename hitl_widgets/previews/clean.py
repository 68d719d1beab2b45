"""Markdown and HTML of a preview, sanitised by ammonia (nh3) before anybody sees them.

The page draws Markdown from an allow-list of elements again, and HTML in a frame that may run and
load nothing: what is left through here by mistake finds the next door shut.
"""

from __future__ import annotations

import functools
import html
from typing import Any

_PROSE = frozenset(
    {
        *("p", "br", "hr", "em", "strong", "s", "del", "code", "pre", "blockquote"),
        *("ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
)
_PAGE = _PROSE | {
    *("div", "span", "b", "i", "u", "sub", "sup", "small", "mark", "caption", "tfoot"),
    *("colgroup", "col", "dl", "dt", "dd", "figure", "figcaption", "section", "style"),
}
_DROPPED = frozenset({"script", "iframe", "object", "embed", "noscript", "template", "textarea"})


def clean_markdown(content: str) -> str:
    """HTML of Markdown text: CommonMark and tables, no HTML of its own, no images, no links."""
    made: str = _parser().render(content)
    import nh3  # noqa: PLC0415  # only a preview needs it

    return nh3.clean(
        made,
        tags=set(_PROSE),
        clean_content_tags={*_DROPPED, "style"},
        attributes={},
        link_rel=None,
    )


def clean_html(content: str) -> str:
    """HTML without anything that runs, loads, leads away or can be pressed."""
    import nh3  # noqa: PLC0415  # only a preview needs it

    shape = {"colspan", "rowspan", "scope"}
    return nh3.clean(
        content,
        tags=set(_PAGE),
        clean_content_tags=set(_DROPPED),
        attributes={"*": {"style", "class", "id"}, "th": shape, "td": shape},
        link_rel=None,
    )


def words_of(content: str) -> str:
    """The text of sanitised HTML, for where no HTML is drawn."""
    import nh3  # noqa: PLC0415  # only a preview needs it

    broken = content
    for tag in ("</p>", "</tr>", "</li>", "</div>", "<br>", "</h1>", "</h2>", "</h3>"):
        broken = broken.replace(tag, f"{tag}\n")
    for tag in ("</td>", "</th>"):
        broken = broken.replace(tag, f"{tag} ")
    bare = nh3.clean(broken, tags=set[str](), clean_content_tags={*_DROPPED, "style"})
    lines = (" ".join(line.split()) for line in html.unescape(bare).splitlines())
    return "\n".join(line for line in lines if line)


@functools.cache
def _parser() -> Any:
    from markdown_it import MarkdownIt  # noqa: PLC0415  # only a preview needs it

    # A picture in Markdown is its words: nothing is loaded.
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
