# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Ids of calls and of agents, and names of tools, with letters that stores and addresses do not like: R2, R7, R45."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from urllib.parse import quote, unquote

from tests.seeded_defects.ids import finding_calls, stored
from tests.seeded_defects.interrupts import on_turns
from tests.seeded_defects.seeding import client_writer, defect, wrap

from tpharness.wires.vsp.lifecycle import Lifecycle

__all__ = ["DEFECTS"]

Name = Callable[[str], str]


def composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def safe(name: str) -> str:
    return re.sub("[^A-Za-z0-9_-]", "_", name)


def before(mark: str) -> Name:
    return lambda name: name.partition(mark)[0]


def last(mark: str) -> Name:
    return lambda name: name.rpartition(mark)[2]


def ascii_alone(name: str) -> str:
    return name.encode("ascii", "ignore").decode()


def agents(change: Name):
    """Change the ids of agents in turns, messages and events of both sides."""

    def message(one):
        named = {name: change(one[name]) for name in ("agent_id", "source_agent") if name in one}
        if "target_agents" in one:
            return {**one, **named, "target_agents": [change(name) for name in one["target_agents"]]}
        return {**one, **named}

    return on_turns(
        lambda turn, _: {
            **turn,
            "agent_id": change(turn["agent_id"]),
            "messages": [message(one) for one in turn["messages"]],
        }
    )


def agents_alike(same: Name):
    """Let the client go on in the turn of an agent whose id is the same in this way."""

    def make(was):
        def carrier(self, data):
            named = data.get("agent_id") if isinstance(data, dict) else None
            alike = self._writer.running and isinstance(named, str) and same(named) == same(self._writer.agent_id)
            was(self, {k: v for k, v in data.items() if k != "agent_id"} if alike else data)

        return carrier

    return wrap(Lifecycle, "apply_carrier", make)


_FOUND = (
    ("before-a-bar", "up to the bar that parts them from the id of their item", before("|")),
    ("before-a-colon", "up to their number behind a colon", before(":")),
    ("after-a-dot", "behind the last dot", last(".")),
    ("after-a-slash", "behind the last slash", last("/")),
    ("without-blanks", "but for their blanks", lambda name: name.replace(" ", "")),
    ("decoded", "as addresses", unquote),
    ("composed", "in Unicode's composed form", composed),
    ("compatible", "in Unicode's compatible form", lambda name: unicodedata.normalize("NFKC", name)),
    ("of-ascii", "in their letters of ASCII", ascii_alone),
    ("cut-to-255", "in their first 255 characters", lambda name: name[:255]),
)
_STORED = (
    ("before-a-bar", "up to a bar", before("|")),
    ("trimmed", "without the blanks around them", str.strip),
    ("made-safe", "in the letters of an API, others as underscores", safe),
    ("quoted", "as parts of an address", lambda name: quote(name, safe="")),
    ("composed", "in Unicode's composed form", composed),
    ("of-latin-1", "in Latin 1, with question marks", lambda name: name.encode("latin-1", "replace").decode("latin-1")),
    ("cut-to-255", "in a column of 255 characters", lambda name: name[:255]),
)
_TOOLS = (
    ("before-a-bar", "up to a bar", before("|")),
    ("before-a-colon", "as what follows the last colon", last(":")),
    ("composed", "in Unicode's composed form", composed),
)
_AGENTS = (
    ("in-small-letters", "in small letters", str.lower),
    ("after-a-slash", "behind the last slash", last("/")),
    ("before-a-colon", "up to a colon", before(":")),
    ("composed", "in Unicode's composed form", composed),
    ("cut-to-36", "in a column of 36 characters", lambda name: name[:36]),
)

DEFECTS = (
    *(
        defect(
            f"calls-found-by-their-ids-{name}",
            "client",
            f"Ids of calls that are the same {words} name one call.",
            "tool.ids-match",
            client_writer(finding_calls(same)),
        )
        for name, words, same in _FOUND
    ),
    *stored("ids-of-calls-stored", "Ids of calls", "tool_call_id", _STORED, "tool.ids-match"),
    *stored("names-of-tools-stored", "Names of tools", "tool_name", _TOOLS, "tool.ids-match"),
    *(
        defect(
            f"ids-of-agents-stored-{name}",
            "both",
            f"Ids of agents are stored {words}.",
            "message.agent-id thread.registry event.agents",
            agents(change),
        )
        for name, words, change in (*_AGENTS, ("made-safe", "in the letters of an API, others as underscores", safe))
    ),
    *(
        defect(
            f"agents-alike-{name}",
            "client",
            f"Agents whose ids are the same {words} go on in one turn.",
            "turn.agent-change R45",
            agents_alike(same),
        )
        for name, words, same in _AGENTS
    ),
)
