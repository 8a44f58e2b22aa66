"""The plain examples, asked of the threads of `conformance/documents/`: their hash, another version, a model's history.

What nobody who plays scenarios makes is asked of the reference alone: fields that only another library has, values in
the place of others. The examples neither mend nor translate them.
"""

from __future__ import annotations

import copy
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance.bad_documents import apply_patch, load_good_threads, write_in_version
from conformance.holds import holds
from conformance.vectors import Vector, load_vectors
from tests.examples.stdio import Ask, asked

from tpharness.protocol.canonical import canonical_thread
from tpharness.targets.nodejs import find_node

EXAMPLES = Path(__file__).parents[2] / "examples"
_NOT_MADE = {
    "conversions/downgrade-that-would-repeat-the-user",
    "conversions/reference-in-a-user-turn",
    "conversions/names-that-get-a-meaning",
    "histories/retry-prompt-as-an-answer",
    "histories/structured-retry-prompts",
    "histories/files-of-a-user",
    "histories/parts-that-only-the-library-has",
    "histories/unknown-messages-of-a-user-turn",
}
ASKED = [
    name
    for name, vector in load_vectors().items()
    if name.startswith(("hashes/", "conversions/", "histories/"))
    and name not in _NOT_MADE
    and "contents" not in vector  # where the content of a reference is known is no part of the question
]


@pytest.fixture(scope="module", params=["python", pytest.param("node", marks=pytest.mark.node)])
def ask(request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Start an example; return what asks it one thing and gives its answer."""
    program = (sys.executable, EXAMPLES / "plain_python.py")
    if request.param == "node":
        program = (str(find_node().executable), EXAMPLES / "plain_node.mjs")
    with asked(*program, "--stdio") as ask:
        yield ask


@pytest.mark.parametrize("name", ASKED)
def test_what_it_says_of_a_thread_is_what_a_person_has_read_in_it(ask: Ask, name: str) -> None:
    """The vectors that hold the reference too."""
    vector = load_vectors()[name]
    before = write_in_version(copy.deepcopy(load_good_threads()[vector["thread"]]), vector.get("version"))
    _ASK[name.partition("/")[0]](ask, before, apply_patch(before, vector.get("patch", [])), vector)


@pytest.mark.parametrize("thread", [None, [], {}, {"version": "0.0.4"}, {"turns": []}])
def test_what_is_no_thread_is_refused(ask: Ask, thread: Any) -> None:
    """It has no hash."""
    assert "error" in ask({"op": "hash", "id": 1, "thread": thread})


def test_a_message_without_parts_says_nothing_to_a_model(ask: Ask) -> None:
    """No version allows it, and it is no reason to fail."""
    messages = [{"message_type": kind, "timestamp": "2025-01-20T10:00:02Z"} for kind in ("response", "request")]
    user = {
        "turn_type": "user",
        "submitted_at": "2025-01-20T10:00:00Z",
        "parts": [{"part_kind": "user-prompt", "content": "Hi"}],
    }
    threads = (
        {"version": "0.0.4", "turns": [user, *more]} for more in ([], [{"turn_type": "agent", "messages": messages}])
    )
    said, same = (ask({"op": "history", "id": 1, "thread": thread})["history"]["messages"] for thread in threads)
    assert said == same


def _hash(ask: Ask, before: Any, thread: Any, vector: Vector) -> None:
    got, same = (ask({"op": "hash", "id": 1, "thread": one})["hashed"]["hash"] for one in (thread, before))
    if "bytes" in vector:
        assert got == "sha256:" + hashlib.sha256(vector["bytes"].encode()).hexdigest()
    else:
        assert got == vector.get("hash", got)
        assert (got == same) is vector.get("same", got == same)


def _conversion(ask: Ask, _before: Any, thread: Any, vector: Vector) -> None:
    made, dropped = thread, []
    for version in vector["to"]:
        answer = ask({"op": "migrate", "id": 1, "thread": made, "to": version})["migrated"]
        made = answer["thread"]
        dropped += answer["dropped"]
    assert dropped == vector.get("dropped", [])
    assert canonical_thread(made) == canonical_thread(apply_patch(thread, vector["gives"]))


def _history(ask: Ask, _before: Any, thread: Any, vector: Vector) -> None:
    more = {key: vector[key] for key in ("viewing_agent", "system_prompt", "returns") if key in vector}
    messages = ask({"op": "history", "id": 1, "thread": thread, **more})["history"]["messages"]
    assert holds(messages, vector["messages"]), messages


_ASK = {"hashes": _hash, "conversions": _conversion, "histories": _history}
