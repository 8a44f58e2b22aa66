"""What a sweep takes as judged: a document that differs from one that passed in the time of the cut, and in nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import pytest

from tpharness.findings import Finding, Kind, Place
from tpharness.journal import Interrupted
from tpharness.protocol.versions import Version
from tpharness.resources import scenarios_dir
from tpharness.run.plan import base_case
from tpharness.run.select import select_scenarios
from tpharness.run.sweeps import stepped
from tpharness.run.sweeps.evidence import only_the_cut_moved
from tpharness.run.sweeps.stepped import sweep
from tpharness.scenario import load_scenario, load_text
from tpharness.targets import Reference
from tpharness.targets.reference import ReferenceServer
from tpharness.verdict.result import CheckState

AT, LATER = "2026-01-01T00:00:05Z", "2026-01-01T00:00:05.5Z"
THREAD: dict[str, Any] = {
    "version": "0.0.4",
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": AT,
    "agents": {"a": {"agent_id": "a"}},
    "turns": [
        {"turn_type": "user", "parts": []},
        {
            "turn_type": "agent",
            "messages": [{"message_type": "response", "parts": [{"part_kind": "text", "content": "Hi"}]}],
            "interruption": {"reason": "timeout", "interrupted_at": AT},
        },
    ],
}
SCENARIO = """\
description: A call is answered, then a long text streams.
clauses: [sync.identity]
turns:
  - user: Hi
  - steps:
      - response: [{call: look, id: c1, raw: '{"a": 1}', deltas: ['{"a"', ': 1}']}]
      - returns: {c1: 1}
      - response: [{text: [one, " two", " three"]}, {call: look, id: c2, raw: "[2]", deltas: ["[2", "]"]}]
      - returns: {c2: 2}
cut: every-event
"""


def cut_at(time: str, updated: str | None = None) -> dict[str, Any]:
    """Return the thread as it is cut at another time."""
    thread = copy.deepcopy(THREAD)
    thread["turns"][1]["interruption"]["interrupted_at"] = time
    thread["updated_at"] = updated or time
    return thread


@pytest.mark.parametrize("now", [THREAD, cut_at(LATER), cut_at(LATER, AT), cut_at("2026-01-01T01:00:05.50+01:00")])
def test_a_cut_that_moved_is_nothing_new(now):
    """The time of the cut may be written in any form, and the thread may show it as its latest change."""
    at = AT if now is THREAD else LATER
    assert only_the_cut_moved([THREAD, THREAD], [now, copy.deepcopy(now)], at)


def _put(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(thread: dict[str, Any]) -> None:
        holder: Any = thread
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _put("updated_at", value="2026-01-01T00:00:06Z"),
        _put("agents", value={}),
        _put("title", value="New"),
        _put("turns", 0, "parts", value=[{"part_kind": "user-prompt", "content": "Hi"}]),
        _put("turns", 1, "total_usage", value={"input_tokens": 1}),
        _put("turns", 1, "messages", value=[]),
        _put("turns", 1, "messages", 0, "parts", 0, "content", value="Hi!"),
        _put("turns", 1, "interruption", "reason", value="error"),
        _put("turns", 1, "interruption", "interrupted_at", value="2026-01-01T00:00:05.6Z"),
        _put("turns", 1, "interruption", "interrupted_at", value=None),
        _put("turns", 1, "interruption", value=None),
        _put("turns", value=[]),
    ],
)
def test_anything_else_is_new(change):
    """On either side, even where the cut has moved as well."""
    now = cut_at(LATER)
    change(now)
    assert not only_the_cut_moved([THREAD, THREAD], [cut_at(LATER), now], LATER)
    assert not only_the_cut_moved([THREAD, THREAD], [now, cut_at(LATER)], LATER)


def test_a_cut_that_moved_back_or_elsewhere_is_new():
    """The messages may be too late for an earlier cut, and a side may show another time than that of its cut."""
    assert not only_the_cut_moved([cut_at(LATER)], [THREAD], AT)
    assert not only_the_cut_moved([THREAD], [cut_at(LATER)], AT)
    assert not only_the_cut_moved([THREAD], [cut_at(LATER), cut_at(LATER)], LATER)


class Late(ReferenceServer):
    """A server that goes wrong after so many events, where nothing that is kept has changed."""

    fed = 0
    wrong_after = 0

    def feed(self, event: Mapping[str, Any]) -> bytes:
        """Count the events."""
        self.fed += 1
        return super().feed(event)

    @property
    def version(self) -> int:
        """A document may have changed after every event."""
        return super().version + self.fed

    def threads(self, cut: Interrupted | None = None) -> dict[Version, dict[str, Any]]:
        """Return the threads, in which the text of the user is another one from some place on."""
        threads = super().threads(cut)
        if self.fed >= self.wrong_after:
            threads = copy.deepcopy(threads)
            for thread in threads.values():
                thread["turns"][0]["parts"][0]["content"] = "Bye"
        return threads


class Complains(Late):
    """The same for a finding of its fold."""

    def threads(self, cut: Interrupted | None = None) -> dict[Version, dict[str, Any]]:
        """Return the right threads."""
        return ReferenceServer.threads(self, cut)

    def findings(self) -> tuple[Finding, ...]:
        """Report something from some place on."""
        mine = (Kind("server-event-malformed").at(Place(), got="odd"),) if self.fed >= self.wrong_after else ()
        return (*super().findings(), *mine)


@pytest.mark.parametrize("server", [Late, Complains])
@pytest.mark.parametrize("apart", [False, True])
def test_the_same_places_fail_as_when_each_is_judged(server, apart):
    """Whatever goes wrong, and after whichever event."""
    case = base_case(load_text(SCENARIO, id="mine/one"))
    events = len(case.scenario.runs[0][1].events or ())
    found = []
    for after in range(1, events + 1, 3):
        with mock.patch.object(Reference, "server_session", lambda _, script: server(script)):
            server.wrong_after = after
            quick = sweep(case, Reference(), Reference(), apart=apart)
            with mock.patch.object(stepped, "only_the_cut_moved", return_value=False):
                slow = sweep(case, Reference(), Reference(), apart=apart)
        assert (quick.failed, quick.apart, quick.checks) == (slow.failed, slow.apart, slow.checks)
        assert quick.not_judged == slow.not_judged
        found.append(len(quick.failed))
    assert found == list(range(events, 0, -3))


@pytest.mark.parametrize("name", ["cycles/three-steps", "tools/retry-prompt"])
def test_arguments_are_judged_where_no_document_changes(name):
    """R60: a call that is open while the documents show nothing new is looked at once, for its check to say so."""
    (found,) = select_scenarios((name,), (scenarios_dir(),))
    case = base_case(load_scenario(found.path, root=found.root))
    assert sweep(case, Reference(), Reference()).checks["arguments"] is CheckState.PASSED
