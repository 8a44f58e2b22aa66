"""The documents of `conformance/documents/` as a judge: good threads, bad documents and vectors.

In: nothing. Out: the name of each, which begins with `documents/`, and how tpharness differs from one now.
"""

from __future__ import annotations

from conformance.bad_documents import find_difference, judge, load_bad_documents, load_good_threads
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
    return find_difference(next(one for one in load_bad_documents() if one["name"] == rest))
