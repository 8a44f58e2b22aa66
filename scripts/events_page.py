"""Which server event gives which chunks and which part of the thread: plays the examples, and writes docs/EVENTS.md.

python scripts/events_page.py   # play the examples of scripts/events_page.yaml, and write the page
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpharness import fold
from tpharness.server_events import Recorder
from tpharness.suite_yaml import load_suite_yaml
from tpharness.wires.vsp.encode import to_wire
from tpharness.wires.vsp.server import Encoder

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "EVENTS.md"
TEMPLATE = ROOT / "scripts" / "events_page.md"
EXAMPLES = ROOT / "scripts" / "events_page.yaml"
USER = "Hi"
BEGAN = "2025-01-20T10:00:00Z"
_END = {"event_kind": "agent_run_result"}
_LEFT_OUT = ("agent_id", "timestamp")
_TURN_FACTS = ("completion_status", "interruption", "total_usage")
_PLAIN_TURN = {"completion_status": "complete"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """An example with what became of it: the chunks of each event, and the agent turns of both sides.

    `shown` counts the events that the page shows, which is all of them but for an end that goes without saying.
    """

    example: dict[str, Any]
    opening: list[dict[str, Any]]
    events: list[tuple[dict[str, Any], list[dict[str, Any]]]]
    closing: list[dict[str, Any]]
    shown: int
    server: dict[str, Any]
    client: dict[str, Any]

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The server's agent turns."""
        return _agent_turns(self.server)


def groups() -> list[dict[str, Any]]:
    """Return the groups of examples."""
    found: list[dict[str, Any]] = load_suite_yaml(EXAMPLES)
    return found


def play(example: dict[str, Any], *, carriers: bool | None = None) -> Played:
    """Play an example through the reference's encoder and both folds; `carriers` overrides what the example says."""
    carried = bool(example.get("carriers")) if carriers is None else carriers
    cut, shown = example.get("cut"), example["events"]
    ended = cut is not None or shown[-1]["event_kind"] == _END["event_kind"]
    events = shown if ended else [*shown, _END]
    recorder = Recorder()
    recorder.begin("assistant", BEGAN)
    encoder = Encoder(agent_id="assistant", carriers=carried, tool_name=recorder.tool_name)
    opening = list(map(to_wire, encoder.start(BEGAN, ({"part_kind": "user-prompt", "content": USER},))))
    sent = []
    for event in events:
        recorder.feed(event)
        sent.append((event, [to_wire(chunk) for chunk in encoder.feed(event)]))
    aborted = encoder.abort(cut["reason"], recorder.time) if cut is not None and cut["tell"] == "abort" else []
    closing = list(map(to_wire, aborted))
    chunks = [*opening, *(chunk for _, some in sent for chunk in some), *closing]
    reason = cut["reason"] if cut is not None else None
    return Played(
        example=example,
        opening=opening,
        events=sent,
        closing=closing,
        shown=len(shown),
        server=fold(USER, events, interrupted=reason, at=BEGAN).thread,
        client=fold(USER, chunks, at=BEGAN).thread,
    )


def render() -> str:
    """Return the page."""
    played = [(group["group"], [play(example) for example in group["examples"]]) for group in groups()]
    places = {
        "table": "\n\n".join(f"### {name}\n\n{_overview(some)}" for name, some in played),
        "examples": "\n\n".join(
            f"## Examples: {name[0].lower()}{name[1:]}\n\n" + "\n\n".join(map(_section, some)) for name, some in played
        ),
    }
    page = TEMPLATE.read_text("utf-8")
    for name, text in places.items():
        page = page.replace(f"{{{name}}}", text)
    return page


def anchor(title: str) -> str:
    """Return the anchor of a heading; titles have letters, spaces and hyphens alone."""
    return title.lower().replace(" ", "-")


# ------------------------------------------------------------------------------------------------ inside


def _overview(some: list[Played]) -> str:
    rows = [["example", "events", "chunks", "in the thread", "decided by"]]
    rows.append(["---"] * len(rows[0]))
    for played in some:
        title = played.example["title"]
        shown = played.events[: played.shown]
        chunks = [chunk["type"] for _, sent in shown for chunk in sent] + [chunk["type"] for chunk in played.closing]
        rows.append(
            [
                f"[{title}](#{anchor(title)})",
                _names(_event_names(event) for event, _ in shown),
                _names(chunks),
                _names(name for turn in played.turns for name in _thread_names(turn)),
                ", ".join(played.example["decides"]),
            ]
        )
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _names(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names)) or "nothing"


def _event_names(event: dict[str, Any]) -> str:
    if event["event_kind"] in ("part_start", "part_end"):
        return f"{event['event_kind']} {event['part']['part_kind']}"
    if event["event_kind"] == "part_delta":
        return f"part_delta {event['delta']['part_delta_kind']}"
    return str(event["event_kind"])


def _thread_names(turn: dict[str, Any]) -> Iterator[str]:
    for message in turn.get("messages", ()):
        if message["message_type"] == "system":
            yield message["event_type"]
        for part in message.get("parts", ()):
            yield part["part_kind"]
    yield from (name for name in ("interruption", "total_usage") if name in turn)


def _section(played: Played) -> str:
    example = played.example
    lines = [f"### {example['title']}", "", f"{example['says'].strip()} ({', '.join(example['decides'])})", "", "```"]
    if example.get("full") or example.get("carriers"):
        lines += _labelled("chunk", played.opening)
    for event, sent in played.events[: played.shown]:
        lines += _labelled("event", [event]) + _labelled("chunk", sent)
    if "cut" in example:
        lines.append(f"cut     {_json(example['cut'])}")
    lines += _labelled("chunk", played.closing)
    full = bool(example.get("full"))
    lines += [f"thread  {line}" for line in _thread_lines(played.turns, full)]
    if _known(played.client, full) != _known(played.server, full):
        lines += [f"client  {line}" for line in _thread_lines(_agent_turns(played.client), full)]
    return "\n".join([*lines, "```"])


def _labelled(label: str, objects: list[dict[str, Any]]) -> list[str]:
    return [f"{label:<8}{_json(one)}" for one in objects]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _agent_turns(thread: dict[str, Any]) -> list[dict[str, Any]]:
    return [turn for turn in thread["turns"] if turn["turn_type"] == "agent"]


def _thread_lines(turns: list[dict[str, Any]], full: bool) -> list[str]:
    """Return the messages of turns, a line each, and before them what a turn itself says if that is worth a line."""
    if full:
        return [_json(turn) for turn in turns]
    lines = []
    for turn in turns:
        facts = {name: turn[name] for name in _TURN_FACTS if name in turn}
        if len(turns) > 1:
            facts = {"agent_id": turn["agent_id"], **facts}
        if facts != _PLAIN_TURN or not turn["messages"]:
            lines.append(_json(facts))
        lines += [
            _json({name: value for name, value in message.items() if name not in _LEFT_OUT})
            for message in turn["messages"]
        ]
    return lines or ["no agent turn"]


def _known(thread: dict[str, Any], full: bool) -> list[Any]:
    """Return what the page shows of a thread, whatever order its fields are in."""
    return [json.loads(line) if line.startswith("{") else line for line in _thread_lines(_agent_turns(thread), full)]


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
