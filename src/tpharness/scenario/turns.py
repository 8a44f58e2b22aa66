"""The `turns` of a scenario file → user turns and agent runs in the long form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.scenario.eventlog import EventLog, LoggedCall
from tpharness.scenario.expand_parts import user_content
from tpharness.scenario.expand_steps import expand_steps
from tpharness.scenario.fields import Fields, describe_node
from tpharness.scenario.interrupts import INTERRUPT_KEYS, ExpandedRun, read_interrupt
from tpharness.scenario.longform import add_event_nodes, add_events
from tpharness.scenario.problems import BAD_VALUE, CONTRADICTION, MISSING_KEY, UNKNOWN_AGENT, Problems, suggest_name
from tpharness.scenario.records import AgentRun, Interrupt, Turn, UserInput
from tpharness.scenario.script_clock import ScriptClock
from tpharness.scenario.sources import EventSources
from tpharness.scenario.yaml_nodes import ListNode, MapNode, Node, ScalarNode

__all__ = ["RUN_KEYS", "USER_KEYS", "read_turns"]

USER_KEYS = ("user", "submitted_at", "client_metadata")
RUN_KEYS = (
    "agent",
    "message_id",
    "started_at",
    "steps",
    "finish",
    "server",
    "client",
    "history",
    "interrupt",
)


def read_turns(
    nodes: list[Node],
    problems: Problems,
    sources: EventSources,
    *,
    agents: Mapping[str, Mapping[str, Any]],
    script_clock: ScriptClock,
    carriers: bool,
) -> tuple[Turn, ...]:
    """Return the turns. The clock runs on from each turn to the next."""
    reader = _Turns(problems, sources, agents, script_clock, carriers)
    return tuple(reader.read(node, f"turns[{number}]") for number, node in enumerate(nodes))


class _Turns:
    """Reads turns in order, since a turn depends on the user input and the calls of earlier ones."""

    def __init__(
        self,
        problems: Problems,
        sources: EventSources,
        agents: Mapping[str, Mapping[str, Any]],
        script_clock: ScriptClock,
        carriers: bool,
    ) -> None:
        self._problems = problems
        self._sources = sources
        self._agents = agents
        self._ticker = script_clock
        self._carriers = carriers
        self._calls: dict[str | None, LoggedCall] = {}
        self._user_parts: tuple[Mapping[str, Any], ...] = ()
        self._first = True

    def read(self, node: Node, where: str) -> Turn:
        """Return one turn."""
        user = isinstance(node, MapNode) and "user" in node.items
        fields = Fields(node, self._problems, where, USER_KEYS if user else RUN_KEYS)
        turn = self._user(fields) if user else self._run(fields)
        self._first = False
        return turn

    def _next_time(self, fields: Fields, key: str) -> str:
        given = fields.time(key)
        if given is not None and not self._ticker.set_next(given):
            message = f"{fields.path(key)} lies before what has already happened"
            expected = f"≥ {self._ticker.now}"
            self._problems.add(CONTRADICTION, fields.value_position(key), message, got=given, expected=expected)
        if given is None and self._first:
            self._ticker.set_next(self._ticker.now)
        return self._ticker.next()

    def _user(self, fields: Fields) -> UserInput:
        at = self._next_time(fields, "submitted_at")
        node = fields.node("user")
        parts: list[Mapping[str, Any]]
        if isinstance(node, MapNode):
            given = Fields(node, self._problems, fields.path("user"), ("parts",))
            for item in given.items("parts", required=True, least=1):
                kind = item.items.get("part_kind") if isinstance(item, MapNode) else None
                if not isinstance(kind, ScalarNode) or not isinstance(kind.value, str):
                    message = f"{given.path('parts')} must hold maps with part_kind"
                    self._problems.add(BAD_VALUE, item.position, message, got=describe_node(item))
            parts = given.any("parts") or []
        else:
            parts = [{"part_kind": "user-prompt", "content": user_content(fields, "user")}]
        metadata = fields.any("client_metadata")
        if "client_metadata" in fields and not isinstance(metadata, dict):
            fields.report_bad("client_metadata", "a map")
            metadata = None
        self._user_parts = tuple(parts)
        return UserInput(parts=tuple(parts), submitted_at=at, client_metadata=metadata)

    def _run(self, fields: Fields) -> AgentRun:
        agent_id = self._agent(fields)
        started_at = self._next_time(fields, "started_at")
        message_id = fields.text("message_id")
        log = self._server(fields, agent_id, started_at)
        client, history = fields.node("client"), fields.node("history")
        wire = self._sources.wire(client, fields.path("client")) if client is not None else None
        if log is None and client is None and fields.is_map:
            message = f"{fields.where}: a run needs steps, server or client"
            self._problems.add(MISSING_KEY, fields.position, message, expected="user, or one of steps, server, client")
        state = ExpandedRun(
            log=log,
            wire=wire,
            agent_id=agent_id,
            message_id=message_id,
            started_at=started_at,
            user_parts=self._user_parts,
            carriers=self._carriers,
            derivable="steps" in fields,
        )
        interrupt = self._interrupt(fields, state)
        self._user_parts = ()
        return AgentRun(
            agent_id=agent_id,
            started_at=started_at,
            message_id=message_id,
            events=None if log is None else tuple(log.events),
            wire=wire,
            library_messages=None if history is None else self._sources.messages(history, fields.path("history")),
            interrupt=interrupt,
            labels={} if log is None else {"start": 0, **log.labels, "end": len(log.events)},
        )

    def _agent(self, fields: Fields) -> str:
        default = next(iter(self._agents), "assistant")
        agent_id = fields.text("agent")
        if agent_id is None:
            return default
        if agent_id not in self._agents:
            near = suggest_name(agent_id, self._agents)
            position = fields.value_position("agent")
            self._problems.add(
                UNKNOWN_AGENT, position, f"no agent {agent_id!r}{near}", expected=", ".join(self._agents)
            )
        return agent_id

    def _server(self, fields: Fields, agent_id: str, started_at: str) -> EventLog | None:
        steps, server = fields.node("steps"), fields.node("server")
        finish = fields.flag("finish")
        if steps is not None and server is not None:
            message = f"{fields.where}: steps and server exclude each other"
            self._problems.add(CONTRADICTION, fields.key_position("server"), message)
        if finish is not None and steps is None:
            message = f"{fields.where}: finish goes with steps"
            self._problems.add(CONTRADICTION, fields.key_position("finish"), message)
        log = EventLog(problems=self._problems, script_clock=self._ticker, calls=self._calls)
        if steps is not None:
            nodes = fields.items("steps", least=1)
            expand_steps(
                log, nodes, fields.path("steps"), agents=self._agents, agent_id=agent_id, finish=finish is not False
            )
        elif isinstance(server, ListNode):
            add_event_nodes(log, server, fields.path("server"), started_at)
        elif server is not None:
            events = self._sources.events(server, fields.path("server"))
            add_events(log, events, fields.path("server"), started_at, server.position)
        else:
            return None
        return log

    def _interrupt(self, fields: Fields, state: ExpandedRun) -> Interrupt | None:
        node = fields.node("interrupt")
        if node is None:
            return None
        interrupt = read_interrupt(Fields(node, self._problems, fields.path("interrupt"), INTERRUPT_KEYS), state)
        if interrupt is not None:
            self._ticker.advance_to(interrupt.at)
        return interrupt
