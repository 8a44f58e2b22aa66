"""The comparison of histories as two tables (text or Markdown) and as JSON.

A cell of the first table has a word for each kind of thing that a history loses in that phase, in brackets if it is
lost only at some of the places that had it to lose. A cell of the second table says whether every model API accepts the
history with the user's next message, or which rules it breaks, in brackets if only at some places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import rich.table
from rich import box
from rich.console import Console
from rich.markup import escape

from tpharness.histories.compare import Cell, HistoryComparison
from tpharness.histories.losses import LOSS_KINDS, LossKind
from tpharness.histories.phases import Phase
from tpharness.model_apis.rules import RULES

__all__ = ["LEGEND", "WORDS", "Table", "compare_json", "compare_markdown", "comparison_tables", "print_comparison"]

WORDS: Mapping[LossKind, str] = {
    "partial-text": "text",
    "partial-arguments": "args",
    "tool-name": "tool",
    "thinking": "thought",
    "signature": "sig",
    "finished-result": "result",
    "usage": "usage",
    "interruption-fact": "cut",
}
"""The short words of the table, in the order in which they stand in a cell."""

LEGEND: Mapping[LossKind, str] = {
    "partial-text": "what the model had said, or the end of it",
    "partial-arguments": "arguments of a call, or the end of them",
    "tool-name": "which tool was called",
    "thinking": "what the model had thought",
    "signature": "the signature of a thought that had ended",
    "finished-result": "the result of a tool that had finished",
    "usage": "all token counts of the turn",
    "interruption-fact": "that the turn was cut at all",
}
_MIN_WIDTH = 9  # columns of this width show every word in brackets
_LINE = 100
_NOTHING = "–"
_UNSUPPORTED = "cannot be held"
_NO_PLACE = "never occurs"
_TITLES = ("What is lost of the turn that is cut", "Whether every model API takes the history")
_SOMETIMES = "at some of the places that had it to lose, not at all of them"


def lost_words(cell: Cell) -> list[str]:
    """Return the words of a cell of the first table."""
    if not cell.cuts:
        return [_UNSUPPORTED if cell.unsupported else _NO_PLACE]
    words = [_bracketed(word, cell.lost[kind], cell.possible[kind]) for kind, word in WORDS.items() if cell.lost[kind]]
    return words or [_NOTHING]


def refused_words(cell: Cell) -> list[str]:
    """Return the words of a cell of the second table."""
    if not cell.cuts:
        return [_UNSUPPORTED if cell.unsupported else _NO_PLACE]
    if not cell.refusals:
        return ["✓"]
    rules = [_bracketed(rule, cell.refused[rule], cell.refusals) for rule in _in_order(cell.refused)]
    return ["✗", *rules] if cell.refusals == cell.cuts else [f"(✗ {' '.join(rules)})"]


def _bracketed(word: str, count: int, of: int) -> str:
    return word if count == of else f"({word})"


def _in_order(broken: Iterable[str]) -> list[str]:
    """Return rules in the order of their tables, codes without a rule last."""
    order = {rule.id: number for number, rule in enumerate(RULES)}
    return sorted(broken, key=lambda rule: (order.get(rule, len(order)), rule))


# ------------------------------------------------------------------------------------------------ for people


def print_comparison(console: Console, comparison: HistoryComparison) -> None:
    """Print both tables and their legends; histories that do not fit into 100 columns are in tables of their own."""
    for one in comparison_tables(comparison):
        head, *names = one.heads
        first = max(len(row[0]) for row in one.rows)
        for number, columns in enumerate(_groups(names, _LINE - first)):
            table = rich.table.Table(
                title=None if number else one.title,
                title_justify="left",
                box=box.SIMPLE_HEAD,
                pad_edge=False,
                padding=(0, 1, 0, 0),
            )
            table.add_column(head, min_width=first)
            for column in columns:
                table.add_column(_header(names[column]), width=_width(names[column]))
            for row in one.rows:
                table.add_row(*map(escape, (row[0], *(row[column + 1] for column in columns))))
            console.print(table)
        for word, text in one.meanings:
            console.print(f"{word:<10} {escape(text)}")
        console.print()


def _groups(names: Sequence[str], room: int) -> list[range]:
    """Divide columns into as few groups as fit, of about the same size."""
    count = -(-sum(_width(name) + 3 for name in names) // room)  # with what is between columns
    size = -(-len(names) // max(count, 1))
    return [range(at, min(at + size, len(names))) for at in range(0, len(names), max(size, 1))]


def _width(name: str) -> int:
    return max(_MIN_WIDTH, *map(len, _header(name).splitlines()))


def _header(name: str) -> str:
    """Break a long name after its hyphens and slashes."""
    return name.replace("-", "-\n").replace("/", "/\n")


def _word_meanings() -> list[tuple[str, str]]:
    return [*((word, LEGEND[kind]) for kind, word in WORDS.items()), ("(…)", _SOMETIMES), (_NOTHING, "nothing is lost")]


def _rule_meanings(comparison: HistoryComparison) -> list[tuple[str, str]]:
    """Return the rules that are broken anywhere, each with its API and its meaning."""
    rules = {rule.id: f"{rule.provider}: {rule.kind.entry.meaning}" for rule in RULES}
    broken = {rule for row in comparison.cells.values() for cell in row.values() for rule in cell.refused}
    return [*((rule, rules.get(rule, rule)) for rule in _in_order(broken)), ("(✗ …)", "at some places, not at all")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One of the two tables in words: its title, heads and rows, and what the words mean."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    meanings: Sequence[tuple[str, str]]


def comparison_tables(comparison: HistoryComparison) -> Iterator[Table]:
    """Yield both tables."""
    heads = ("interrupted", *comparison.histories)
    for title, words in zip(_TITLES, (lost_words, refused_words), strict=True):
        rows = [
            (phase.title, *(" ".join(words(cell)) for cell in row.values())) for phase, row in comparison.cells.items()
        ]
        meanings = _word_meanings() if words is lost_words else _rule_meanings(comparison)
        yield Table(title=title, heads=heads, rows=rows, meanings=meanings)


def compare_markdown(comparison: HistoryComparison) -> str:
    """Return both tables and what their words mean as Markdown, for `docs/HISTORIES.md`."""
    lines: list[str] = []
    for table in comparison_tables(comparison):
        first, *names = table.heads
        heads = [first, *(f"`{name}`" for name in names)]
        lines += [f"### {table.title}", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in table.rows]
        lines += ["", "| word | means |", "|---|---|", *(f"| {word} | {text} |" for word, text in table.meanings), ""]
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------------ for machines


def compare_json(comparison: HistoryComparison) -> dict[str, Any]:
    """Return the comparison as JSON values, by `conformance/schemas/compare.schema.json`."""
    return {
        "format": "tpharness-compare/1",
        "tpharness": version("tpharness"),
        "scenarios": list(comparison.scenarios),
        "dialects": list(comparison.histories),
        "losses": {kind: LEGEND[kind] for kind in LOSS_KINDS},
        "places": [_place(phase, row) for phase, row in comparison.cells.items()],
    }


def _place(phase: Phase, row: Mapping[str, Cell]) -> dict[str, Any]:
    return {"place": phase.value, "title": phase.title, "dialects": {name: _cell(cell) for name, cell in row.items()}}


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "tried": cell.cuts,
        "unsupported": cell.unsupported,
        "lost": {
            kind: {"lost": cell.lost[kind], "of": cell.possible[kind]} for kind in LOSS_KINDS if cell.possible[kind]
        },
        "first_lost": cell.example_lost or None,
        "refused": cell.refusals,
        "rules": {rule: cell.refused[rule] for rule in _in_order(cell.refused)},
        "first_refused": cell.example_refused or None,
    }
