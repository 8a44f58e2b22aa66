"""The documents of `conformance/documents/` as a judge: good threads, bad documents and vectors.

In: nothing. Out: the name of each, which begins with `documents/`, and how tpharness differs from one now.
"""

from __future__ import annotations

from conformance.bad_documents import judge, load_bad_documents, load_good_threads, make_document
from conformance.vectors import load_vectors, run_vector

__all__ = ["PREFIX", "document_names", "judge_document"]

PREFIX = "conformance/documents/"


def document_names() -> list[str]:
    """Return the names of all."""
    bad = [f"bad/{entry['name']}" for entry in load_bad_documents()]
    return [f"{PREFIX}{name}" for name in (*bad, *(f"good/{name}" for name in load_good_threads()), *load_vectors())]


def judge_document(name: str) -> str:
    """Return how tpharness differs from what a document says, "" if it does not."""
    name = name.removeprefix(PREFIX)
    kind, _, rest = name.partition("/")
    if kind == "good":
        return "something is found in a good thread" if judge(load_good_threads()[rest]) else ""
    if kind != "bad":
        return run_vector(name)
    entry = next(one for one in load_bad_documents() if one["name"] == rest)
    found = judge(make_document(entry))
    told = [finding for finding in found if finding.code == entry["finding"]]
    if [finding.place.pointer for finding in told] != [entry["at"]]:
        return f"{entry['finding']} is not found at {entry['at']}"
    if not set(entry["clauses"]) <= set(told[0].as_json()["clauses"]):
        return f"{entry['finding']} does not cite {', '.join(entry['clauses'])}"
    codes = {finding.code for finding in found}
    return "" if codes == {entry["finding"], *entry.get("also", ())} else f"found {', '.join(sorted(codes))}"
