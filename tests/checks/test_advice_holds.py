"""Whatever a target holds in place of the thread that is expected: the advice is words or none, and never raises."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tpharness.checks.expectations import find_mismatch
from tpharness.checks.expected_change import change_of_value
from tpharness.checks.outline_change import find_line_mismatches, regrouping
from tpharness.resources import conformance_dir
from tpharness.scenario.outline import outline

GOLDENS = [json.loads(path.read_text("utf-8")) for path in sorted((conformance_dir() / "golden").rglob("*.json"))]
ODD: tuple[Any, ...] = (None, 1, "x", [], {}, True, [1], {"a": 1})


def changed(thread: Any, draw: random.Random) -> Any:
    """Return a copy of a thread in which up to three values are gone, odd, doubled, moved or another's."""
    copy = json.loads(json.dumps(thread))
    for _ in range(draw.randint(1, 3)):
        value = copy
        while value:
            key = draw.choice(list(value) if isinstance(value, dict) else range(len(value)))
            if isinstance(value[key], dict | list) and value[key] and draw.random() < 0.85:
                value = value[key]
                continue
            _change(value, key, draw)
            break
    return copy


def _change(value: Any, key: Any, draw: random.Random) -> None:
    kind = draw.choice(["gone", "odd", "other", "list", "list"])
    if kind == "gone":
        del value[key]
    elif kind == "odd":
        value[key] = draw.choice(ODD)
    elif isinstance(value, list) and kind == "list":
        value.insert(draw.randint(0, len(value)), value[key])
        draw.shuffle(value)
    elif isinstance(value, list):
        value[key] = draw.choice(GOLDENS)["turns"]
    else:
        value[key] = draw.choice(list(value.values()))


@pytest.mark.parametrize("seed", range(4))
def test_advice_on_any_difference_is_words(seed: int) -> None:
    """Both ways: the target has more than is expected, and less; a whole other thread, too."""
    draw = random.Random(seed)  # noqa: S311  # the same each time
    named = 0
    for _ in range(500):
        held = draw.choice(GOLDENS)
        wanted = changed(held, draw) if draw.random() < 0.7 else draw.choice(GOLDENS)
        for thread, expected in ((held, wanted), (wanted, held)):
            mismatch = find_mismatch(thread, expected)
            advice = "" if mismatch is None else change_of_value(thread, expected, *mismatch)
            lines = find_line_mismatches(outline(thread), outline(expected))
            words = [advice, regrouping(outline(thread), outline(expected)), *(line.change for line in lines)]
            assert all(isinstance(one, str) for one in words)
            named += any(words)
    assert named > 500
