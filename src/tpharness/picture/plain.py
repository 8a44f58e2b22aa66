"""A timeline as a table that needs no script: what happened, in order."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

from tpharness.findings import shorten
from tpharness.picture.page import table_html
from tpharness.printable import counted, make_printable

__all__ = ["event_words", "plain_timeline"]

_MOST_ROWS = 2000


def plain_timeline(timeline: Mapping[str, Any]) -> str:
    """Return the rows as a table of HTML, the first 2,000 of them; a sentence says how many were left out."""
    rows = timeline["rows"]
    cells = [
        (
            _cell(str(row["index"] + 1) if "index" in row else ""),
            _cell(row["kind"]),
            _cell(event_words(row.get("event"))),
            _cell(f"{row['from']}–{row['to']}" if "frame" in row else ""),
            _cell(shorten(row.get("frame", "").rstrip(), 200)),
            _cell(", ".join(found["code"] for found in row.get("found", ()))),
        )
        for row in rows[:_MOST_ROWS]
    ]
    table = table_html(("#", "row", "server event", "bytes", "frame", "findings"), cells, caption=timeline["id"])
    left = len(rows) - _MOST_ROWS
    return table + (
        f"<p>{counted(left, 'more row')} left out here; with scripts the page shows all.</p>" if left > 0 else ""
    )


def _cell(text: str) -> str:
    """Return text between tags, where quotation marks stand as they are: JSON is full of them."""
    return html.escape(make_printable(text), quote=False)


def event_words(event: Mapping[str, Any] | None) -> str:
    """Return a server event in a line, "" for None."""
    if event is None:
        return ""
    rest = {name: value for name, value in event.items() if name not in ("event_kind", "at", "index")}
    return f"{event.get('event_kind', '')} {shorten(json.dumps(rest, ensure_ascii=False), 120)}".strip()
