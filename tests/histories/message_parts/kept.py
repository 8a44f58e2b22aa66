"""What lies on disk for the inputs of HISTORIES 1.7, written by hand from its two columns."""

from __future__ import annotations

from tests.histories.message_parts.build import (
    Line,
    answer,
    call,
    cancelled,
    developer,
    interrupt,
    result,
    retract,
    signature,
    stream_error,
    text,
    thought,
    user,
)

__all__ = ["K02", "KEPT", "SEEN", "U"]

U = user("q")
PARIS = '{"city": "Paris"}'
BOTH = (call("c1", "fast"), call("c2", "slow"))
SWAPPED = (call("c2", "slow"), call("c1", "fast"))

# HISTORIES 1.7: input → (column "plan history", column "HEAD history"); one name for both where the first says "same".
K01 = [U, answer(text("Hello"), stop="stop")]
K02 = [
    U,
    answer(
        thought("hmm"),
        signature("sig"),
        text("check"),
        call("c1", "fast", PARIS),
        stop="tool_use",
        usage={"input_tokens": 7, "output_tokens": 5},
    ),
    result("c1", "fast", "success", "sunny"),
    answer(text("done"), stop="stop"),
]
K07 = [U, answer(text("ok"), stop="aborted")]
K08 = [U, answer(text("ok"), call("c2", "slow"), stop="tool_use"), cancelled("c2", "slow")]
K09 = [U, answer(*BOTH, stop="tool_use"), result("c1", "fast", "success", "one"), cancelled("c2", "slow")]
K10 = [U, answer(*SWAPPED, stop="tool_use"), cancelled("c2", "slow"), cancelled("c1", "fast")]
K11 = [U, answer(*SWAPPED, stop="tool_use"), result("c1", "fast", "success", "one"), cancelled("c2", "slow")]
K13 = [
    U,
    answer(call("c1", "slow"), stop="tool_use"),
    result("c1", "slow", "error", "Tool slow execution error: TimeoutError after 120 s"),
    answer(text("too slow"), stop="stop"),
]
K14 = [U, answer(call("c1", "fast"), stop="tool_use"), result("c1", "fast", "success", "one")]
K15 = [U, answer(*BOTH, stop="tool_use"), result("c1", "fast", "success", "one"), user("go on")]
SEEN = interrupt(notice=True)
UNSEEN = interrupt(notice=False)
EMPTY = answer(stop="aborted")

_BOTH: dict[str, tuple[list[Line], list[Line]]] = {
    "k01-text-only": (K01, K01),
    "k02-thinking-call-and-answer": (K02, K02),
    "k03-before-any-delta": ([U, EMPTY], [U, UNSEEN]),
    "k04-thinking-only": ([U, answer(thought("hmm"), stop="aborted")], [U, UNSEEN]),
    "k05-mid-text-after-thinking": (
        [U, answer(thought("think"), signature("sig"), text(" Hello "), stop="aborted")],
        [U, answer(text("Hello"), stop="aborted")],
    ),
    "k06-mid-arguments": ([U, EMPTY], [U, SEEN]),
    "k07-mid-arguments-after-text": (K07, K07),
    "k08-tool-runs": (K08, [*K08, SEEN]),
    "k09-second-of-two-runs": (K09, [*K09, SEEN]),
    "k10-second-tool-never-started": (K10, [*K10, SEEN]),
    "k11-second-call-done-first": (K11, [*K11, SEEN]),
    "k13-tool-times-out": (K13, K13),
    "k14-between-result-and-answer": ([*K14, EMPTY], [*K14, SEEN]),
    "k15-program-ends-while-a-tool-runs": (K15, K15),
    "k18-withdrawn": ([U, EMPTY], [U, UNSEEN, retract("q")]),
}

_MADE, _CAME = answer(call("c1", "fast"), stop="tool_use"), result("c1", "fast", "success", "one")
_DONE = answer(text("done"), stop="stop")
_DEVELOPER = (
    [
        *(developer("first"), U, developer("after user"), _MADE, _CAME),
        *(developer("before tool"), developer("after tool"), _DONE, developer("after answer")),
    ],
    [
        *(developer("first", "append"), U, developer("after user", "append"), _MADE, _CAME),
        *(developer("before tool", "prepend"), developer("after tool", "append"), _DONE),
        developer("after answer", "append"),
    ],
)
"""K16: the plan knows no position, the current program writes it down."""

KEPT: dict[tuple[str, str], list[Line]] = {
    **{
        (variant, name): column
        for name, columns in {**_BOTH, "k16-developer-messages": _DEVELOPER}.items()
        for variant, column in zip(("plan", "current"), columns, strict=True)
    },
    ("plan", "k12-model-call-fails"): [U, stream_error("net down")],
}
"""The lines by variant and scenario; K12 under the current program ends with a prompt in its own words."""
