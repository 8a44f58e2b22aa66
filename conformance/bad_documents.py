"""The bad documents of `documents/bad/`: read, made of their good threads, and judged as `tpharness check` does."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypedDict

import yaml

from tpharness.findings import Finding, Level
from tpharness.protocol.parse import parse_json
from tpharness.protocol.reading import check_as_read
from tpharness.resources import conformance_dir
from tpharness.suite_yaml import load_suite_yaml

__all__ = [
    "BadDocument",
    "apply_patch",
    "find_difference",
    "judge",
    "load_bad_documents",
    "load_good_threads",
    "make_document",
    "read_documents",
    "write_in_version",
]


class _Always(TypedDict):
    name: str
    says: str
    finding: str
    at: str | None
    clauses: list[str]


class BadDocument(_Always, total=False):
    """One entry, as `documents/README.md` says."""

    thread: str
    version: str
    patch: list[dict[str, Any]]
    json: str
    got: Any
    expected: Any
    also: list[str]


@cache
def load_good_threads() -> Mapping[str, Any]:
    """Return the threads that keep every rule, by name."""
    threads: Mapping[str, Any] = read_documents("good.yaml")
    return threads


@cache
def load_bad_documents() -> tuple[BadDocument, ...]:
    """Return every entry, in the order of the files' names."""
    files = sorted((conformance_dir() / "documents" / "bad").glob("*.yaml"))
    return tuple(entry for file in files for entry in read_documents(f"bad/{file.name}"))


def make_document(entry: BadDocument) -> Any:
    """Return the document of an entry: its text, or its thread in its version with its patch applied."""
    if "json" in entry:
        return entry["json"]
    thread = copy.deepcopy(load_good_threads()[entry["thread"]])
    return apply_patch(write_in_version(thread, entry.get("version")), entry["patch"])


def write_in_version(thread: Any, version: str | None) -> Any:
    """Return a complete thread of 0.0.4 in an older version, without `completion_status`; as it is for None."""
    if version is None:
        return thread
    turns = [{name: value for name, value in turn.items() if name != "completion_status"} for turn in thread["turns"]]
    return {**thread, "version": version, "turns": turns}


def apply_patch(document: Any, patch: Iterable[Mapping[str, Any]]) -> Any:
    """Return the document with a JSON Patch (RFC 6902) of add, replace and remove; a path that is not there raises."""
    root = {"": copy.deepcopy(document)}
    for step in patch:
        *way, last = [name.replace("~1", "/").replace("~0", "~") for name in step["path"].split("/")]
        holder: Any = root
        for name in way:
            holder = holder[int(name)] if isinstance(holder, list) else holder[name]
        key: Any = last
        if isinstance(holder, list):
            key = len(holder) if last == "-" else int(last)
        if step["op"] == "add" and isinstance(holder, list):
            holder.insert(key, step["value"])
        elif step["op"] == "add":
            holder[key] = step["value"]
        elif step["op"] == "remove":
            del holder[key]
        else:
            holder[key]  # has to be there
            holder[key] = step["value"]
    return root[""]


def judge(document: Any) -> list[Finding]:
    """Return what is found in a document, or in its text, as `tpharness check` finds it."""
    if not isinstance(document, str):
        return check_as_read(document, observations=True)
    parsed = parse_json(document.encode())
    return [*parsed.findings, *(check_as_read(parsed.value, observations=True) if parsed.ok else ())]


def find_difference(entry: BadDocument) -> str:
    """Return how what is found in a bad document differs from what its entry says, "" if it does not."""
    found = judge(make_document(entry))
    told = [finding for finding in found if finding.code == entry["finding"]]
    if [finding.place.pointer for finding in told] != [entry["at"]]:
        return f"{entry['finding']} is not found at {entry['at']}, but at {[one.place.pointer for one in told]}"
    if not set(entry["clauses"]) <= set(told[0].as_json()["clauses"]):
        return f"{entry['finding']} does not cite {', '.join(entry['clauses'])}"
    for name in ("got", "expected"):
        if name in entry and getattr(told[0], name) != entry[name]:
            return f"{name} is {getattr(told[0], name)!r}"
    document = make_document(entry)
    broken = [finding.code for finding in found if finding.level is not Level.MAY]
    if not isinstance(document, str) and [finding.code for finding in check_as_read(document)] != broken:
        return f"without observations, {[finding.code for finding in check_as_read(document)]} are found"
    codes = {finding.code for finding in found}
    return "" if codes == {entry["finding"], *entry.get("also", ())} else f"found {', '.join(sorted(codes))}"


def read_documents(name: str) -> Any:
    """Return what a file of `documents/` holds: the parser in C refuses those that are about lone surrogates."""
    file = conformance_dir() / "documents" / name
    try:
        return load_suite_yaml(file)
    except yaml.scanner.ScannerError:
        return yaml.safe_load(file.read_text("utf-8"))
