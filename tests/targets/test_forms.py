"""The control contract's JSON: round trips through our own types; what is refused, held against written messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.scenarios import load_builtin
from tests.targets.clients import read_script

from tpharness.errors import TargetError
from tpharness.protocol.versions import Version
from tpharness.readings import AnswerRule
from tpharness.resources import schema_path
from tpharness.run.plan import base_case, make_script, make_streams
from tpharness.targets import Packet, Reference, forms
from tpharness.targets.contract import Script, Stream, StreamEnd

NAMES = ["interruptions/one-of-two-tools-done", "documents/2-0-0-example-thread", "basics/tool-call-and-answer"]

CASE: dict[str, Any] = {
    "thread_id": "t-1",
    "created_at": "2025-01-20T10:00:00Z",
    "agents": {"a": {"agent_id": "a", "agent_name": "A", "created_at": "2025-01-20T10:00:00Z"}},
    "versions": ["0.0.4"],
    "carriers": True,
    "turns": [
        {
            "turn_type": "user",
            "submitted_at": "2025-01-20T10:00:00Z",
            "parts": [{"part_kind": "user-prompt", "content": "Hi"}],
        },
        {
            "turn_type": "agent",
            "agent_id": "a",
            "started_at": "2025-01-20T10:00:01Z",
            "message_id": "m-1",
            "events": [
                {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": "H"}},
                {
                    "event_kind": "part_delta",
                    "index": 0,
                    "delta": {"part_delta_kind": "text", "content_delta": "\ud83d"},
                },
            ],
            "interruption": {"reason": "user_cancelled", "at": "2025-01-20T10:00:02Z", "tell": "abort"},
        },
    ],
}


def served(script: Script) -> dict[str, Any]:
    """Return a `serveRequest`."""
    return {**forms.header_json(script), "turns": forms.turns_json(script.turns)}


def read_stream(value: dict[str, Any]) -> Stream:
    """Read a `streamTurn` with its packets."""
    return Stream(
        agent_id=value["agent_id"],
        begun_at=value["begun_at"],
        packets=forms.packets_from(value["packets"]),
        end=StreamEnd(reason=value["end"].get("reason"), at=value["end"]["at"]),
    )


def test_a_written_case_is_read_and_written_back() -> None:
    """Every field of the message arrives, and nothing is added."""
    script = read_script(CASE)
    assert script.header.thread_id == "t-1"
    run = script.turns[1]
    assert not isinstance(run, type(script.turns[0]))
    assert served(script) == CASE


def without_surrogate(case: dict[str, Any]) -> dict[str, Any]:
    """Return the case with a whole character, which every JSON library can look at."""
    user, run = case["turns"]
    return {**case, "turns": [user, {**run, "events": run["events"][:1]}]}


def test_what_is_written_fits_the_contract() -> None:
    """The schema says the same as the code that writes."""
    assert forms.problems("serveRequest", without_surrogate(CASE)) == []


@pytest.mark.asyncio
@pytest.mark.parametrize("name", NAMES)
async def test_a_scenario_survives_the_way_there_and_back(name: str) -> None:
    """Script and streams of real scenarios fit the contract and come back as they were."""
    case = base_case(load_builtin(name))
    script = make_script(case)
    document = served(script)
    assert forms.problems("serveRequest", document) == []
    assert read_script(document).turns == script.turns
    outcome = await Reference().serve(script)
    turns = make_streams(case, outcome.streams)
    request = {**forms.header_json(script), "turns": forms.turns_json(turns)}
    assert forms.problems("receiveRequest", request) == []
    streams = [read_stream(t) for t in request["turns"] if t["turn_type"] == "agent"]
    assert streams == [turn for turn in turns if hasattr(turn, "packets")]
    answer = {"threads": forms.threads_json(outcome.threads)}
    assert forms.problems("served", answer) == []
    assert forms.threads_from(answer["threads"], script.versions, "it") == outcome.threads


def test_bytes_that_are_no_text_travel_as_base64() -> None:
    """Half a character stays half a character."""
    packet = Packet(data=b"data: \xf0\x9f", at="2025-01-20T10:00:00Z", event=3)
    document = forms.packet_json(packet)
    assert document == {"data_base64": "ZGF0YTog8J8=", "at": "2025-01-20T10:00:00Z", "event": 3}
    assert forms.packets_from([document]) == (packet,)


GOOD = {"contract": "1.0", "name": "mine", "version": "2.1", "roles": ["server"]}


def test_capabilities_that_are_not_declared_are_not_there() -> None:
    """The least that a target can say."""
    read = forms.capabilities_from(GOOD, "server", "http://x")
    assert (read.name, read.implementation_version) == ("mine", "2.1")
    assert read.versions == tuple(Version)
    assert not any((read.carriers, read.marks, read.cancel, read.limits, read.resume, read.seed, read.durable))
    assert read.disconnect == read.detects == ()


def test_capabilities_survive_the_way_there_and_back() -> None:
    """Also a declared reading."""
    told = {**GOOD, "contract": "1.7", "versions": ["0.0.4"], "marks": True, "readings": {"R21": "any-return"}}
    read = forms.capabilities_from(told, "server", "http://x")
    assert read.readings.R21 is AnswerRule.ANY_RETURN
    assert forms.capabilities_from(forms.capabilities_json(read, ["server"]), "server", "it") == read


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({**GOOD, "contract": "2.0"}, "has version 2.0 of the contract"),
        ({**GOOD, "roles": ["client"]}, "does not declare the role server"),
        ({**GOOD, "roles": []}, "/roles"),
        ({**GOOD, "versions": ["0.0.5"]}, "/versions/0"),
        ({**GOOD, "readings": {"R20": "all"}}, "/readings/R20"),
        ({"name": "mine"}, "contract"),
        ([], "does not fit the contract"),
        (None, "does not fit the contract"),
    ],
    ids=str,
)
def test_capabilities_that_are_wrong_are_refused_with_their_place(told: Any, words: str) -> None:
    """The error names the target, the place and the contract."""
    with pytest.raises(TargetError) as raised:
        forms.capabilities_from(told, "server", "http://x")
    assert str(raised.value).startswith("http://x")
    assert words in str(raised.value)


def test_a_target_of_the_other_role_is_told_how_it_is_named() -> None:
    """It may also have forgotten to declare the role."""
    with pytest.raises(TargetError) as raised:
        forms.capabilities_from({**GOOD, "roles": ["client"]}, "server", "http://x")
    assert raised.value.hint == "declare it under roles if it can be a server, or name it as --client"


def test_the_shape_of_an_answer_is_found_without_a_clone() -> None:
    """The hint names a command that every installation has, and not a folder that only a clone has."""
    with pytest.raises(TargetError) as raised:
        forms.capabilities_from({"name": "mine", "contract": forms.CONTRACT}, "server", "it")
    assert "`tpharness docs CONTROL`" in raised.value.hint
    assert "conformance/" not in raised.value.hint


def test_a_version_that_is_owed_and_missing_is_named() -> None:
    """And so is a thread that says another version than it was asked for."""
    thread = {"version": "0.0.3", "thread_id": "t", "turns": []}
    with pytest.raises(TargetError, match=r"not have a thread of version 0\.0\.4"):
        forms.threads_from({"0.0.3": thread}, (Version.V0_0_4,), "it")
    with pytest.raises(TargetError, match=r"for 0\.0\.4 has the version 0\.0\.3"):
        forms.threads_from({"0.0.4": thread}, (Version.V0_0_4,), "it")


@pytest.mark.parametrize(("wrong", "meant"), [("mark", "marks"), ("cancell", "cancel"), ("carrier", "carriers")])
def test_a_misspelt_capability_is_refused(wrong: str, meant: str) -> None:
    """It was not played, and nobody was told; what is not like any capability may be of a later contract."""
    told = {name: value for name, value in GOOD.items() if name != meant}
    with pytest.raises(TargetError, match=f"its declaration has {wrong}, which is not a capability") as raised:
        forms.capabilities_from({**told, wrong: True}, "server", "it")
    assert f"did you mean {meant}?" in raised.value.hint
    assert forms.capabilities_from({**GOOD, "telepathy": True}, "server", "it").name == GOOD["name"]


def test_every_capability_of_the_contract_is_known() -> None:
    """One that the schema has and the table has not could be taken for a misspelt one."""
    schema = json.loads(schema_path("control").read_text("utf-8"))
    assert schema["$defs"]["capabilities"]["properties"].keys() == forms._CAPABILITIES
