"""Snapshots of threads with syrupy: one JSON file each, in canonical form, compared as tpharness compares threads.

    def test_a_stopped_answer(snapshot):
        thread = fold("Hi", stream, interrupted="user_cancelled")
        assert thread == snapshot(extension_class=ThreadSnapshotExtension)

`pytest --snapshot-update` writes the file. `mask` takes out what differs at every run. Needs the extra `snapshots`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, ClassVar, Literal

from tpharness.assertions import difference_lines
from tpharness.errors import UsageError
from tpharness.extras import install_command
from tpharness.findings import shorten
from tpharness.folding import Folded
from tpharness.printable import counted, make_printable
from tpharness.protocol.canonical import canonical_thread
from tpharness.protocol.compare import content_thread
from tpharness.protocol.diff import diff
from tpharness.protocol.jcs import CanonicalError
from tpharness.protocol.reading import fill_agents
from tpharness.protocol.shape import find_shape_problem

try:
    from syrupy.assertion import SnapshotAssertion
    from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error.name} is not installed: snapshots need it; type {install_command('snapshots')}", name=error.name
    ) from error

__all__ = ["MASKED", "ContentSnapshotExtension", "ThreadSnapshotExtension", "compare", "explain", "mask"]

MASKED = "(masked)"
"""What stands in a thread in place of a value that was masked."""
_SHOWN = 200
_FORMS = {"exact": canonical_thread, "content": content_thread}


def mask(thread: Any, *pointers: str) -> dict[str, Any]:
    """Return a copy of a thread, or of what `fold` returns, with `MASKED` in place of the values at JSON pointers.

    A `*` in a pointer stands for every item of a list and every field of an object. UsageError for one that finds
    nothing: a misspelt one would mask nothing, and the snapshot would differ at the next run.
    """
    copy: dict[str, Any] = deepcopy(dict(thread.thread if isinstance(thread, Folded) else thread))
    for pointer in pointers:
        start, *steps = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/"))
        if start or not steps:
            raise UsageError(f"{pointer!r} is not a JSON pointer", hint="it begins with /, such as /turns/*/parts")
        *above, last = steps
        holders: list[Any] = [copy]
        for step in above:
            holders = [holder[key] for holder in holders for key in _keys(holder, step)]
        places = [(holder, key) for holder in holders for key in _keys(holder, last)]
        if not places:
            raise UsageError(
                f"there is nothing at {pointer} to mask",
                hint="a tool's result that is text has no fields: mask its content; `outline` shows the thread",
            )
        for holder, key in places:
            holder[key] = MASKED
    return copy


def _keys(holder: Any, step: str) -> list[Any]:
    """Return the keys of an object, or the places in a list, that a step of a pointer names."""
    if isinstance(holder, dict):
        return list(holder) if step == "*" else [step] if step in holder else []
    if isinstance(holder, list):
        places = range(len(holder))
        return list(places) if step == "*" else [place for place in places if str(place) == step]
    return []


class ThreadSnapshotExtension(SingleFileSnapshotExtension):
    """A thread in its canonical form (R37) as an indented JSON file: everything counts, ids and times as well.

    Give it a thread, or what `fold` returns. A snapshot that differs is described as `assert_same_thread` does.
    `exclude` and `include` are refused, and `matcher` is not called: the canonical form says what belongs to a thread.
    The messages are one line each, since syrupy shows the last line of an error first.
    """

    file_extension = "thread.json"
    _write_mode = WriteMode.TEXT
    mode: ClassVar[Literal["exact", "content"]] = "exact"

    def serialize(self, data: Any, *, exclude: Any = None, include: Any = None, matcher: Any = None) -> str:
        """Return the text of the file. UsageError for what is not a thread, and for filters."""
        del matcher
        for name, given in (("exclude", exclude), ("include", include)):
            if given is not None:
                raise UsageError(
                    f"{type(self).__name__} does not take {name}: the canonical form says what belongs to a thread;"
                    " ContentSnapshotExtension leaves out ids, times and usage (R39); of other values mask what differs"
                    ' at every run: mask(thread, "/turns/*/messages/*/parts/*/content/reference") == snapshot(…)'
                )
        thread = data.thread if isinstance(data, Folded) else data
        problem = "it is not an object" if not isinstance(thread, Mapping) else find_shape_problem(thread)
        if problem is None and "version" not in thread:
            problem = "it has no version"
        if problem:
            raise UsageError(
                f"a snapshot was asked for of what is not a thread, or what tpharness.fold returns: {problem};"
                f" it is {shorten(thread, _SHOWN)}"
            )
        filled, _ = fill_agents(thread)
        try:
            form = _FORMS[self.mode](filled)
        except CanonicalError as error:
            raise UsageError(f"the thread has no canonical form: {error}") from None
        return json.dumps(form, ensure_ascii=False, indent=2, sort_keys=True) + "\n"

    def diff_lines(self, serialized_data: Any, snapshot_data: Any) -> Any:
        """Yield the differences between the stored thread and this one, each with its place, values and ruling."""
        yield from _difference_lines(serialized_data, snapshot_data, self.mode)


class ContentSnapshotExtension(ThreadSnapshotExtension):
    """A thread as the comparison by content sees it (R39): ids are numbered, times, models and usage left out.

    For threads whose ids and times differ at every run, such as those that a real server stores.
    """

    file_extension = "content.json"
    mode: ClassVar[Literal["exact", "content"]] = "content"


def compare(snapshot: SnapshotAssertion, name: str, thread: Mapping[str, Any], *, mode: str) -> list[str]:
    """Compare a thread with the snapshot of a name; return what differs, [] for nothing. `mode` is as for a play."""
    extension = ThreadSnapshotExtension if mode == "exact" else ContentSnapshotExtension
    compared = snapshot(name=name, extension_class=extension)
    if compared == thread:
        return []
    return explain(compared) or [f"no snapshot {name}; pytest --snapshot-update writes it"]


def explain(snapshot: SnapshotAssertion) -> list[str]:
    """Return what a failed comparison with a snapshot of ours says, [] where syrupy says it.

    With `snapshot(extension_class=…)` syrupy 7.0.2 describes the difference by its default extension, not by the one
    that compared, so the plugin asks here.
    """
    result = snapshot.executions.get(snapshot.num_executions - 1)
    if result is None or result.exception is not None or result.recalled_data is None:
        return []
    for extension in (ThreadSnapshotExtension, ContentSnapshotExtension):
        if result.snapshot_location.endswith(f".{extension.file_extension}"):
            return list(_difference_lines(str(result.asserted_data), str(result.recalled_data), extension.mode))
    return []


def _difference_lines(thread: str, snapshot: str, mode: Literal["exact", "content"]) -> Iterator[str]:
    try:
        stored = json.loads(snapshot)
    except ValueError:
        stored = None
    if not isinstance(stored, Mapping) or find_shape_problem(stored):
        yield "the stored snapshot is not a thread; pytest --snapshot-update writes it anew"
        return
    sides = ("snapshot", "thread")
    found = diff(stored, json.loads(thread), names=sides, mode=mode)
    yield f"the thread is not the stored one: {counted(len(found), 'difference')} ({mode}, R39)"
    for difference in found:
        yield from map(make_printable, difference_lines(difference, sides, mode))
