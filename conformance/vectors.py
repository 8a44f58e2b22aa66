"""The vectors of `documents/`: threads with their hashes, conversions and histories; what tpharness makes of them.

Each function returns where it differs from what the vector says, as a sentence, or "" where it does not.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import yaml
from conformance.bad_documents import apply_patch, load_good_threads, write_in_version

from tpharness.errors import ThreadError
from tpharness.protocol import canonical, history, migrate
from tpharness.protocol.versions import Version
from tpharness.resources import conformance_dir

__all__ = ["KINDS", "Vector", "load_vectors", "run_vector"]

Vector = Mapping[str, Any]
KINDS = ("hashes", "conversions", "histories")


@cache
def load_vectors() -> Mapping[str, Vector]:
    """Return every vector by its id, such as `conversions/upgrade-to-0.0.4`."""
    folder = conformance_dir() / "documents"
    return {
        f"{kind}/{entry['name']}": entry
        for kind in KINDS
        for entry in yaml.safe_load((folder / f"{kind}.yaml").read_text("utf-8"))
    }


def run_vector(name: str) -> str:
    """Return how tpharness differs from a vector."""
    vector = load_vectors()[name]
    given = write_in_version(copy.deepcopy(load_good_threads()[vector["thread"]]), vector.get("version"))
    return _RUN[name.partition("/")[0]](given, vector)


def _hash(given: Any, vector: Vector) -> str:
    got = canonical.thread_hash(apply_patch(given, vector["patch"]))
    if "hash" in vector:
        return "" if got == vector["hash"] else f"the hash is {got}, not {vector['hash']}"
    same = got == canonical.thread_hash(given)
    return "" if same == vector["same"] else f"the hash is {'the same' if same else 'another'}"


def _conversion(given: Any, vector: Vector) -> str:
    given = apply_patch(given, vector.get("patch", []))
    result: Mapping[str, Any] = given
    dropped: list[str] = []
    for version in vector["to"]:
        try:
            made = migrate.convert(result, Version(version))
        except ThreadError as error:
            return f"the conversion to {version} is refused: {error}"
        result = made.thread
        dropped += [one.pointer for one in made.dropped]
    if dropped != vector.get("dropped", []):
        return f"reported as dropped: {dropped}"
    return "" if result == apply_patch(given, vector["gives"]) else f"the conversion gives {result}"


def _history(given: Any, vector: Vector) -> str:
    made = history.model_history(
        apply_patch(given, vector.get("patch", [])),
        viewing_agent=vector.get("viewing_agent"),
        system_prompt=vector.get("system_prompt"),
    )
    return "" if _holds(made.messages, vector["messages"]) else f"the model is told {made.messages}"


def _holds(got: Any, wanted: Any) -> bool:
    """Whether `got` is what is wanted: objects may have more fields, lists not more items."""
    if isinstance(wanted, dict):
        return isinstance(got, Mapping) and all(key in got and _holds(got[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(_holds, got, wanted))
    return type(got) is type(wanted) and bool(got == wanted)


_RUN: Mapping[str, Callable[[Any, Vector], str]] = {
    "hashes": _hash,
    "conversions": _conversion,
    "histories": _history,
}
