"""Scenario files as text: the short form as people write it, with and without mistakes.

In: a source of choices. Out: YAML text. Half of the files load; the others have a key, a value or a line that does not
belong there.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tpharness.explore.generate.source import Source, flag, many, one_of
from tpharness.explore.generate.values import REASONS, json_value, object_value, text

__all__ = ["scenario_text"]

_ODD_LINES = (
    "",
    "x",
    "- x",
    "a: b",
    "  a: [",
    "a: &x *x",
    "? ",
    "!!python/object:os.system x",
    "\t",
    "a: {a: 1, a: 2}",
    "--- ",
)
_UNPRINTABLE = re.compile("[\x7f-\x9f\ufeff\ufffe\uffff]")
"""What stands in a JSON text as it is, and YAML does not take."""
_KEYS = ("description", "turns", "clauses", "versions", "cut", "expect", "clock", "turn", "user", "steps", "x")


def scenario_text(source: Source) -> str:
    """Return the text of a scenario file, JSON being YAML."""
    made = _scenario(source)
    if flag(source, 4):
        _spoil(source, made)
    lines = [
        f"{key}: {_UNPRINTABLE.sub(_escaped, json.dumps(value, ensure_ascii=False))}" for key, value in made.items()
    ]
    if flag(source, 6):
        lines.insert(source.number(0, len(lines)), one_of(source, _ODD_LINES))
    return "\n".join(lines) + "\n"


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _scenario(source: Source) -> dict[str, Any]:
    serial = [0]
    turns: list[Any] = []
    for _ in many(source, 1, 2, 2):
        turns += [{"user": text(source) or "Hi"}, _run(source, serial)]
    made: dict[str, Any] = {"description": "A generated file.", "clauses": ["sync.identity"], "turns": turns}
    if flag(source, 4) and not any("interrupt" in turn for turn in turns):
        made["cut"] = one_of(source, ("every-event", "every-byte", {"at": "every-event", "reasons": ["timeout"]}))
    if flag(source, 6):
        made["clock"] = {"start": "2025-02-01T00:00:00Z", "tick": one_of(source, (1, 0.25, 0.001))}
    if flag(source, 6):
        made["carriers"] = False
    return made


def _run(source: Source, serial: list[int]) -> dict[str, Any]:
    steps: list[Any] = []
    for _ in many(source, 0, 3, 2):
        steps += _step(source, serial)
    steps.append({"response": [{"text": text(source), "label": f"last{serial[0]}"}]})
    run: dict[str, Any] = {"steps": steps}
    if flag(source, 3):
        where: Any = one_of(source, ("start", "end", f"last{serial[0]}.mid", {"event": source.number(0, 6)}))
        run["interrupt"] = {"reason": one_of(source, REASONS), "after": where}
    return run


def _step(source: Source, serial: list[int]) -> list[Any]:
    match source.number(0, 5):
        case 0:
            return [{"event": "data-app-note", "data": json_value(source)}]
        case 1:
            return [{"stall": one_of(source, (1, 0.5, 60))}]
        case 2:
            return [{"error": text(source)}]
        case _:
            calls = []
            for _ in many(source, 1, 3, 2):
                serial[0] += 1
                calls.append({"call": "look", "id": f"c{serial[0]}", "args": object_value(source)})
            parts = [{"text": text(source)} for _ in many(source, 0, 2)]
            returns = {call["id"]: {"value": json_value(source)} for call in calls}
            return [{"response": [*parts, *calls]}, {"returns": returns}]


def _spoil(source: Source, made: dict[str, Any]) -> None:
    """Put something somewhere where it may not belong."""
    holders: list[Any] = [made, made["turns"]]
    for turn in made["turns"]:
        holders += [turn, *turn.get("steps", ())]
    holder = one_of(source, holders)
    if isinstance(holder, list):
        holder.insert(source.number(0, len(holder)), json_value(source))
    else:
        holder[one_of(source, _KEYS)] = json_value(source)
