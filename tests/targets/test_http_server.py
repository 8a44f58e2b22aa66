"""A server over HTTP, against servers written by hand: what is asked, what comes back, and every way to be bad."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.scenarios import load_builtin
from tests.targets.bad_targets import CALM
from tests.targets.running import bounded
from tests.targets.servers import ALL, Connection, ContractServer, RawServer, contract_server

from tpharness.errors import TargetError, UsageError
from tpharness.journal import UserTurn
from tpharness.run.plan import base_case, make_script
from tpharness.targets import Reference, resolve_client, resolve_server
from tpharness.targets.contract import Script, TargetOutput
from tpharness.targets.endpoint import TOKEN_VARIABLE, Endpoint
from tpharness.targets.http_server import HttpServer
from tpharness.targets.remote import Remote, StreamLimits

STEADY = replace(CALM, limit=0.1)
"""For servers that keep the contract: a slow machine is none of their faults."""


def script(name: str) -> Script:
    """Return the script of a built-in scenario."""
    return make_script(base_case(load_builtin(name)))


def served(
    given: Script, contract: ContractServer | None = None, **options: Any
) -> tuple[TargetOutput, ContractServer]:
    """Play a script on a contract server."""

    async def run() -> tuple[TargetOutput, ContractServer]:
        async with contract_server(contract) as (raw, spoken):
            target = HttpServer(raw.url, patience=STEADY, **options)
            try:
                return await target.serve(given), spoken
            finally:
                await target.close()

    outcome: tuple[TargetOutput, ContractServer] = bounded(run())
    return outcome


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("tools/metadata", 0),
        ("interruptions/mid-text", 1),
        ("interruptions/between-steps", 1),
        ("interruptions/timeout-by-stall", 1),
        ("documents/0-0-4-nested-interruptions", 2),
        ("interruptions/error-mid-text", 0),
        ("interruptions/safety-halt", 0),
        ("interruptions/after-finish", 0),
    ],
)
def test_what_comes_back_is_what_the_reference_says_in_this_process(name: str, holds: int, live: bool) -> None:
    """Threads, packets, times and events; an interruption that happens for real leaves what one that is told leaves."""
    given = script(name)
    declares = {**ALL, "resume": False}  # its ids would be in the packets
    outcome, contract = served(given, ContractServer(declares=declares), live=live)
    expected = asyncio.run(Reference().serve(given))
    assert outcome.threads == expected.threads
    assert outcome.findings == ()
    streams = [[(p.event, p.at, p.data.replace(b": alive\n\n", b"")) for p in s] for s in outcome.streams]  # R35
    assert [[packet for packet in stream if packet[2]] for stream in streams] == [
        [(p.event, p.at, p.data) for p in s if p.data] for s in expected.streams
    ]
    assert contract.holds == (holds if live else 0)
    assert contract.threads == {}, "the thread is deleted"


def test_each_play_has_a_thread_of_its_own() -> None:
    """A server that keeps threads is not confused by a second run; the outcome has the id that was asked for."""
    given = script("tools/metadata")

    async def run() -> tuple[TargetOutput, TargetOutput, list[str]]:
        async with contract_server() as (raw, contract):
            target = HttpServer(raw.url, patience=CALM)
            try:
                one, two = await target.serve(given), await target.serve(given)
            finally:
                await target.close()
            return one, two, [path for method, path in contract.seen if method == "POST"]

    one, two, paths = bounded(run())
    assert one.threads == two.threads
    assert {t["thread_id"] for t in one.threads.values()} == {given.header.thread_id}
    assert len(set(paths)) == 2


def test_capabilities_are_fetched_once_and_connections_are_kept() -> None:
    """Few requests for each case, few connections for all."""

    async def run() -> tuple[int, int]:
        async with contract_server() as (raw, contract):
            target = HttpServer(raw.url, patience=CALM)
            try:
                assert target.capabilities.name == raw.url
                for _ in range(5):
                    await target.serve(script("tools/metadata"))
                assert target.capabilities.name == "by-hand"
            finally:
                await target.close()
            return sum(path == "/capabilities" for _, path in contract.seen), raw.connections

    assert bounded(run()) == (1, 2)


def test_user_turns_that_no_run_answers_are_recorded_too() -> None:
    """The last turn of a thread may be the user's."""
    given = script("tools/metadata")
    turn = UserTurn(at="2025-01-20T11:00:00Z", parts=({"part_kind": "user-prompt", "content": "Still there?"},))
    outcome, contract = served(replace(given, turns=(*given.turns, turn)))
    assert all(thread["turns"][-1]["parts"] == list(turn.parts) for thread in outcome.threads.values())
    assert any(path.endswith("/user-turns") for _, path in contract.seen)


def test_without_marks_each_read_is_a_packet_of_no_event() -> None:
    """Nothing is known of what belongs to an event, and nothing is played live."""
    outcome, contract = served(script("interruptions/mid-text"), ContractServer(declares={**ALL, "marks": False}))
    assert {p.event for p in outcome.streams[0]} == {None}
    assert contract.holds == 0
    assert outcome.findings == ()


def test_a_server_is_asked_only_for_what_it_declares() -> None:
    """What a capability does not declare is not asked for."""
    asked: list[dict[str, Any]] = []

    class Recording(ContractServer):
        async def run(self, name: str, asked_for: dict[str, Any], connection: Connection) -> None:
            asked.append(asked_for)
            await super().run(name, asked_for, connection)

    nothing = dict.fromkeys(("carriers", "marks", "cancel", "limits", "resume"), False)
    declares = {**ALL, **nothing, "disconnect": [], "versions": ["0.0.4"]}
    for name in ("interruptions/mid-text", "interruptions/between-steps", "interruptions/timeout-by-stall"):
        outcome, _ = served(script(name), Recording(declares=declares))
        assert [v.value for v in outcome.threads] == ["0.0.4"]
    assert all(not request["carriers"] and not request["marks"] for request in asked)
    assert not any({"hold", "limits", "on_disconnect"} & request.keys() for request in asked)
    assert all("interruption" in request["run"] for request in asked)


def test_what_is_sent_fits_the_contract() -> None:
    """The requests themselves, held against the published schema."""
    from tpharness.targets.forms import problems

    bodies: list[tuple[str, Any]] = []

    class Recording(ContractServer):
        async def run(self, name: str, asked: dict[str, Any], connection: Connection) -> None:
            bodies.append(("runRequest", asked))
            await super().run(name, asked, connection)

    for name in ("interruptions/every-turn-of-a-thread", "parts/control-characters", "tools/args-not-json"):
        served(script(name), Recording())
    assert len(bodies) >= 4
    assert [problems(kind, body) for kind, body in bodies] == [[]] * len(bodies)


# ---------------------------------------------------------------------------------------------------- addresses, tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("http://", "not the address"),
        ("ftp://127.0.0.1:1", "not the address of a server"),
        ("http://127.0.0.1:99999", "not an address"),
        ("http://127.0.0.1:1/?a=b", "must not have a query"),
        ("http://me:secret@127.0.0.1:1", "a name with a password"),
        ("http://k\u00e9y@127.0.0.1:1", "a header cannot carry"),
    ],
)
def test_what_is_no_address_is_refused_with_what_to_write(text: str, words: str) -> None:
    """Before anything is connected to; and no token is repeated."""
    with pytest.raises(UsageError, match=words) as raised:
        Endpoint.parse(text)
    assert "secret" not in str(raised.value)


def test_a_token_comes_from_the_address_or_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is the nearer one; neither is printed."""
    monkeypatch.setenv(TOKEN_VARIABLE, "from-the-environment")
    assert Endpoint.parse("http://h:1/base/").headers == {"Authorization": "Bearer from-the-environment"}
    near = Endpoint.parse("http://near@h:1/base/")
    assert near.headers == {"Authorization": "Bearer near"}
    assert str(near) == "http://h:1/base"


def test_a_server_that_wants_a_token_is_given_it() -> None:
    """On every request, runs included."""

    async def run(user: str) -> TargetOutput:
        async with contract_server(ContractServer(token="t-1")) as (raw, _):  # noqa: S106
            target = HttpServer(raw.url.replace("http://", f"http://{user}@"), patience=CALM)
            try:
                return await target.serve(script("tools/metadata"))
            finally:
                await target.close()

    assert bounded(run("t-1")).threads
    with pytest.raises(TargetError, match="401") as raised:
        bounded(run("wrong-token"))
    assert "wrong-token" not in f"{raised.value} {raised.value.hint}"


def test_a_spec_with_http_is_a_server_and_no_client() -> None:
    """A URL is resolved without asking anybody."""
    assert isinstance(resolve_server("http://127.0.0.1:9"), HttpServer)
    assert isinstance(resolve_server("https://127.0.0.1:9"), Remote)
    with pytest.raises(UsageError):
        resolve_server("http:")
    assert resolve_client("reference").capabilities.name == "reference"


# ---------------------------------------------------------------------------------------------------- limits and relays


def test_a_limit_is_the_callers() -> None:
    """A stream of a few bytes can be too long as well."""
    with pytest.raises(TargetError, match=r"stream-endless.*more than 100 bytes"):
        served(script("tools/metadata"), limits=StreamLimits(stream=100))
    with pytest.raises(TargetError, match="answers with more than 10 bytes"):
        served(script("tools/metadata"), limits=StreamLimits(body=10))


def relay_to(port: int, keep: Callable[[bytes], bytes], *, silent: bool = False) -> RawServer:
    """Pass one request on and `keep` of the answer what the fault leaves, then close or fall silent."""

    async def raw(connection: Connection) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = await connection.reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", head.lower())
        assert found is not None
        writer.write(head + await connection.reader.readexactly(int(found[1])))
        got = bytearray()
        while not got.endswith(b"0\r\n\r\n"):
            got += await reader.read(1 << 16)
        writer.close()
        await connection.send(keep(bytes(got)))
        if silent:
            await connection.reader.read(1)

    return RawServer(raw=raw)


@pytest.mark.parametrize(
    ("keep", "silent", "reason", "some"),
    [
        (lambda data: data, False, None, True),
        (lambda data: data[:-5], False, "network_failure", True),
        (lambda data: data[: len(data) // 2], False, "network_failure", True),
        (lambda data: data[:20], False, "network_failure", False),
        (lambda _: b"", False, "network_failure", False),
        (lambda data: data[: len(data) // 2], True, "timeout", True),
        (lambda data: data[:20], True, "timeout", False),
    ],
    ids=["whole", "no-last-chunk", "half", "half-a-head", "nothing", "silent", "silent-head"],
)
def test_what_a_relay_breaks_is_what_the_client_sees(
    keep: Callable[[bytes], bytes], silent: bool, reason: str | None, some: bool
) -> None:
    """Not an error: the server did its part, and its thread is fetched from where it is."""

    async def run() -> TargetOutput:
        async with contract_server() as (raw, _), relay_to(raw.port, keep, silent=silent) as relay:
            target = HttpServer(raw.url, patience=CALM)
            try:
                await target.open()
                return await target.via_relay(relay.port, silence=0.25 if silent else None).serve(
                    script("tools/metadata")
                )
            finally:
                await target.close()

    outcome = bounded(run())
    assert [end.reason for end in outcome.ends] == [reason]
    assert any(p.data for p in outcome.streams[0]) is some
    assert outcome.findings == ()
    assert all(t["turns"][-1]["turn_type"] == "agent" for t in outcome.threads.values())


@pytest.mark.parametrize("odd", ["even", "\ud800"])
@pytest.mark.parametrize("large", [2**53 + 1, 2**70 + 1, -(2**70) - 1])
def test_numbers_and_characters_survive_the_way(large: int, odd: str) -> None:
    """Integers are not rounded on the way here, lone surrogates are not refused there."""
    given = script("tools/metadata")
    user = UserTurn(
        at="2025-01-20T09:00:00Z",
        parts=({"part_kind": "user-prompt", "content": "x", "large": large, "odd": odd},),
    )
    outcome, _ = served(replace(given, turns=(user, *given.turns[1:])))
    part = next(iter(outcome.threads.values()))["turns"][0]["parts"][0]
    assert (part["large"], part["odd"]) == (large, odd)
    assert json.dumps(part)
