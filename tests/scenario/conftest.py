"""Loading scenario texts with clauses and rulings of their own, so that these tests need no suite."""

from typing import Any

import pytest

from tpharness.errors import ScenarioError
from tpharness.scenario import Scenario, load_text

CLAUSES = ("turn.one", "turn.two")
RULINGS = ("R20", "R21")


def _load(text: str, **options: Any) -> Scenario:
    return load_text(text, id="theme/name", clauses=CLAUSES, rulings=RULINGS, **options)


def _text(turns: str, **top: str) -> str:
    lines = "".join(f"{key}: {value}\n" for key, value in top.items())
    return f"description: A test.\nclauses: [turn.one]\n{lines}turns:\n{turns}"


def _turns(*steps: str, run: str = "") -> str:
    """Return the YAML of one user turn and one run: steps in flow style, other keys of the run as `key: value`."""
    body = "".join(f"      - {step}\n" for step in steps)
    more = "".join(f"    {line}\n" for line in run.splitlines())
    return f"  - user: hi\n  - steps:\n{body}{more}"


@pytest.fixture(scope="session")
def load():
    """Load a text as the scenario `theme/name`."""
    return _load


@pytest.fixture(scope="session")
def play():
    """Load a scenario of one run with the given steps; return the run."""

    def loaded(*steps, run="", **top):
        return _load(_text(_turns(*steps, run=run), **top)).turns[1]

    return loaded


@pytest.fixture(scope="session")
def wrong():
    """Return the findings of a text that does not load, of steps, or of turns."""

    def findings(text=None, *, steps=None, run="", turns=None, **options):
        if text is None:
            top = {key: options.pop(key) for key in tuple(options) if key != "base_dir"}
            text = _text(turns if turns is not None else _turns(*steps, run=run), **top)
        with pytest.raises(ScenarioError) as caught:
            _load(text, **options)
        return caught.value.findings

    return findings
