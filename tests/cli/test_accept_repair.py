"""What `accept --repair` writes `accept` takes, under the same options; else the exit code says no, and a line why.

Broken requests are those of the rules (`tests/model_apis/cases.py`), several rules at once, and for every server.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model_apis.cases import (
    CASES,
    RULE,
    Case,
    assistant,
    chat_answer,
    chat_call,
    converse,
    converse_call,
    converse_result,
    native_call,
    native_result,
    result,
    use,
    user,
)

from tpharness.cli.accept import AcceptBy
from tpharness.cli.batch.work import BatchDocument, DocumentDone
from tpharness.cli.repair import RepairBy, RepairIn
from tpharness.findings import Level
from tpharness.model_apis.openai_chat.servers import SERVERS
from tpharness.model_apis.registry import APIS

MODELS = (None, "claude-sonnet-4-5", "gpt-5", "gemini-3-pro")
"""Names that decide what their API takes."""

MENDED = {"C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C11", "C12", "C13", "C14", "C16", "C17", "C20"}
MENDED |= {"C23", "C24", "C25", "R14", "B1", "B3", "B4", "B5", "B7", "B9", "B10", "B11"}
MENDED |= {"R1", "R3", "R4", "R6", "R7", "R8", "R10", "R11", "R13"}
MENDED |= {"A1", "A3", "A4", "A5", "A8", "A11", "A12", "A13", "A14", "A17", "A18", "A19", "A20", "A22"}
MENDED |= {"O1", "O2", "O3"}
"""The rules of which `docs/ACCEPTANCE.md` says that what breaks them is mended, in one case at least."""


MORE = (
    Case("O1", [user(), native_call(arguments='{"city": "Paris"}'), native_result()], None, "", ""),
    Case("B11", [converse("Hi"), converse_call("a b"), converse(converse_result("a b"))], None, "", ""),
    Case("A17", [user(), assistant([use("a.b")]), user([result("a.b")])], None, "", ""),
)
"""What breaks rules of which the cases cannot be mended: half arguments, ids of the API's own tools."""


def document(value: Any) -> BatchDocument:
    """Return a document of a batch."""
    return BatchDocument(name="request.json", data=json.dumps(value).encode(), place="request.json")


def mend(value: Any, api: str | None, model: str | None = None, server: str | None = None) -> DocumentDone:
    """Repair a request as the command does, to be written."""
    by = RepairBy(source=api, model=model, server=server, of_request=True)
    return RepairIn(by, writes=True, prints=False)(document(value))


def hold(value: Any, api: str, model: str | None = None, server: str | None = None) -> DocumentDone:
    """Hold a repair to what `accept` says before and after it, and return it."""
    accept = AcceptBy(api, model, False, Level.MAY, server)
    before = copy.deepcopy(value)
    done = mend(value, api, model, server)
    assert value == before
    was = accept(document(value)).facts["verdict"]
    if done.value is None:
        assert done.code == 1
        assert done.facts["left"]
        return done
    now = accept(document(done.value)).facts
    assert now["verdict"] != "refused"
    half = "stored-arguments-half" in {one["code"] for one in done.facts["left"]}
    assert (done.code == 0) == (now["verdict"] == "accepted" and not half), now["findings"]
    left = {(one["code"], one["pointer"]) for one in now["findings"]}
    assert left <= {(one["code"], one["place"]["pointer"]) for one in done.facts["left"]}
    if was == "accepted":
        assert done.value == value
    else:
        assert done.facts["changes"] or done.code == 1
    again = mend(done.value, api, model, server)
    assert (again.value, again.facts["changes"]) == (done.value, [])
    return done


def requests(case: Case) -> list[tuple[Any, str | None, str | None]]:
    """Return a broken payload as requests that have the options of its case, each with the model and the server."""
    api = APIS[RULE[case.rule].provider]
    body = dict(case.bad) if isinstance(case.bad, dict) else {api.entries: case.bad}
    options = case.options
    body |= {} if options.store else {"store": False}
    if options.thinking is not None and api.name == "openai-chat":
        body["thinking"] = {"type": "enabled" if options.thinking else "disabled"}
    elif options.thinking is False:
        body["thinking"] = {"type": "disabled"}
    return [(body, model, options.server or None) for model in MODELS]


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{CASES[number].rule}-{number}")
def test_what_breaks_a_rule_is_mended_or_named(number: int) -> None:
    """Of every rule, for the models and the server that it is about."""
    case = CASES[number]
    for body, model, server in requests(case):
        hold(body, RULE[case.rule].provider, model, server)


@pytest.mark.parametrize("rule", sorted(MENDED))
def test_a_rule_that_can_be_mended_is(rule: str) -> None:
    """Where something breaks it that shows in the request; then the request is accepted."""
    taken = False
    for case in (case for case in (*CASES, *MORE) if case.rule == rule):
        api = RULE[rule].provider
        for body, model, server in requests(case):
            accept = AcceptBy(api, model, False, Level.MAY, server)
            if rule in {one.get("rule") for one in accept(document(body)).facts["findings"]}:
                done = hold(body, api, model, server)
                taken = taken or (done.code == 0 and done.outcome == "repaired")
    assert taken


def test_only_these_rules_can_be_mended() -> None:
    """The set above says all of it."""
    found = set()
    for case in CASES:
        for body, model, server in requests(case):
            done = hold(body, RULE[case.rule].provider, model, server)
            accept = AcceptBy(RULE[case.rule].provider, model, False, Level.MAY, server)
            broken = {one.get("rule") for one in accept(document(body)).facts["findings"]}
            if broken == {case.rule} and done.outcome == "repaired":
                found.add(case.rule)
    assert found <= MENDED


LONG = "call_0123456789_0123456789_0123456789_0123456789"
PIECES = (
    [user()],
    [user([{"type": "text", "text": "Look"}])],
    [assistant()],
    [assistant("Well", reasoning_content="hm")],
    [assistant(None, tool_calls=[])],
    [{"role": "system", "content": "Be brief."}],
    [{"role": "developer", "content": "Be brief."}],
    [user("Hi") | {"name": "a b"}],
    [chat_call("c1"), chat_answer("c1")],
    [chat_call("c1"), chat_answer("c1"), user("And?")],
    [chat_call(LONG), chat_answer(LONG)],
    [chat_call("abcdefgh1", "c2"), chat_answer("c2"), chat_answer("abcdefgh1")],
    [chat_call("c1", "c2"), chat_answer("c1")],
    [chat_call("c3")],
    [chat_answer("c4")],
    [chat_call("c1", arguments={"city": "Paris"}), chat_answer("c1")],
    [chat_call("c1", arguments='"{}"'), chat_answer("c1")],
    [chat_call("c1", arguments=""), chat_answer("c1")],
    [chat_call("c1", arguments='{"half'), chat_answer("c1")],
    [chat_call("c1", name="look up"), chat_answer("c1")],
)


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.sampled_from([None, *SERVERS]))
def test_whatever_a_chat_is_made_of(pieces: list[list[dict[str, Any]]], server: str | None) -> None:
    """For each server; nothing that was said or returned is lost but with its call, or by name."""
    messages = [copy.deepcopy(message) for piece in pieces for message in piece]
    hold({"messages": messages}, "openai-chat", None, server)


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_says_the_api(server: str, call: Any) -> None:
    """Nothing but the server has to be named for a list of messages that could be for several APIs."""
    body = json.dumps([user()]).encode()
    called = call("accept", "-", "--server", server, stdin=body)
    assert (called.code, called.out.splitlines()[0]) == (0, "-: openai-chat, 1 message")
    assert call("accept", "-", "--server", server, "--repair", stdin=body).code == 0


def test_a_server_of_another_api_is_refused(call: Any) -> None:
    """The request is plainly for one API, and the server speaks another."""
    body = json.dumps([user(), assistant([use()]), user("x")]).encode()
    called = call("accept", "-", "--server", "mistral", stdin=body)
    assert called.code == 2
    assert "no server of anthropic that is judged otherwise is called 'mistral'" in called.err
    repaired = call("accept", "-", "--server", "mistral", "--repair", stdin=body)
    assert (repaired.code, repaired.err) == (2, called.err)


def test_what_mistral_refuses_is_mended(tmp_path: Any, call: Any) -> None:
    """The finding that `accept` prints is the one that `--repair` mends, for the call and its result together."""
    messages = [user(), chat_call(LONG), chat_answer(LONG), user("And?")]
    request, right = tmp_path / "request.json", tmp_path / "right.json"
    request.write_text(json.dumps({"messages": messages}), "utf-8")
    plain = call("accept", str(request), "--server", "mistral")
    assert "chat/C11" in plain.out
    assert "NOT CERTAIN" in plain.out
    dry = call("accept", str(request), "--server", "mistral", "--repair")
    assert (dry.code, dry.out.splitlines()[-1]) == (1, f"{request}: openai-chat, to be repaired")
    assert call("accept", str(request), "--server", "mistral", "--repair", "-o", str(right)).code == 0
    _, called, answered, between, _ = json.loads(right.read_text("utf-8"))["messages"]
    assert called["tool_calls"][0]["id"] == answered["tool_call_id"] != LONG
    assert between == {"role": "assistant", "content": "(no answer)"}
    taken = call("accept", str(right), "--server", "mistral")
    assert (taken.code, "ACCEPTED" in taken.out) == (0, True)


def test_what_cannot_be_mended_is_named_and_the_exit_code_says_no(call: Any) -> None:
    """The last message is the assistant's: nobody knows what the user says next."""
    body = json.dumps([user(), assistant()]).encode()
    called = call("accept", "-", "--server", "mistral", "--repair", stdin=body)
    assert called.code == 1
    assert "not repaired: SHOULD chat-assistant-last at /1/role" in called.out
    assert called.out.splitlines()[-1] == "-: openai-chat, not repaired"


def test_what_is_no_request_is_not_called_refused(tmp_path: Any, call: Any) -> None:
    """Refused is what an API does."""
    for name, value in {
        "open": [user(), assistant([use()]), user()],
        "plain": [user()],
        "thread": {"turns": []},
    }.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value), "utf-8")
    called = call("accept", str(tmp_path))
    assert called.code == 2
    assert called.out.splitlines()[-1].startswith("3 documents: 2 not judged, 1 refused; ")
    assert "name the API: --api" in called.err
    repaired = call("accept", str(tmp_path), "--repair")
    assert repaired.out.splitlines()[-1].startswith("3 documents: 2 not judged, 1 to be repaired; ")
