"""Scenario files → `Scenario`.

In: a YAML file in the language of `docs/SCENARIOS.md`. Out: a `Scenario` in the long form, or a `ScenarioError` with
every problem found, each with file, line and column. Nothing here plays a scenario or derives its threads.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from tpharness.clauses import load_clauses, load_rulings
from tpharness.errors import InputError, ScenarioError
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.scenario.expectations import read_expectation
from tpharness.scenario.fields import Fields, describe_node
from tpharness.scenario.interrupts import check_reason
from tpharness.scenario.position import Position
from tpharness.scenario.problems import (
    BAD_VALUE,
    CONTRADICTION,
    CUT_OUTSIDE,
    NOT_YAML,
    TOO_LARGE,
    UNKNOWN_CLAUSE,
    UNKNOWN_RULING,
    Problems,
    suggest_name,
)
from tpharness.scenario.records import AgentRun, Clock, Compare, CutAt, CutPlan, CutSide, Recorded, Scenario, Turn
from tpharness.scenario.script_clock import ScriptClock
from tpharness.scenario.sources import EventSources
from tpharness.scenario.turns import read_turns
from tpharness.scenario.yaml_nodes import MAX_BYTES, MapNode, read_yaml
from tpharness.scenario_files import read_regular, scenario_id

__all__ = ["AGENT_KEYS", "TOP_KEYS", "load_scenario", "load_text"]

MAX_DESCRIPTION = 200
TOP_KEYS = (
    "description",
    "clauses",
    "rulings",
    "tags",
    "versions",
    "compare",
    "carriers",
    "clock",
    "thread_id",
    "agents",
    "readings",
    "turns",
    "cut",
    "expect",
    "recorded",
)
AGENT_KEYS = ("agent_id", "agent_name", "model_name", "provider_name", "created_at", "config_ref")
_TAG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")


def load_scenario(
    path: Path | str,
    *,
    root: Path | str | None = None,
    clauses: Collection[str] | None = None,
    rulings: Collection[str] | None = None,
) -> Scenario:
    """Load one file. Its id is its path below `root`.

    ScenarioError with all findings; InputError if the file cannot be read.
    """
    file = Path(path)
    try:
        size, data = read_regular(file, MAX_BYTES)
    except OSError as error:
        hint = "check the path" + ("; tpharness.play takes ids" if isinstance(error, FileNotFoundError) else "")
        raise InputError(f"cannot read the scenario {file}: {error.strerror}", hint=hint) from error
    ident = scenario_id(file, root)
    if size > MAX_BYTES:
        problems = Problems(str(file))
        problems.add(TOO_LARGE, None, "the file is too large", got=f"{size} bytes", expected=f"≤ {MAX_BYTES} bytes")
        raise _error(problems, ident)
    return _load(data, ident, file.parent, file, clauses, rulings)


def load_text(
    text: str | bytes,
    *,
    id: str,  # noqa: A002  # as in `Scenario.id`
    base_dir: Path | str | None = None,
    clauses: Collection[str] | None = None,
    rulings: Collection[str] | None = None,
) -> Scenario:
    """Load a scenario from text; `base_dir` has the files that it names. ScenarioError with all findings.

    `clauses` and `rulings` are the ids that may be cited, by default those of the conformance suite.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return _load(data, id, None if base_dir is None else Path(base_dir), None, clauses, rulings)


def _error(problems: Problems, ident: str) -> ScenarioError:
    findings = problems.sorted_findings()
    count = len(findings)
    more = f" (and {count - 1} more)" if count > 1 else ""
    where = str(findings[0].place) or ident
    hint = "tpharness docs SCENARIOS describes the language"
    return ScenarioError(f"{where}: {findings[0].message}{more}", findings=findings, hint=hint)


def _load(
    data: bytes,
    ident: str,
    folder: Path | None,
    path: Path | None,
    clauses: Collection[str] | None,
    rulings: Collection[str] | None,
) -> Scenario:
    problems = Problems(str(path) if path is not None else None)
    root = read_yaml(data, problems)
    expected = "a map with description, clauses and turns"
    if root is None and not problems.findings:
        problems.add(NOT_YAML, Position(1, 1), "the file is empty", expected=expected)
    elif root is not None and not isinstance(root, MapNode):
        problems.add(NOT_YAML, root.position, "a scenario is a map", got=describe_node(root), expected=expected)
    if not isinstance(root, MapNode):
        raise _error(problems, ident)
    fields = Fields(root, problems, "", TOP_KEYS)
    cited = _citations(
        fields,
        load_clauses() if clauses is None else clauses,
        load_rulings() if rulings is None else rulings,
    )
    clock = _clock(fields)
    agents = _agents(fields, clock)
    carriers = fields.flag("carriers") is not False
    sources = EventSources(problems=problems, folder=folder)
    script_clock = ScriptClock(clock.start, clock.tick)
    try:
        turns = read_turns(
            fields.items("turns", required=True, least=1),
            problems,
            sources,
            agents=agents,
            script_clock=script_clock,
            carriers=carriers,
        )
    except OverflowError:
        turns = ()
        problems.add(
            BAD_VALUE, fields.value_position("clock"), "the clock runs beyond the year 9999", got=script_clock.now
        )
    versions = _versions(fields)
    scenario = Scenario(
        id=ident,
        path=path,
        description=_description(fields),
        clauses=cited[0],
        rulings=cited[1],
        tags=_tags(fields),
        versions=versions,
        compare=_compare(fields, carriers=carriers),
        carriers=carriers,
        clock=clock,
        thread_id=fields.text("thread_id") or str(uuid5(NAMESPACE_URL, f"tpharness:{ident}")),
        created_at=clock.start,
        agents=agents,
        readings=_readings(fields),
        turns=turns,
        cut=_cut(fields, turns),
        expect=read_expectation(fields, versions),
        recorded=_recorded(fields),
    )
    if problems.findings:
        raise _error(problems, ident)
    return scenario


# ------------------------------------------------------------------ one function for each key


def _description(fields: Fields) -> str:
    text = fields.text("description", required=True) or ""
    if len(text) > MAX_DESCRIPTION or "\n" in text.strip("\n"):
        fields.report_bad("description", f"one line of at most {MAX_DESCRIPTION} characters", f", it has {len(text)}")
    return text.strip()


def _citations(
    fields: Fields, clauses: Collection[str], rulings: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    cited = fields.texts("clauses", required=True, least=1)
    for name, position in cited:
        if name not in clauses:
            near = suggest_name(name, clauses)
            fields.problems.add(UNKNOWN_CLAUSE, position, f"no clause {name!r}{near}", got=name)
    ruled = fields.texts("rulings")
    for name, position in ruled:
        if name not in rulings:
            near = suggest_name(name, rulings)
            fields.problems.add(UNKNOWN_RULING, position, f"no ruling {name!r}{near}", got=name)
    return tuple(name for name, _ in cited), tuple(name for name, _ in ruled)


def _tags(fields: Fields) -> tuple[str, ...]:
    tags = fields.texts("tags")
    for name, position in tags:
        if not _TAG.match(name):
            fields.problems.add(BAD_VALUE, position, "a tag is lower-case words joined by -", got=name)
    return tuple(name for name, _ in tags)


def _versions(fields: Fields) -> tuple[Version, ...]:
    known = {str(version.value): version for version in Version}
    if "versions" not in fields:
        return tuple(Version)
    named = fields.texts("versions", least=1)
    for name, position in named:
        if name not in known:
            near = suggest_name(name, known)
            message = f"there is no version {name!r}{near}"
            fields.problems.add(BAD_VALUE, position, message, got=name, expected=", ".join(known))
    wanted = {name for name, _ in named}
    return tuple(version for name, version in known.items() if name in wanted)


def _compare(fields: Fields, *, carriers: bool) -> Compare:
    compare = fields.choice("compare", Compare)
    if compare is Compare.EXACT and not carriers:
        message = "compare: exact needs carriers, without them the stream lacks some facts (R39)"
        fields.problems.add(CONTRADICTION, fields.value_position("compare"), message)
    return compare or (Compare.EXACT if carriers else Compare.CONTENT)


def _clock(fields: Fields) -> Clock:
    node = fields.node("clock")
    if node is None:
        return Clock()
    clock = Fields(node, fields.problems, "clock", ("start", "tick"))
    start, tick = clock.time("start"), clock.seconds("tick")
    return Clock(start=start or Clock().start, tick=Clock().tick if tick is None else tick)


def _agents(fields: Fields, clock: Clock) -> Mapping[str, Mapping[str, Any]]:
    node = fields.node("agents")
    configs: dict[str, Mapping[str, Any]] = {}
    if isinstance(node, MapNode) and node.items:
        for agent_id, item in node.items.items():
            config = Fields(item, fields.problems, f"agents.{agent_id}", AGENT_KEYS)
            nameless = "provider_name" in config and config.any("provider_name") is None
            keys = [key for key in AGENT_KEYS if key != "provider_name" or not nameless]
            given = {key: text for key in keys if (text := config.text(key)) is not None}
            if given.get("agent_id", agent_id) != agent_id:
                message = f"agents.{agent_id}.agent_id is not its key"
                fields.problems.add(CONTRADICTION, config.value_position("agent_id"), message, got=given["agent_id"])
            configs[agent_id] = {key: text for key, text in {**_agent(agent_id, clock), **given}.items() if key in keys}
    elif node is not None:
        fields.report_bad("agents", "a map from agent id to its configuration")
    return configs or {"assistant": _agent("assistant", clock)}


def _agent(agent_id: str, clock: Clock) -> dict[str, Any]:
    return {
        "agent_id": agent_id,
        "agent_name": re.sub(r"[-_]+", " ", agent_id).title(),
        "model_name": "test-model",
        "provider_name": "test",
        "created_at": clock.start,
    }


def _readings(fields: Fields) -> Readings:
    chosen = fields.any("readings", {})
    if not isinstance(chosen, dict) or not all(isinstance(value, str) for value in chosen.values()):
        fields.report_bad("readings", "a map from ruling to reading, such as {R20: complete-parts}")
        return Readings()
    try:
        return Readings.parse(chosen)
    except ValueError as error:
        fields.problems.add(BAD_VALUE, fields.value_position("readings"), f"readings: {error}")
        return Readings()


def _cut(fields: Fields, turns: tuple[Turn, ...]) -> CutPlan | None:
    node = fields.node("cut")
    if node is None:
        return None
    plan = fields
    reasons: tuple[str, ...] = ()
    turn: int | None = None
    side: CutSide | None = None
    if isinstance(node, MapNode):
        plan = Fields(node, fields.problems, "cut", ("at", "reasons", "turn", "side"))
        at = plan.choice("at", CutAt)
        if "at" not in plan:
            plan.report_missing("at")
        for reason, position in plan.texts("reasons", least=1):
            check_reason(plan, "reasons", reason)
            reasons = (*reasons, reason)
            if ":" in reason or "@" in reason:
                plan.problems.add(
                    BAD_VALUE,
                    position,
                    "a reason of a sweep becomes part of ids, so it may not contain : or @",
                    got=reason,
                )
        turn, side = plan.count("turn"), plan.choice("side", CutSide)
    else:
        at = fields.choice("cut", CutAt)
    if at is None:
        return None
    _check_cut(plan, "turn" if turn is not None else ("at" if plan is not fields else "cut"), turns, turn, at)
    return CutPlan(at=at, reasons=reasons or CutPlan(at=at).reasons, turn=turn, side=side or CutSide.BOTH)


def _check_cut(fields: Fields, key: str, turns: tuple[Turn, ...], turn: int | None, at: CutAt) -> None:
    runs = {index: run for index, run in enumerate(turns) if isinstance(run, AgentRun)}
    if turn is not None and turn not in runs:
        message = f"cut.turn {turn} is not an agent run; turns count from 0"
        expected = ", ".join(map(str, runs))
        fields.problems.add(CUT_OUTSIDE, fields.value_position(key), message, got=turn, expected=expected)
        return
    swept = runs if turn is None else {turn: runs[turn]}
    for index, run in swept.items():
        if run.interrupt is not None:
            message = f"turns[{index}] has an interruption of its own and cannot be swept"
            fields.problems.add(
                CONTRADICTION, fields.value_position(key), message, expected="cut.turn names another run"
            )
        if at is CutAt.EVERY_EVENT and run.events is None:
            message = f"turns[{index}] has no server events to cut after"
            fields.problems.add(CONTRADICTION, fields.value_position(key), message, expected=CutAt.EVERY_BYTE.value)


def _recorded(fields: Fields) -> Recorded | None:
    node = fields.node("recorded")
    if node is None:
        return None
    recorded = Fields(node, fields.problems, "recorded", ("implementation", "version", "note", "threads"))
    return Recorded(
        implementation=recorded.text("implementation", required=True) or "",
        version=recorded.text("version", required=True) or "",
        note=recorded.text("note", empty=True) or "",
        threads=_recorded_threads(recorded),
    )


def _recorded_threads(recorded: Fields) -> dict[Version, Any]:
    held = recorded.any("threads", {})
    known = {str(version.value): version for version in Version}
    if isinstance(held, dict) and all(key in known and isinstance(held[key], dict) for key in held):
        return {known[key]: thread for key, thread in held.items()}
    recorded.report_bad("threads", f"a map from version ({', '.join(known)}) to thread")
    return {}
