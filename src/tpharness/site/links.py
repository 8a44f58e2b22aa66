"""Whether the links of a site lead somewhere: to files that are there, and to ids that they have. No network.

In: the folder of a site. Out: what is broken, a line each. Links to other sites are not followed; a page must not load
anything from one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["find_broken_links"]

_LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}
_SHOWN = "view/"  # where a picture page is opened; its script reads it
_ENTRY = re.compile(r'"id":"([^"]+)"')
_NOT_LOADED = {"canonical", "alternate", "me"}


class _Page(HTMLParser):
    """The ids of a page, and its links: tag, attribute, address."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: set[str] = set()
        self.links: list[tuple[str, str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.ids.update(value for key in ("id", "name") if (value := named.get(key)))
        if tag == "link" and named.get("rel") in _NOT_LOADED:
            return
        self.links += [(tag, key, value) for key in ("href", "src") if (value := named.get(key)) is not None]


def find_broken_links(folder: Path) -> Iterator[str]:
    """Find links of the pages below a folder that lead nowhere, and what a page would load from elsewhere."""
    top = folder.resolve()

    @cache
    def read(path: Path) -> _Page:
        return _Page(path.read_text("utf-8"))

    @cache
    def shows(path: Path) -> set[str]:
        return set(_ENTRY.findall(path.read_text("utf-8")))

    @cache
    def target_of(below: Path, address: str) -> Path:
        found = (below / unquote(address)).resolve()
        return found / "index.html" if found.is_dir() else found

    @cache
    def is_there(path: Path) -> bool:
        return path.is_file() and path.is_relative_to(top)

    for path in sorted(top.rglob("*.html")):
        if path.name == "404.html":
            continue  # it is served below any address, and has absolute ones
        for tag, key, address in read(path).links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if (tag, key) in _LOADED and parts.scheme != "data":
                    yield f"{path.relative_to(top)} loads {address}"
                continue
            target = target_of(path.parent, parts.path) if parts.path else path
            if not is_there(target):
                yield f"{path.relative_to(top)} links to {address}, which is not there"
                continue
            place = unquote(parts.fragment)
            if place.startswith(_SHOWN):
                shown = place.removeprefix(_SHOWN).partition("@")[0]
                if shown not in shows(target):
                    yield f"{path.relative_to(top)} links to {address}, which the page does not show"
            elif place and target.suffix == ".html" and place not in read(target).ids and not place.startswith("__"):
                yield f"{path.relative_to(top)} links to {address}: the page has no such place"
