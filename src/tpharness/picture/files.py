"""A file that somebody sent → its timeline: a scenario, a recorded stream, server events, a thread or a log of one.

In: the name of a file and its bytes. Out: a timeline. InputError if the file cannot be read as what its name says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tpharness.checking import check_data
from tpharness.dialects import ThreadHeader, make_registry
from tpharness.document_files import parse_log, read_event, sort_of
from tpharness.errors import InputError
from tpharness.facts import later_time
from tpharness.findings import Finding, shorten
from tpharness.journal import Interrupted
from tpharness.picture.rows import Film, Play, finding_json, play_film
from tpharness.picture.timeline import as_timeline, timeline_of_case
from tpharness.protocol.parse import parse_json, unreadable
from tpharness.protocol.reading import check_as_read
from tpharness.protocol.versions import Version, newest_version
from tpharness.run.plan import Case, base_case, cut_case, cut_places
from tpharness.scenario import load_scenario
from tpharness.server_events import shift
from tpharness.server_events.guide import GuideReader
from tpharness.targets.contract import Packet, RunScript, Script, Stream, StreamEnd
from tpharness.targets.reference import ReferenceClient, ReferenceServer, serve_run
from tpharness.wires.registry import DEFAULT_WIRE, name_wire

__all__ = ["case_of_file", "is_scenario", "timeline_of_file"]

_BEGUN = "1970-01-01T00:00:00Z"
_ENDING = ("agent_run_result", "completion")  # compared, as a kind may be any JSON value


def is_scenario(name: str) -> bool:
    """Whether a file of this name is a scenario."""
    return Path(name).suffix in (".yaml", ".yml")


def case_of_file(name: str, *, version: Version | None = None, place: str = "") -> Case:
    """Return a scenario as a case, cut at a place of its sweep, such as `event-12`, if one is named.

    InputError for another version than its own, and for a place that it does not have.
    """
    path = Path(name)
    scenario = load_scenario(path, root=path.absolute().parent.parent)
    if version is not None and version not in scenario.versions:
        raise InputError(
            f"{name} is not for version {version.value}",
            hint=f"it is for {', '.join(one.value for one in scenario.versions)}",
        )
    case = base_case(scenario)
    if not place:
        return case
    places = {one.id.partition("@")[2]: one for one in cut_places(scenario)}
    if place not in places:
        known = f"it has {next(iter(places))} to {list(places)[-1]}" if places else "it is not swept after its events"
        raise InputError(f"{name} does not have the place {shorten(place)}", hint=known)
    return cut_case(case, places[place])


def timeline_of_file(
    name: str, data: bytes, *, version: Version | None = None, reason: str | None = None, place: str = ""
) -> dict[str, Any]:
    """Return the timeline of a file: a scenario (.yaml), or what `sort_of` says."""
    if is_scenario(name):
        return timeline_of_case(case_of_file(name, version=version, place=place), version=version, reason=reason)
    match sort_of(name, data):
        case "stream":
            return _stream(name, data, version or newest_version(), reason or "network_failure")
        case "events":
            return _events(name, data, version or newest_version(), reason or "network_failure")
        case "log":
            return _log(name, data)
        case _:
            return _thread(name, data)


def _stream(name: str, data: bytes, version: Version, reason: str) -> dict[str, Any]:
    first = Stream(
        agent_id="assistant",
        begun_at=_BEGUN,
        packets=(Packet(data=data, at=_BEGUN),),
        end=StreamEnd(reason=None, at=_BEGUN),
    )
    run = RunScript(agent_id="assistant", started_at=_BEGUN, events=())
    wire = name_wire(data)
    client = ReferenceClient(_script(name, run, version, {}, wire))
    client.begin("assistant", _BEGUN)
    client.feed(data, _BEGUN)
    end = later_time(_BEGUN, client.time)
    client.close(StreamEnd(reason=None, at=end))
    registry = make_registry(client.journal(), created_at=_BEGUN)
    streams = (
        Stream(agent_id="assistant", begun_at=_BEGUN, packets=first.packets, end=StreamEnd(reason=None, at=end)),
    )
    film = Film(
        script=_script(name, run, version, registry, wire),
        streams=lambda _: streams,
        served=False,
        given=frozenset((0,)),
        reason=reason,
    )
    play = play_film(film, version)
    _add_found(play, check_data(data, name))
    return as_timeline(name, play, title="A recorded stream", reason=reason)


def _add_found(play: Play, findings: Sequence[Finding]) -> None:
    """Add what only the whole stream shows to the row of its event, or to the last row; what a row has stays once."""
    seen = Counter(one["code"] for row in play.rows for one in row.get("found", ()))
    events = [row for row in play.rows if "data:" in row.get("frame", "")]
    for finding in findings:
        if seen[finding.code] > 0:
            seen[finding.code] -= 1
            continue
        at = finding.place.event
        row = events[at] if at is not None and at < len(events) else play.rows[-1]
        row.setdefault("found", []).append(finding_json(finding.with_place(file=None), "client"))


def _events(name: str, data: bytes, version: Version, reason: str) -> dict[str, Any]:
    guide = GuideReader()
    events: list[dict[str, Any]] = []
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            events += guide.feed(_line(line, name, number))
    times = [event["at"] for event in events if "at" in event] or [_BEGUN]
    begun = times[0]
    ended = any(event.get("event_kind") in _ENDING for event in events)
    cut = None if ended else Interrupted(reason=reason, at=times[-1])
    run = RunScript(agent_id="assistant", started_at=begun, events=tuple(events), interruption=cut)
    session = ReferenceServer(_script(name, run, version, {}))
    for _ in serve_run(session, run):
        pass
    script = _script(name, run, version, make_registry(session.journal(), created_at=begun))

    def streams(packets: Any) -> tuple[Stream]:
        sent = tuple(packets[0])
        end = StreamEnd(reason=None if cut is None else cut.reason, at=sent[-1].at)
        return (Stream(agent_id="assistant", begun_at=begun, packets=sent, end=end),)

    film = Film(script=script, streams=streams, reason=reason)
    return as_timeline(name, play_film(film, version), title="Recorded server events", reason=reason)


def _script(
    name: str,
    run: RunScript,
    version: Version,
    agents: Mapping[str, Mapping[str, Any]],
    wire: str = DEFAULT_WIRE,
) -> Script:
    header = ThreadHeader(thread_id=f"view:{Path(name).name}", created_at=run.started_at, agents=agents)
    return Script(header=header, turns=(run,), versions=(version,), wire=wire)


def _line(line: bytes, name: str, number: int) -> dict[str, Any]:
    """Return a server event with a time that a cut can be a moment after, or without any. InputError for another."""
    hint = f"one server event on each line; `tpharness check {name}` says what is wrong with each"
    event = read_event(line, name, number, hint=hint)
    if not isinstance(event, dict):
        raise InputError(f"{name}:{number}: not a JSON object: {shorten(line.decode('utf-8', 'replace'))}", hint=hint)
    try:
        if "at" in event:
            shift(event["at"], 0.001)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}:{number}: `at` is not a time: {error}", hint=hint) from error
    return event


def _thread(name: str, data: bytes) -> dict[str, Any]:
    parsed = parse_json(data, file=name)
    if not parsed.ok:
        named = name.endswith(".json")
        raise unreadable(parsed, hint="" if named else "name streams .sse, server events .jsonl, scenarios .yaml")
    thread = parsed.value
    if not isinstance(thread, dict) or not isinstance(thread.get("turns"), list):
        raise InputError(
            f"{name} is not a thread: it has no list of turns", hint="`tpharness check` says what it lacks"
        )
    return _thread_timeline(name, thread, [*parsed.findings, *check_as_read(thread, observations=True)], "A thread")


def _log(name: str, data: bytes) -> dict[str, Any]:
    """Return the timeline of the thread that is made of a log, with what is wrong with the log."""
    if find_spec("tpharness.histories") is None:
        raise InputError(
            f"{name} is a thread log, which needs the package tpharness.histories", hint="install it whole"
        )
    value = parse_log(data, file=name)[0].value
    room: Any = import_module("tpharness.histories.conversations")
    imported = room.import_messages(value, format="thread-log")
    found = check_data(data, name)
    return _thread_timeline(name, imported.thread, found, "A thread log, as the thread that is made of it")


def _thread_timeline(name: str, thread: dict[str, Any], findings: Sequence[Finding], title: str) -> dict[str, Any]:
    play = Play(version=next((one for one in Version if one.value == thread.get("version")), newest_version()))
    found = [finding_json(finding) for finding in findings]
    number = play.tables.thread(thread, "server")
    play.rows.append({"kind": "thread", "turn": 0, "at": "", "server": number, "found": found})
    return as_timeline(name, play, title=title)
