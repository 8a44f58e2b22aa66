"""Cases that only an application has: its stop button, a reload, a second message, tools that fail, approvals, waiting.

In: a tool that may be called, None for none, and a word that makes call ids unique. Out: cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tpharness.apps.cases.arguments import cut_arguments
from tpharness.apps.cases.basic import ANSWER, ASK, INTRODUCTION, arguments_text, cut_cases, next_turn, run_plans
from tpharness.apps.cases.branches import branch_cases
from tpharness.apps.cases.case import AppCase, Approves, CaseTool, Cut, CutBy, Need, Turn
from tpharness.apps.cases.long_chats import long_cases
from tpharness.model_apis.plan import Break, Call, Finish, Plan, Text, Thinking

__all__ = ["own_cases", "two_plans", "two_user_cases"]

_SECOND = "Wait, one more thing: make it quiet, please."
_AGAIN = "Please do it all the same."
_THOUGHT = Plan(items=(Text(pieces=("Let me think ", "about it ", "before I ", "begin.")),))
"""An answer whose words no other answer has."""
_HALF = len(INTRODUCTION) // 2
_OVERLOADED = Plan(breaks=Break.STATUS, status=503, once=True)
_RATE_LIMITED = Plan(breaks=Break.STATUS, status=429, once=True, error_text="Rate limit reached for requests")
_UNKNOWN_TOOL = "no_such_tool"
_TOOL = frozenset({Need.TOOL})
_RUNNING = frozenset({Need.TOOL, Need.SLOW_TOOL})


def own_cases(tool: CaseTool | None, call_id: str) -> tuple[AppCase, ...]:
    """Return the cases; those that call a tool are there without one, too, and are then not applicable."""
    plans = run_plans(tool, call_id)
    cases = (
        *cut_cases("stop-button", "The user presses the stop button", CutBy.STOP, plans, tool),
        *cut_cases("reload", "The user reloads the page", CutBy.RELOAD, plans, tool),
        *_model_cases(plans, tool),
        _twice(),
        *_thinking(plans),
        *branch_cases(plans),
        *_tool_cases(tool, call_id),
        *_two_calls(tool, call_id),
        *_stop_races(plans),
        *_then_a_tool(plans),
        *_second_messages(plans),
        *_two_chats(plans),
        *long_cases(tool, call_id),
        *_approvals(plans, two_plans(tool, call_id)),
    )
    wanted = {"stop-button": Need.STOP, "reload": Need.THREAD}
    return tuple(_with_need(case, wanted.get(case.id.partition("/")[0])) for case in cases)


def two_user_cases(tool: CaseTool | None, call_id: str) -> tuple[AppCase, ...]:
    """Return the cases with two chats as those of two users, whom the headers of their posts tell apart."""
    return tuple(
        replace(
            case,
            id=case.id.replace("two-chats", "two-users"),
            title=case.title.replace("The user writes in another chat", "Another user writes"),
            other_user=True,
        )
        for case in _two_chats(run_plans(tool, call_id))
    )


def _with_need(case: AppCase, need: Need | None) -> AppCase:
    return case if need is None else replace(case, needs=case.needs | {need})


def _model_cases(plans: tuple[Plan, ...], tool: CaseTool | None) -> Iterator[AppCase]:
    """Yield ways in which a model is slow or ends otherwise than with a broken connection."""
    first = plans[0]
    waiting = replace(first, hold_at=0)
    yield AppCase(
        id="slow-model/before-first-byte",
        title="The model is slow before its first byte",
        turns=(Turn(says=ASK, plans=(waiting, *plans[1:]), cut=Cut(by=CutBy.WAIT)), next_turn()),
    )
    for theme, who, by in (
        ("user-leaves", "The user closes the tab", CutBy.LEAVE),
        ("stop-button", "The user presses the stop button", CutBy.STOP),
    ):
        yield AppCase(
            id=f"{theme}/before-first-byte",
            title=f"{who} before the model has said anything",
            turns=(Turn(says=ASK, plans=(waiting, *plans[1:]), cut=Cut(by=by)), next_turn()),
        )
    ways = {
        "model-drops/without-its-end": ("The model's stream ends without its last events", Break.END),
        "model-fails/error-in-stream": ("The model's API reports an error in its stream", Break.ERROR),
    }
    for name, (title, how) in ways.items():
        broken = replace(first, hold_at=_HALF, breaks=how, break_at=_HALF)
        yield AppCase(
            id=name, title=title, turns=(Turn(says=ASK, plans=(broken,), cut=Cut(by=CutBy.MODEL)), next_turn())
        )
    yield AppCase(
        id="model-fails/once",
        title="The model's API is overloaded once, before the last answer",
        turns=(Turn(says=ASK, plans=(*plans[:-1], _OVERLOADED, plans[-1])), next_turn()),
    )
    yield AppCase(
        id="model-fails/rate-limited",
        title="The model's API answers the first request with status 429, and the same again with its answer",
        turns=(Turn(says=ASK, plans=(_RATE_LIMITED, *plans)), next_turn()),
    )
    yield AppCase(
        id="model-stops/without-words",
        title="The model ends its last answer without a word",
        turns=(Turn(says=ASK, plans=(*plans[:-1], Plan())), next_turn()),
    )
    text = Plan(items=(Text(pieces=INTRODUCTION[:_HALF]),), finish=Finish.LENGTH)
    yield AppCase(
        id="model-stops/at-length",
        title="The model reaches its limit of tokens in a text",
        turns=(Turn(says=ASK, plans=(text,)), next_turn()),
    )
    needy = AppCase(
        id="model-stops/at-length-in-arguments",
        title="The model reaches its limit of tokens in the arguments of a call",
        turns=(),
        needs=_TOOL,
    )
    if tool is None:
        yield needy
        return
    _, inside = cut_arguments(arguments_text(tool))
    call = first.calls[0]
    half = replace(first, items=(first.items[0], replace(call, pieces=call.pieces[:inside])), finish=Finish.LENGTH)
    yield replace(needy, turns=(Turn(says=ASK, plans=(half,)), next_turn()))


def _tool_cases(tool: CaseTool | None, call_id: str) -> Iterator[AppCase]:
    """Yield calls that cannot run."""
    kinds = {
        "tool-fails/refused-arguments": ("The model calls a tool with arguments that its schema refuses", ""),
        "tool-fails/unknown-tool": ("The model calls a tool that does not exist", _UNKNOWN_TOOL),
    }
    for name, (title, called) in kinds.items():
        case = AppCase(id=name, title=title, turns=(), needs=_TOOL)
        if tool is not None:
            bad = Call(call_id=call_id, name=called or tool.name, pieces=('{"unexpec', 'ted":true}'))
            plans = (Plan(items=(Text(pieces=INTRODUCTION), bad)), Plan(items=(Text(pieces=ANSWER),)))
            case = replace(case, turns=(Turn(says=ASK, plans=plans), next_turn()))
        yield case


def _two_calls(tool: CaseTool | None, call_id: str) -> Iterator[AppCase]:
    """Yield two calls in one answer, whose results could change places: uncut, and left while their tools run."""
    uncut = AppCase(
        id="uncut/two-calls", title="Nothing is cut: the model calls a tool twice at once", turns=(), needs=_TOOL
    )
    left = replace(
        uncut, id="user-leaves/while-two-tools-run", title="The user closes the tab while two tools run", needs=_RUNNING
    )
    if tool is None:
        yield from (uncut, left)
        return
    plans = two_plans(tool, call_id)
    yield replace(uncut, turns=(Turn(says=ASK, plans=plans), next_turn()))
    cut = Cut(by=CutBy.LEAVE, in_tool=True)
    yield replace(left, turns=(Turn(says=ASK, plans=plans, cut=cut), next_turn()))


def two_plans(tool: CaseTool | None, call_id: str) -> tuple[Plan, ...]:
    """Return the answers of a run that begins with two calls at once; none without a tool."""
    if tool is None:
        return ()
    calls = tuple(
        Call(call_id=f"{call_id}{end}", name=tool.name, pieces=cut_arguments(arguments_text(tool, other=other))[0])
        for end, other in (("a", False), ("b", True))
    )
    return (Plan(items=calls), Plan(items=(Text(pieces=ANSWER),)))


def _twice() -> AppCase:
    """Return two turns that are left one after the other: what the first leaves behind must not hurt the second."""
    says = (ASK, "Go on, please.")
    plans = (
        Plan(items=(Text(pieces=INTRODUCTION + ANSWER),), hold_at=_HALF),
        Plan(items=(Text(pieces=("Once more: ", "it is ", "on its way.")),), hold_at=1),
    )
    cut = Cut(by=CutBy.LEAVE)
    return AppCase(
        id="user-leaves/twice",
        title="The user closes the tab in the text, and in that of the next answer",
        turns=(*(Turn(says=one, plans=(plan,), cut=cut) for one, plan in zip(says, plans, strict=True)), next_turn()),
    )


def _thinking(plans: tuple[Plan, ...]) -> Iterator[AppCase]:
    """Yield a run that begins with thoughts: uncut, and left inside them, where nothing follows them yet."""
    thoughts = Thinking(pieces=("They want it done, ", "so this is ", "what I do."))
    first = replace(plans[0], items=(thoughts, *plans[0].items))
    cut = Cut(by=CutBy.LEAVE)
    for name, title, turn in (
        (
            "uncut/thinking",
            "Nothing is cut: the model thinks before it speaks",
            Turn(says=ASK, plans=(first, *plans[1:])),
        ),
        (
            "user-leaves/in-thinking",
            "The user closes the tab while the model thinks",
            Turn(says=ASK, plans=(replace(first, hold_at=1), *plans[1:]), cut=cut),
        ),
    ):
        yield AppCase(id=name, title=title, turns=(turn, next_turn()), needs=frozenset({Need.THOUGHTS}))


def _stop_races(plans: tuple[Plan, ...]) -> Iterator[AppCase]:
    """Yield stops that come twice, too late, and together with the next message: none of them ends the next run."""
    needs = frozenset({Need.STOP})
    text = Plan(items=(Text(pieces=INTRODUCTION + ANSWER),), hold_at=_HALF)
    second = replace(next_turn(_SECOND), plans=(Plan(items=(Text(pieces=("Quiet ", "it is.")),)),))
    cases = {
        "stop-button/twice": (
            "The user presses the stop button in the text, and once more",
            (Turn(says=ASK, plans=(text,), cut=Cut(by=CutBy.STOP, presses=2)),),
        ),
        "stop-button/after-the-end": (
            "The user presses the stop button when the answer has ended, and the model calls a tool in the next turn",
            (Turn(says=ASK, plans=(_THOUGHT,), stops_late=True), Turn(says=_AGAIN, plans=plans)),
        ),
        "stop-button/and-a-message": (
            "The user presses the stop button in the text, and writes at once",
            (Turn(says=ASK, plans=(text,), cut=Cut(by=CutBy.STOP_AND_WRITE)), second),
        ),
    }
    for name, (title, turns) in cases.items():
        yield AppCase(id=name, title=title, turns=(*turns, next_turn()), needs=needs)


def _then_a_tool(plans: tuple[Plan, ...]) -> Iterator[AppCase]:
    """Yield a cut in the text, and a call of a tool in the next turn: the run before is over, and stops nothing."""
    text = replace(_THOUGHT, hold_at=_HALF)
    for theme, who, by in (
        ("user-leaves", "The user closes the tab", CutBy.LEAVE),
        ("stop-button", "The user presses the stop button", CutBy.STOP),
    ):
        turns = (Turn(says=ASK, plans=(text,), cut=Cut(by=by)), Turn(says=_AGAIN, plans=plans), next_turn())
        yield AppCase(
            id=f"{theme}/then-a-tool",
            title=f"{who} in the text, and the model calls a tool in the next turn",
            turns=turns if plans[0].calls else (),
            needs=_TOOL,
        )


def _second_messages(plans: tuple[Plan, ...]) -> Iterator[AppCase]:
    """Yield a second message while the first is answered, from the same page and from another tab."""
    places = {
        "second-message/while-tool-runs": ("The user writes again while a tool runs", CutBy.SECOND_MESSAGE, _RUNNING),
        "second-tab/while-tool-runs": (
            "The user writes in a second tab while a tool runs",
            CutBy.SECOND_TAB,
            _RUNNING | {Need.SERVER_HISTORY},
        ),
    }
    second = replace(next_turn(_SECOND), plans=(Plan(items=(Text(pieces=("Quiet ", "it is.")),)),))
    text = Plan(items=(Text(pieces=INTRODUCTION + ANSWER),), hold_at=_HALF)
    yield AppCase(
        id="second-message/in-text",
        title="The user writes again while the model writes its text",
        turns=(Turn(says=ASK, plans=(text,), cut=Cut(by=CutBy.SECOND_MESSAGE)), second, next_turn()),
    )
    for name, (title, by, needs) in places.items():
        first = Turn(says=ASK, plans=plans, cut=Cut(by=by, in_tool=True))
        yield AppCase(id=name, title=title, turns=(first, second, next_turn()) if plans[0].calls else (), needs=needs)


def _two_chats(plans: tuple[Plan, ...]) -> Iterator[AppCase]:
    """Yield two chats of one user whose answers overlap: each keeps what was said in it, and nothing of the other."""
    beside = (
        Turn(says="Something else: do I need a coat?", plans=(Plan(items=(Text(pieces=("A warm ", "coat, yes.")),)),)),
        Turn(says="Why is that?", plans=(Plan(items=(Text(pieces=("It will ", "be cold there.")),)),)),
    )
    text = Plan(items=(Text(pieces=INTRODUCTION + ANSWER),), hold_at=_HALF)
    cut = Cut(by=CutBy.OTHER_CHAT)
    yield AppCase(
        id="two-chats/in-text",
        title="The user writes in another chat while the model writes its text",
        turns=(Turn(says=ASK, plans=(text,), cut=cut), next_turn()),
        beside=beside,
    )
    first = Turn(says=ASK, plans=plans, cut=replace(cut, in_tool=True))
    yield AppCase(
        id="two-chats/while-tool-runs",
        title="The user writes in another chat while a tool runs",
        turns=(first, next_turn()) if plans[0].calls else (),
        needs=_RUNNING,
        beside=beside,
    )
    held = replace(beside[0].plans[0], hold_at=1)
    for name, what, by, needs in (
        ("stop-the-first", "is stopped", CutBy.STOP_FIRST, frozenset({Need.STOP})),
        ("leave-the-first", "is closed", CutBy.LEAVE_FIRST, frozenset[Need]()),
    ):
        yield AppCase(
            id=f"two-chats/{name}",
            title=f"The user writes in another chat while the model writes its text, and the first chat {what}",
            turns=(Turn(says=ASK, plans=(text,), cut=cut), next_turn()),
            needs=needs,
            beside=(replace(beside[0], plans=(held,), cut=Cut(by=by)), beside[1]),
        )


def _approvals(plans: tuple[Plan, ...], two: tuple[Plan, ...]) -> Iterator[AppCase]:
    """Yield requests for approval: denied, left open, granted late or twice, and of `two` one granted, one denied."""
    needs = frozenset({Need.TOOL, Need.APPROVAL})
    cases: tuple[tuple[str, str, tuple[Plan, ...], tuple[bool, ...] | None], ...] = (
        ("denied", "The user denies the approval that the application asks for", plans, (False,)),
        ("never-answered", "The user writes on without answering a request for approval", plans, None),
        ("one-of-two", "The user approves the first of two calls, and denies the second", two, (True, False)),
    )
    for name, title, said, approve in cases:
        turns = (Turn(says=ASK, plans=said, approve=approve), next_turn()) if said and said[0].calls else ()
        yield AppCase(id=f"approval/{name}", title=title, turns=turns, needs=needs)
    for name, title, approves, need in (
        (
            "after-reload",
            "The user reloads the page that asks for approval, and approves",
            Approves.RELOADED,
            Need.THREAD,
        ),
        ("in-two-tabs", "The user approves, and once more in a second tab", Approves.TWICE, Need.SERVER_HISTORY),
    ):
        turns = (Turn(says=ASK, plans=plans, approves=approves), next_turn()) if plans[0].calls else ()
        yield AppCase(id=f"approval/{name}", title=title, turns=turns, needs=needs | {need})
