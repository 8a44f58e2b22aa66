"""`Scenario` → YAML text that loads to an equal scenario.

In: a scenario, or the scenario of a case of a sweep. Out: YAML in the long form, with every time. Values that YAML
cannot represent (lone surrogates, bytes that are not UTF-8) are written as JSON or base64 text.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tpharness.errors import UsageError
from tpharness.output import write_atomically
from tpharness.readings import Readings
from tpharness.scenario.eventlog import RESERVED_LABELS
from tpharness.scenario.records import (
    AgentRun,
    Compare,
    CutPlan,
    CutSide,
    Expectation,
    GivenStream,
    Interrupt,
    Scenario,
    Turn,
    UserInput,
)
from tpharness.scenario.yaml_nodes import FLOAT, INT, MAX_DEPTH
from tpharness.server_events.shapes import EVENT

__all__ = ["dump", "write"]

_WIDTH = 110
_SHORT = 100
_SURROGATE = re.compile("[\ud800-\udfff]")
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def dump(scenario: Scenario) -> str:
    """Return the scenario as YAML, which loads to an equal scenario if it is given the same id.

    UsageError for what could not be loaded again: a lone surrogate in a text outside the streams, a number that is not
    finite, more than MAX_DEPTH levels.
    """
    document = _document(scenario)
    if not _fits_yaml(document):
        raise UsageError(
            f"scenario {scenario.id} holds values that a scenario file cannot represent",
            hint=f"these are lone surrogates, NaN and infinity, and more than {MAX_DEPTH} levels of lists and maps",
        )
    text: str = yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False
    )
    return text


def write(scenario: Scenario, path: Path) -> None:
    """Write the scenario to a file (`write_atomically`). InputError if the file cannot be written."""
    write_atomically(str(path), dump(scenario))


# ------------------------------------------------------------------ scenario → plain data


def _document(scenario: Scenario) -> dict[str, Any]:
    document: dict[str, Any] = {"description": scenario.description, "clauses": list(scenario.clauses)}
    for key in ("rulings", "tags"):
        if getattr(scenario, key):
            document[key] = list(getattr(scenario, key))
    document["versions"] = [str(version.value) for version in scenario.versions]
    if scenario.compare is not (Compare.EXACT if scenario.carriers else Compare.CONTENT):
        document["compare"] = str(scenario.compare.value)
    if not scenario.carriers:
        document["carriers"] = False
    document["clock"] = {"start": scenario.clock.start, "tick": _number(scenario.clock.tick)}
    document["thread_id"] = scenario.thread_id
    document["agents"] = {key: {"provider_name": None, **config} for key, config in scenario.agents.items()}
    if scenario.readings != Readings():
        document["readings"] = scenario.readings.as_json()
    if scenario.recorded is not None:
        recorded = scenario.recorded
        document["recorded"] = {"implementation": recorded.implementation, "version": recorded.version}
        if recorded.note:
            document["recorded"]["note"] = recorded.note
        if recorded.threads:
            threads = {str(version.value): _plain(thread) for version, thread in recorded.threads.items()}
            document["recorded"]["threads"] = threads
    document["turns"] = [_turn(turn) for turn in scenario.turns]
    if scenario.cut is not None:
        document["cut"] = _cut(scenario.cut)
    expect = _expect(scenario.expect)
    if expect:
        document["expect"] = expect
    return document


def _turn(turn: Turn) -> dict[str, Any]:
    if isinstance(turn, UserInput):
        document: dict[str, Any] = {"user": {"parts": _plain(turn.parts)}, "submitted_at": turn.submitted_at}
        if turn.client_metadata is not None:
            document["client_metadata"] = _plain(turn.client_metadata)
        return document
    return _run(turn)


def _run(run: AgentRun) -> dict[str, Any]:
    document: dict[str, Any] = {"agent": run.agent_id, "started_at": run.started_at}
    if run.message_id is not None:
        document["message_id"] = run.message_id
    if run.events is not None:
        events = [_plain(event) for event in run.events]
        if _fits_inline(run.events):
            document["server"] = _attach_labels(events, run.labels)
        else:
            document["server"] = {"jsonl": _jsonl(events)}
    if run.wire is not None:
        document["client"] = _wire(run.wire)
    if run.library_messages is not None:
        messages = _plain(run.library_messages)
        document["history"] = messages if _fits_yaml(messages) else {"json": json.dumps(messages)}
    if run.interrupt is not None:
        document["interrupt"] = _interrupt(run.interrupt)
    return document


def _fits_inline(events: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the events can be written in the YAML itself, where the loader checks them."""
    return _fits_yaml(_plain(events)) and all(not _needs_jsonl(event) for event in events)


def _needs_jsonl(event: Mapping[str, Any]) -> bool:
    kind = event.get("event_kind")
    known = isinstance(kind, str) and kind in EVENT.records
    return not known or "label" in event or "_t_ms" in event or bool(EVENT.mismatches(event))


def _attach_labels(events: list[dict[str, Any]], labels: Mapping[str, int]) -> list[dict[str, Any]]:
    for name, count in labels.items():
        if name not in RESERVED_LABELS:
            events[count - 1].setdefault("label", []).append(name)
    for event in events:
        if "label" in event and len(event["label"]) == 1:
            event["label"] = event["label"][0]
    return events


def _wire(wire: GivenStream) -> Any:
    if wire.chunks is not None:
        chunks = [_plain(chunk) for chunk in wire.chunks]
        return chunks if _fits_yaml(chunks) else {"jsonl": _jsonl(chunks)}
    data = wire.data or b""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
    return {"sse": text}


def _interrupt(interrupt: Interrupt) -> dict[str, Any]:
    document: dict[str, Any] = {"reason": interrupt.reason, "at": interrupt.at, "wire": str(interrupt.wire.value)}
    if interrupt.server_after is not None:
        document["after"] = {"event": interrupt.server_after}
    client: dict[str, Any] = {}
    if interrupt.client_after is not None:
        client["after"] = {str(interrupt.client_after.unit.value): interrupt.client_after.count}
    if interrupt.client_reason is not None:
        client["reason"] = interrupt.client_reason
    if client:
        document["client"] = client
    return document


def _cut(plan: CutPlan) -> dict[str, Any]:
    document: dict[str, Any] = {"at": str(plan.at.value), "reasons": list(plan.reasons)}
    if plan.turn is not None:
        document["turn"] = plan.turn
    if plan.side is not CutSide.BOTH:
        document["side"] = str(plan.side.value)
    return document


def _expect(expect: Expectation) -> dict[str, Any]:
    document: dict[str, Any] = {}
    if expect.findings is not None:
        document["findings"] = list(expect.findings)
    if expect.outline:
        document["outline"] = {str(version.value): list(lines) for version, lines in expect.outline.items()}
    if expect.thread:
        document["thread"] = {str(version.value): _plain(subset) for version, subset in expect.thread.items()}
    return document


# ------------------------------------------------------------------ plain data → YAML


def _plain(value: Any) -> Any:
    """Copy JSON data, so that nothing is shared: shared nodes would be written as anchors."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _jsonl(values: Sequence[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def _number(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _fits_yaml(value: Any, depth: int = 0) -> bool:
    if isinstance(value, str):
        return value.isascii() or not _SURROGATE.search(value)
    if isinstance(value, float):
        return value - value == 0
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, list):
        return depth < MAX_DEPTH and all(_fits_yaml(item, depth + 1) for item in value)
    return True


class _Dumper(_DUMPER):  # type: ignore[misc]  # the C dumper if there is one
    """Quotes the strings that `locate`, or a reader of YAML 1.1, would read as something else."""

    # YAML 1.1 words (`yes`, dates) are quoted too: other readers of the file may know nothing newer.
    yaml_implicit_resolvers: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {  # noqa: RUF012  # PyYAML's own shape
        **yaml.SafeDumper.yaml_implicit_resolvers,
        None: [("tag:yaml.org,2002:int", INT), ("tag:yaml.org,2002:float", FLOAT)],
    }

    def ignore_aliases(self, data: Any) -> bool:
        """Write everything out: the loader bounds what aliases may expand to."""
        del data
        return True


def _represent_float(dumper: Any, value: float) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:float", json.dumps(value))


def _represent_text(dumper: Any, value: str) -> Any:
    style = "|" if "\n" in value and _BLOCK.fullmatch(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _represent_map(dumper: Any, value: dict[str, Any]) -> Any:
    small = all(not isinstance(item, dict | list) or not item for item in value.values())
    flow = small and sum(len(str(k)) + len(str(v)) + 4 for k, v in value.items()) <= _SHORT
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=flow)


_BLOCK = re.compile(r"(?! )[ -~\n]*[!-~]\n", re.DOTALL)
"""Texts that a YAML block scalar preserves."""

_Dumper.add_representer(float, _represent_float)
_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(dict, _represent_map)
