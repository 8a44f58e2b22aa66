"""Timelines and tables → one HTML file, which asks the network for nothing.

In: a title, sections of HTML, and timelines. Out: the text of a page. Everything that others wrote is either escaped
text in a section (`text_html`), or a value in a JSON element, where no `<` is left; the page's script puts it into the
document as text. A policy in the page allows this style and these scripts by their hashes and nothing else, so that a
mistake in either has no effect.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import starmap
from pathlib import Path
from typing import Any

from tpharness.clauses import clause_texts, load_rulings
from tpharness.picture.tables import element_json
from tpharness.printable import make_printable

__all__ = [
    "MOST_BYTES",
    "PageEntry",
    "PicturePage",
    "finding_html",
    "render_page",
    "shared_files",
    "table_html",
    "text_html",
]

MOST_BYTES = 14_000_000
"""Bytes of JSON that the timelines of a page may have, so that its file stays below 15 MB."""
_PLAIN_BYTES = 2_000_000
"""Up to so many bytes timelines stand in a page as they are; those of a page with more are packed, to a fifth."""

_ASSETS = Path(__file__).parent / "assets"
_SCRIPTS = ("dom.js", "tables.js", "threads.js", "timeline.js", "tracks.js", "page.js", "find.js")
_STYLE_FILE, _SCRIPT_FILE = "picture.css", "picture.js"
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MARKUP = re.compile(r"\*\*|`")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEntry:
    """A timeline and what a page says of it besides.

    `outcome` is the verdict on the case, "" if there is none; `failed` are the places of its sweep that failed, as the
    part of their ids after the `@`; `results` are `{id, findings}`; `note` is a sentence about who played.
    """

    timeline: Mapping[str, Any]
    outcome: str = ""
    green: bool = True
    failed: Sequence[str] = ()
    results: Sequence[Mapping[str, Any]] = ()
    note: str = ""

    @property
    def id(self) -> str:
        """The id of the case, or the name of the file."""
        return str(self.timeline["id"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PicturePage:
    """What is on a page: a title, HTML below it, sections of HTML, and timelines, the first of which is shown.

    `plain` are sections for a reader without scripts. `timeline_first` has the timelines stand above the sections.
    `shares` says that the page lies beside the files of `shared_files`, and has its timelines packed.
    """

    title: str
    lead: str = ""
    sections: Sequence[str] = ()
    entries: Sequence[PageEntry] = ()
    plain: Sequence[str] = ()
    timeline_first: bool = False
    shares: bool = False


def text_html(text: str) -> str:
    """Return text as HTML that shows it, with escapes for what is not printable."""
    return html.escape(make_printable(text))


def render_page(page: PicturePage) -> str:
    """Return the text of the page."""
    style, script = _asset("page.css"), "".join(map(_asset, _SCRIPTS))
    sources = ("'self'", "'self'") if page.shares else (_hash(style), _hash(script))
    policy = f"default-src 'none'; style-src {sources[0]}; script-src {sources[1]}; base-uri 'none'; form-action 'none'"
    cases = [_case(number, entry) for number, entry in enumerate(page.entries)]
    data = {"cases": cases} if page.shares else {"cases": cases, **_decided()}
    viewer = [_asset("viewer.html").replace("{chooser}", _chooser(page.entries))] if page.entries else []
    timelines = [element_json(entry.timeline) for entry in page.entries]
    packed = page.shares or sum(map(len, timelines)) > _PLAIN_BYTES
    pieces = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta name="generator" content="tpharness {version("tpharness")}">',
        f"<title>{text_html(page.title)}</title>",
        f'<link rel="stylesheet" href="{_STYLE_FILE}">' if page.shares else f"<style>{style}</style>",
        "</head><body>",
        f"<header><h1>{text_html(page.title)}</h1>{page.lead}</header><main>",
        *([*viewer, *page.sections] if page.timeline_first else [*page.sections, *viewer]),
        f"<noscript>{''.join(page.plain)}</noscript>" if page.plain else "",
        "</main>",
        *(_json_element(f"data-{number}", text, packed=packed) for number, text in enumerate(timelines)),
        _json_element("page-data", element_json(data)),
        f'<script src="{_SCRIPT_FILE}"></script>' if page.shares else f"<script>{script}</script>",
        "</body></html>",
    ]
    return "\n".join(piece for piece in pieces if piece) + "\n"


def shared_files() -> Mapping[str, str]:
    """Return what pages of one folder share, by the names of the files: their style, their scripts, what is decided."""
    decided = f"globalThis.tpharnessDecided = {element_json(_decided())};\n"
    return {_STYLE_FILE: _asset("page.css"), _SCRIPT_FILE: decided + "".join(map(_asset, _SCRIPTS))}


def _decided() -> dict[str, Any]:
    """Return the texts of rulings and clauses for the script of a page."""
    return {
        "rulings": {one.id: {"title": one.title, "text": _MARKUP.sub("", one.text)} for one in load_rulings().values()},
        "clauses": dict(clause_texts()),
    }


def _case(number: int, entry: PageEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "data": f"data-{number}",
        "outcome": entry.outcome,
        "green": entry.green,
        "failed": list(entry.failed),
        "results": list(entry.results),
        "note": entry.note,
    }


def _chooser(entries: Sequence[PageEntry]) -> str:
    """Return the list of cases, those that failed first; nothing for one case."""
    if len(entries) < 2:
        return ""
    groups = {
        "failed": [one for one in enumerate(entries) if not one[1].green],
        "passed" if any(entry.outcome for entry in entries) else "files": [
            one for one in enumerate(entries) if one[1].green
        ],
    }
    lists = "".join(
        f'<optgroup label="{label}">{"".join(starmap(_option, some))}</optgroup>'
        for label, some in groups.items()
        if some
    )
    return f'<p id="case-box"><label for="case">Case </label><select id="case">{lists}</select></p>'


def _option(number: int, entry: PageEntry) -> str:
    return f'<option value="{number}">{text_html(entry.id)}</option>'


def _json_element(name: str, text: str, *, packed: bool = False) -> str:
    """Return an element with JSON, which the script unpacks when it is needed if that is said."""
    if not packed:
        return f'<script type="application/json" id="{name}">{text}</script>'
    escaped = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)  # UTF-8 has no half characters
    data = base64.b64encode(zlib.compress(escaped.encode(), 9)).decode()
    return f'<script type="application/json" id="{name}" data-packed>{data}</script>'


@cache
def _decisions() -> Mapping[str, str]:
    """Return the texts of clauses and the titles of rulings, by their ids."""
    return {**clause_texts(), **{one.id: one.title for one in load_rulings().values()}}


@cache
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def finding_html(finding: Mapping[str, Any], *, explained: bool = True) -> str:
    """Return a finding, with its place in words, as HTML; if it is explained, with the texts of what decides."""
    facts = {"at": "place", "got": "got", "expected": "expected", "to do": "remedy"}
    lines = "".join(
        f"<dt>{name}</dt><dd>{text_html(str(finding[key]))}</dd>" for name, key in facts.items() if finding.get(key)
    )
    cited = (*finding.get("clauses", ()), *finding.get("rulings", ()))
    texts = _decisions() if explained else {}
    lines += "".join(f"<dt>{text_html(one)}</dt><dd>{text_html(texts[one])}</dd>" for one in cited if one in texts)
    cites = "".join(f'<span class="ruling">{text_html(one)}</span>' for one in cited if one not in texts)
    head = f"<p><strong>{text_html(finding['code'])}</strong> {text_html(finding['message'])}</p>"
    return f'<div class="finding-block {finding["level"]}">{head}<dl>{lines}</dl>{cites}</div>'


def table_html(head: Iterable[str], rows: Iterable[Iterable[str]], caption: str = "") -> str:
    """Return a table of finished cells."""
    heads = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    title = f"<caption>{text_html(caption)}</caption>" if caption else ""
    region = f'<div class="scroll" tabindex="0" role="group" aria-label="{text_html(caption or "table")}">'
    return f"{region}<table>{title}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
