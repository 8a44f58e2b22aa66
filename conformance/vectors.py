"""The vectors of `documents/`: threads and messages with what becomes of them; what tpharness makes of them.

Each function returns where it differs from what the vector says, as a sentence, or "" where it does not.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from conformance.bad_documents import apply_patch, load_good_threads, read_documents, write_in_version
from conformance.holds import holds
from conformance.stream_vectors import run_chunk, run_encoding, run_fold, run_stream

from tpharness.errors import ThreadError
from tpharness.histories.exchange.from_messages import thread_of_messages
from tpharness.protocol import canonical, compare, content, history, migrate
from tpharness.protocol.versions import Version

__all__ = ["KINDS", "Vector", "load_vectors", "run_vector"]

Vector = Mapping[str, Any]
KINDS = (
    "hashes",
    "comparisons",
    "conversions",
    "histories",
    "imports",
    "refusals",
    "contents",
    "streams",
    "chunks",
    "folds",
    "encodings",
)
_AT = "2025-01-20T10:00:00Z"


@cache
def load_vectors() -> Mapping[str, Vector]:
    """Return every vector by its id, such as `conversions/upgrade-to-0.0.4`."""
    return {f"{kind}/{entry['name']}": entry for kind in KINDS for entry in read_documents(f"{kind}.yaml")}


def run_vector(name: str) -> str:
    """Return how tpharness differs from a vector."""
    vector = load_vectors()[name]
    given = None
    if "thread" in vector:
        given = write_in_version(copy.deepcopy(load_good_threads()[vector["thread"]]), vector.get("version"))
    return _RUN[name.partition("/")[0]](given, vector)


def _hash(given: Any, vector: Vector) -> str:
    got = canonical.thread_hash(apply_patch(given, vector["patch"]))
    wanted = vector.get("hash")
    if "bytes" in vector:
        wanted = "sha256:" + hashlib.sha256(vector["bytes"].encode()).hexdigest()
    if wanted is not None:
        return "" if got == wanted else f"the hash is {got}, not {wanted}"
    same = got == canonical.thread_hash(given)
    return "" if same == vector["same"] else f"the hash is {'the same' if same else 'another'}"


def _comparison(given: Any, vector: Vector) -> str:
    given = apply_patch(given, vector.get("patch", []))
    same = compare.same_content(given, apply_patch(given, vector["other"]))
    return "" if same == vector["same"] else f"the contents are {'equal' if same else 'different'}"


def _conversion(given: Any, vector: Vector) -> str:
    given = apply_patch(given, vector.get("patch", []))
    result: Mapping[str, Any] = given
    dropped: list[str] = []
    unsaid: list[str] = []
    for version in vector["to"]:
        try:
            made = migrate.convert(result, Version(version))
        except ThreadError as error:
            return f"the conversion to {version} is refused: {error}"
        result = made.thread
        dropped += [one.pointer for one in made.dropped]
        unsaid += [one.pointer for one in made.unsaid]
    if unsaid != vector.get("unsaid", unsaid):
        return f"reported as not defined: {unsaid}"
    if dropped != vector.get("dropped", []):
        return f"reported as dropped: {dropped}"
    return "" if result == apply_patch(given, vector["gives"]) else f"the conversion gives {result}"


def _history(given: Any, vector: Vector) -> str:
    made = history.model_history(
        apply_patch(given, vector.get("patch", [])),
        viewing_agent=vector.get("viewing_agent"),
        system_prompt=vector.get("system_prompt"),
        supply_returns=vector.get("returns"),
        resolve=(lambda reference: vector["contents"][reference["uri"]]) if "contents" in vector else None,
    )
    left_out = [loss.pointer for loss in made.left_out]
    if left_out != vector.get("left_out", left_out):
        return f"left out: {left_out}"
    pending: list[Any] = [call.tool_call_id for call in made.pending]
    if any(isinstance(one, list) for one in vector.get("pending", [])):
        pending = [[call.agent_id, call.tool_name, call.tool_call_id, call.pointer] for call in made.pending]
    if pending != vector.get("pending", pending):
        return f"waiting: {pending}"
    return "" if holds(made.messages, vector["messages"]) else f"the model is told {made.messages}"


def _import(_given: Any, vector: Vector) -> str:
    try:
        made = thread_of_messages(copy.deepcopy(vector["messages"]), agent_id="ann", thread_id="t", at=_AT)
    except ThreadError as error:
        return f"the messages are refused: {error}"
    lost = [loss.pointer for loss in made.losses]
    if lost != vector.get("lost", []):
        return f"lost: {lost}"
    return "" if holds(made.thread["turns"], vector["turns"]) else f"the turns are {made.thread['turns']}"


def _refusal(_given: Any, vector: Vector) -> str:
    found = [[finding.code, finding.place.pointer] for finding in history.check_history(vector["messages"])]
    return "" if found == vector["found"] else f"found {found}"


def _content(_given: Any, vector: Vector) -> str:
    data = vector["stored"].encode()
    wrong = content.find_mismatch(vector["reference"], digest=hashlib.sha256(data).hexdigest(), size=len(data))
    return "" if (not wrong) == vector["accepted"] else f"the content is {'refused' if wrong else 'accepted'}: {wrong}"


_RUN: Mapping[str, Callable[[Any, Vector], str]] = {
    "hashes": _hash,
    "comparisons": _comparison,
    "conversions": _conversion,
    "histories": _history,
    "imports": _import,
    "refusals": _refusal,
    "contents": _content,
    "streams": lambda _, vector: run_stream(vector),
    "chunks": lambda _, vector: run_chunk(vector),
    "folds": lambda _, vector: run_fold(vector),
    "encodings": lambda _, vector: run_encoding(vector),
}
