"""The names of normative events: written once, and found from every version's name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tpharness
from tpharness.protocol.versions import ERROR_EVENT, HANDOFF_EVENT, Version, event_name, neutral_event_name

SRC = Path(tpharness.__file__).parent
NAMES = {
    "agent.handoff",
    "thread.spawn",
    "thread.merge",
    "thread.end",
    "data-tp-",
    "data-tp-agent_handoff",
    "data-tp-thread_spawn",
    "data-tp-thread_merge",
    "data-tp-thread_end",
    "data-tp-error",
}


def test_only_one_module_spells_the_names_of_normative_events() -> None:
    """Everybody else reads them from `protocol.versions`, so that a version with other names changes one file."""
    sources = {path: path.read_text("utf-8") for path in sorted(SRC.rglob("*.py"))}
    spelled = {
        (str(path.relative_to(SRC)), node.value)
        for path, source in sources.items()
        if any(name in source for name in NAMES)  # most have none, and to parse all takes seconds
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES
    }
    assert {path for path, _ in spelled} == {"protocol/versions.py"}


@pytest.mark.parametrize(
    ("neutral", "old"), [(HANDOFF_EVENT, "agent.handoff"), (ERROR_EVENT, "error"), ("data-tp-thread_end", "thread.end")]
)
def test_each_version_has_its_own_name_for_a_normative_event(neutral: str, old: str) -> None:
    """The dotted names before 0.0.4, the prefixed ones since (R1); both lead back to the name in journals."""
    assert [event_name(neutral, version) for version in Version] == [old, old, neutral]
    assert neutral_event_name(old) == neutral_event_name(neutral) == neutral
