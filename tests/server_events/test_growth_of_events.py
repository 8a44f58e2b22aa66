"""Server events are folded and sent in a time that is in proportion to their number, of whatever kind they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from tests.counting import count_lines

from tpharness.run.plan import base_case, make_script
from tpharness.scenario import load_text
from tpharness.targets.reference import ReferenceServer, serve_turns
from tpharness.wires.registry import WIRES


def steps(*lines: str) -> str:
    """Return a scenario with one run of these steps."""
    return "\n".join(["description: x", "clauses: [cycle.kept]", "turns:", "  - user: x", "  - steps:", *lines])


def many(form: str, n: int) -> Iterator[str]:
    """Return a line for each number."""
    return (form.replace("N", str(i)) for i in range(n))


def calls(n: int) -> Iterator[str]:
    """Return one response with so many calls."""
    return iter(("      - response:", *many("          - {call: t, id: cN, args: {a: 1}}", n)))


def turns(n: int, step: str, more: str = "") -> str:
    """Return a scenario of so many runs that have one step each."""
    one = f"  - user: x\n  - steps:\n      - {step}{more}"
    return "\n".join(["description: x", "clauses: [cycle.kept]", "turns:", *many(one, n)])


RETURNED = "response: [{call: t, id: cN, args: {}}]\n      - returns: {cN: 1}"
STOPPED = "\n    interrupt: {reason: user_cancelled, after: lN.mid}"

KINDS: dict[str, Callable[[int], str]] = {
    "open calls": lambda n: steps(*calls(n)),
    "calls with returns": lambda n: steps(*calls(n), "      - returns:", *many("          cN: 1", n)),
    "calls without arguments": lambda n: steps(
        "      - response:",
        *many("          - {call: t, id: cN}", n),
        *many("      - returns: {cN: 1}", n),
    ),
    "progress": lambda n: steps(*calls(n), *many("      - progress: {cN: 1}", n)),
    "calls of the provider": lambda n: steps(
        "      - response:",
        *many("          - {provider_call: t, id: cN, args: {}}", n),
        *many("          - {provider_return: cN, content: 1}", n),
    ),
    "texts": lambda n: steps("      - response:", *many("          - {text: x}", n)),
    "steps": lambda n: steps(
        *many("      - response: [{call: t, id: cN, args: {}}]\n      - returns: {cN: 1}", n),
    ),
    "runs": lambda n: turns(n, RETURNED),
    "runs with a call that stays open": lambda n: turns(n, "response: [{call: t, id: cN, args: {}}]"),
    "runs that are stopped": lambda n: turns(n, "response: [{call: t, id: cN, args: {a: bcd}, label: lN}]", STOPPED),
}


def serve(kind: str, n: int, wire: str) -> int:
    """Play so many of a kind; return how many lines of code that takes."""
    script = replace(make_script(base_case(load_text(KINDS[kind](n), id="mine/long"))), wire=wire)
    session = ReferenceServer(script)
    return count_lines(lambda: serve_turns(session, script.turns))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", KINDS)
def test_serving_grows_with_the_events_and_no_faster(kind: str, wire: str) -> None:
    """Four times as many of a kind are at most 1.2 × four times the work."""
    serve(kind, 4, wire)  # what is loaded once
    few, more = serve(kind, 60, wire), serve(kind, 240, wire)
    assert more < 4 * 1.2 * few
