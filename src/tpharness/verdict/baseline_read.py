"""A baseline file → its entries. What is wrong with it is an error that names file, line and entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tpharness.errors import InputError, UsageError
from tpharness.scenario.problems import CODES, Problems, describe_unknown_code
from tpharness.scenario.yaml_nodes import ListNode, plain, read_yaml
from tpharness.verdict.baseline import Baseline, BaselineEntry

__all__ = ["find_twice", "make_baseline", "parse_item", "read_baseline", "read_items", "refuse_empty_reasons"]


def read_items(path: Path) -> list[tuple[str, Any, int]]:
    """Return the items of a baseline file as they are written, each with the words that say which it is, and its line.

    InputError or UsageError if it is not a list.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="give a YAML file that can be read") from error
    problems = Problems(str(path))
    root = read_yaml(data, problems)
    hint = "`tpharness docs CLI` shows how a baseline is written"
    if problems.findings:
        first = problems.sorted_findings()[0]
        raise InputError(f"{first.place}: {first.message}", hint=hint)
    if root is not None and not isinstance(root, ListNode):
        raise UsageError(f"{path} is not a list of entries", hint=hint)
    nodes = [] if root is None else root.items
    items = [(node.position.line, plain(node)) for node in nodes]
    return [(f"{path}:{line}: entry {n}{_name_item(item)}", item, line) for n, (line, item) in enumerate(items, 1)]


def _name_item(item: Any) -> str:
    """Return what an item calls itself, in parentheses: its departure, id or cause, else the first of its cases."""
    if not isinstance(item, dict):
        return ""
    grouped = item.get("cases")
    cases = (case for ids in grouped.values() for case in ids or ()) if isinstance(grouped, dict) else iter(())
    return f" ({item.get('departure') or item.get('id') or item.get('cause') or next(cases, '?')})"


def read_baseline(path: Path) -> Baseline:
    """Return the entries of a baseline file. InputError or UsageError names the file and the entry."""
    items = read_items(path)
    refuse_empty_reasons(items)
    entries = [replace(entry, line=line) for where, item, line in items for entry in parse_item(item, where)]
    twice = find_twice(entries)
    if twice:
        raise UsageError(f"{path}: more than one entry for {', '.join(twice)}")
    return make_baseline(entries, path)


def find_twice(entries: Iterable[BaselineEntry]) -> list[str]:
    """Return the cases that have more than one entry."""
    exact = Counter(entry.id for entry in entries if not entry.many)
    return sorted(case for case, count in exact.items() if count > 1)


def make_baseline(entries: Sequence[BaselineEntry], path: Path) -> Baseline:
    """Return the entries of a file as a baseline."""
    exact = {entry.id: entry for entry in entries if not entry.many}
    return Baseline(entries=exact, path=str(path), many=tuple(entry for entry in entries if entry.many))


def refuse_empty_reasons(items: Iterable[tuple[str, Any, int]]) -> None:
    """UsageError where an item has a reason that is empty."""
    empty = [
        where
        for where, item, _ in items
        if isinstance(item, dict) and "reason" in item and not str(item["reason"] or "").strip()
    ]
    if empty:
        others = f", and that of {len(empty) - 1} more" if len(empty) > 1 else ""
        raise UsageError(
            f"{empty[0]}: the reason is empty{others}",
            hint="write why it is known to fail, and who corrects it when: nobody else will remember",
        )


def parse_item(item: Any, where: str) -> list[BaselineEntry]:
    """Return the entries of one item: a case, or a departure with its cases grouped by finding.

    UsageError begins with `where`, which says which item of which file it is.
    """
    if not isinstance(item, dict):
        raise UsageError(f"{where} is not a map", hint="write id, findings, reason and clauses")
    if "cases" not in item:
        if "departure" in item:
            raise UsageError(f"{where} has no key cases", hint="cases: {FINDING: [ID, …]} says what fails, and how")
        return [_parse_entry(item, where)]
    cases = item["cases"]
    if not isinstance(cases, dict) or not all(isinstance(ids, list) for ids in cases.values()):
        raise UsageError(f"{where}: cases is not a map from findings to lists of ids")
    shared = {key: value for key, value in item.items() if key not in ("cases", "departure", "title")}
    return [
        replace(
            _parse_entry({**shared, "id": case, "findings": str(findings).split()}, where),
            departure=str(item.get("departure", "")),
        )
        for findings, ids in cases.items()
        for case in ids
    ]


def _parse_entry(item: dict[str, Any], where: str) -> BaselineEntry:
    required = ("reason",) if item.get("cause") else ("id", "findings", "reason")
    missing = [key for key in required if not item.get(key)]
    unknown = sorted(set(item) - {"id", "findings", "reason", "clauses", "rulings", "rules", "cause"})
    if missing or unknown:
        words = [f"has no key {', '.join(missing)}"] if missing else []
        words += [f"has an unknown key {', '.join(unknown)}"] if unknown else []
        keys = "id or cause, findings, reason, clauses, rulings, rules"
        raise UsageError(f"{where} {' and '.join(words)}", hint=f"an entry has {keys}")
    for key in ("id", "cause", "reason"):
        if not isinstance(item.get(key) or "", str):
            raise UsageError(f"{where}: {key} is {item[key]!r}, and not a text", hint="put it in quotes")
    for key in ("findings", "clauses", "rulings", "rules"):
        if not isinstance(item.get(key) or [], list):
            raise UsageError(f"{where}: {key} is not a list", hint=f"write [{item[key]}]")
    codes = item.get("findings") or []
    for code in map(str, codes):
        if wrong := describe_unknown_code(code):
            raise UsageError(f"{where}: {code}: {wrong}", hint=f"each of its findings is {CODES}")
    return BaselineEntry(
        id=str(item.get("id") or ""),
        cause=str(item.get("cause") or ""),
        findings=frozenset(map(str, codes)),
        clauses=tuple(map(str, item.get("clauses") or ())),
        rulings=tuple(map(str, item.get("rulings") or ())),
        reason=str(item["reason"]),
        rules=tuple(map(str, item.get("rules") or ())),
    )
