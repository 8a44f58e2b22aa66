"""The types of a valid thread name what the schema names, and mypy finds a misspelt key."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any, get_args, get_type_hints

import pytest
from tests.protocol.test_source_examples import INTERRUPTED, WEATHER

from tpharness.protocol import types
from tpharness.resources import schema_path

SCHEMA = json.loads(schema_path("thread-0.0.4").read_text("utf-8"))
DEFINITIONS = SCHEMA["$defs"]
OF_NEWER_VERSIONS = {"AgentTurnJson": {"completion_status"}}
"""What the newest schema requires and an older one does not have."""


def _conditional(definition: str, field: str, value: str) -> dict[str, Any]:
    """Return what the schema says of the objects whose `field` is `value`, from every condition that names it."""
    merged: dict[str, Any] = {"required": set(), "properties": {}}
    for clause in DEFINITIONS[definition]["allOf"]:
        condition = clause["if"]["properties"][field]
        if condition.get("const") == value or value in condition.get("enum", ()):
            merged["required"] |= set(clause["then"].get("required", ()))
            merged["properties"] |= clause["then"].get("properties", {})
    return merged


def _plain(schema: dict[str, Any]) -> tuple[set[str], set[str]]:
    return set(schema.get("required", ())), set(schema["properties"])


PLAIN = {
    types.Thread: SCHEMA,
    types.Agent: DEFINITIONS["agent_config"],
    types.UsageJson: DEFINITIONS["usage"],
    types.ContentReference: DEFINITIONS["content_ref"],
    types.Interruption: DEFINITIONS["interruption"],
}


@pytest.mark.parametrize("record", PLAIN, ids=lambda record: record.__name__)
def test_a_type_has_the_fields_of_the_schema(record: Any) -> None:
    """Required ones and others."""
    required, fields = _plain(PLAIN[record])
    assert (set(record.__required_keys__), set(get_type_hints(record))) == (required, fields)


def test_turns_have_the_fields_of_the_schema() -> None:
    """And `turn_type`; an interruption exists only in an interrupted turn, so it is optional."""
    for record, name in ((types.UserTurnJson, "user_turn"), (types.AgentTurnJson, "agent_turn")):
        required, fields = _plain(DEFINITIONS[name])
        extra = {"interruption"} if name == "agent_turn" else set()
        assert set(get_type_hints(record)) == fields | extra | {"turn_type"}
        assert record.__required_keys__ == (required | {"turn_type"}) - OF_NEWER_VERSIONS.get(record.__name__, set())


@pytest.mark.parametrize(
    ("union", "definition", "field", "common"),
    [(types.Message, "message", "message_type", {"timestamp"}), (types.Part, "part", "part_kind", set())],
    ids=["messages", "parts"],
)
def test_each_kind_has_the_fields_of_the_schema(union: Any, definition: str, field: str, common: set[str]) -> None:
    """Every kind that the schema knows has a type, with its fields."""
    known: set[str] = set()
    for record in get_args(union):
        for value in get_args(get_type_hints(record)[field]):
            known.add(value)
            said = _conditional(definition, field, value)
            own = {field, *common}
            assert record.__required_keys__ == said["required"] | own, value
            assert set(get_type_hints(record)) == set(said["properties"]) | said["required"] | own, value
    conditions = [clause["if"]["properties"][field] for clause in DEFINITIONS[definition]["allOf"]]
    assert known == {v for c in conditions for v in (c.get("enum") or [c["const"]])}


# ------------------------------------------------------------------------------------------------ mypy

SNIPPET = """
from tpharness.protocol.types import AgentTurnJson, Message, Part, Thread, Turn

def read(thread: Thread, turn: Turn, message: Message, part: Part) -> list[object]:
    found: list[object] = [{thread}, {turn}]
    if turn["turn_type"] == "agent":
        found += [{agent_turn}]
    if message["message_type"] == "response":
        found += [{response}]
    if part["part_kind"] == "tool-call":
        found += [{call}]
    return found

def write() -> AgentTurnJson:
    turn: AgentTurnJson = {{"turn_type": "agent", "agent_id": "a", "started_at": "", {written}: []}}
    turn[{assigned}] = ""
    return turn
"""
RIGHT = {
    "thread": 'thread["thread_id"]',
    "turn": 'turn["turn_type"]',
    "agent_turn": 'turn["messages"]',
    "response": 'message["parts"]',
    "call": 'part["tool_call_id"]',
    "written": '"messages"',
    "assigned": '"completed_at"',
}
WRONG = {
    "thread": 'thread["threadId"]',
    "turn": 'turn["turn_kind"]',
    "agent_turn": 'turn["message"]',
    "response": 'message["part"]',
    "call": 'part["call_id"]',
    "written": '"mesages"',
    "assigned": '"completedAt"',
}


SOURCES = {
    "right": SNIPPET.format(**RIGHT),
    "wrong": SNIPPET.format(**WRONG),
    "examples": (
        f"from tpharness.protocol.types import Thread\none: Thread = {WEATHER!r}\nother: Thread = {INTERRUPTED!r}\n"
    ),
}


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the errors that mypy finds in each source, as strict as the project is; it starts once for all.

    The types lie in a package of their own: for the real one, mypy would read all that the package gives its users.
    """
    folder = tmp_path_factory.mktemp("mypy")
    package = folder / "tpharness" / "protocol"
    package.mkdir(parents=True)
    for init in (package.parent, package):
        (init / "__init__.py").touch()
    shutil.copy(types.__file__, package)
    files = [folder / f"{name}.py" for name in SOURCES]
    for file in files:
        file.write_text(SOURCES[file.stem], "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=", *map(str, files)]
    environment = {**os.environ, "MYPYPATH": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode in (0, 1), done.stderr
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    return {name: [line for line in found if line.startswith(f"{name}.py:")] for name in SOURCES}


def test_mypy_finds_each_misspelt_key(errors: dict[str, list[str]]) -> None:
    """One error on the line of each, and none when all are right."""
    assert errors["right"] == []
    lines = SOURCES["wrong"].splitlines()
    for wrong in WRONG.values():
        (number,) = [index for index, line in enumerate(lines, start=1) if wrong in line]
        key = wrong.partition("[")[2].rstrip("]") or wrong
        assert any(f":{number}: " in error and key.strip('"') in error for error in errors["wrong"]), wrong


def test_the_examples_of_the_specification_fit(errors: dict[str, list[str]]) -> None:
    """Both literal documents, written out as Python: no key of theirs is unknown to the types."""
    assert errors["examples"] == []
