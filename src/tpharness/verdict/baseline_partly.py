"""A baseline file of which some entries cannot be read → the others, and what is wrong.

For many tests that share a baseline: one entry that cannot be read has to fail one of them, and not all.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tpharness.errors import UsageError
from tpharness.verdict.baseline import Baseline, BaselineEntry
from tpharness.verdict.baseline_read import find_twice, make_baseline, parse_item, read_items, refuse_empty_reasons

__all__ = ["read_what_can_be"]


def read_what_can_be(path: Path) -> tuple[Baseline, list[str]]:
    """Return the entries of a baseline file that can be read, and a line for each thing that is wrong with it.

    Where only the reason of an entry is empty, it still explains its cases. InputError or UsageError where the file
    has no entries at all.
    """
    wrong: list[str] = []
    entries: list[BaselineEntry] = []
    for where, item, line in read_items(path):
        try:
            refuse_empty_reasons([(where, item, line)])
        except UsageError as error:
            wrong.append(error.line)
            item = {**item, "reason": "no reason is given"}  # noqa: PLW2901
        try:
            entries += (replace(entry, line=line) for entry in parse_item(item, where))
        except UsageError as error:
            wrong.append(error.line)
    wrong += [f"{path}: more than one entry for {case}" for case in find_twice(entries)]
    return make_baseline(entries, path), wrong
