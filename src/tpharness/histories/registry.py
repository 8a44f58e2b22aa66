"""Every history dialect by name.

A name without its variant means all of its variants: `langchain` is `langchain/documented`, `langchain/repaired` and
`langchain/js`.
The versions of ThreadProtocol are included; `OTHER_HISTORIES` has only the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tpharness.histories.agent_framework import AGENT_FRAMEWORK
from tpharness.histories.agno import AGNO
from tpharness.histories.ai_sdk import AI_SDK
from tpharness.histories.google_adk import GOOGLE_ADK
from tpharness.histories.langchain import LANGCHAIN
from tpharness.histories.langgraph import LANGGRAPH
from tpharness.histories.message_parts import MESSAGE_PARTS
from tpharness.histories.openai_agents import OPENAI_AGENTS
from tpharness.histories.openai_agents_js import OPENAI_AGENTS_JS
from tpharness.histories.projections import HistoryDialect
from tpharness.histories.pydantic_ai import PYDANTIC_AI
from tpharness.histories.strands import STRANDS
from tpharness.histories.thread_history import THREADS
from tpharness.histories.thread_log.dialect import CHIMERA

__all__ = ["HISTORIES", "OTHER_HISTORIES", "all_names", "find_histories"]

OTHER_HISTORIES: Mapping[str, HistoryDialect] = {
    **MESSAGE_PARTS,
    **LANGCHAIN,
    **LANGGRAPH,
    **PYDANTIC_AI,
    **AI_SDK,
    **CHIMERA,
    **OPENAI_AGENTS,
    **OPENAI_AGENTS_JS,
    **GOOGLE_ADK,
    **STRANDS,
    **AGNO,
    **AGENT_FRAMEWORK,
}
"""The histories that are not threads, by name."""

HISTORIES: Mapping[str, HistoryDialect] = {**THREADS, **OTHER_HISTORIES}
"""All histories by name, the versions of ThreadProtocol first."""


def find_histories(name: str, among: Mapping[str, HistoryDialect] = HISTORIES) -> list[HistoryDialect]:
    """Return the histories that a name means, with or without its variant; an empty list for an unknown name."""
    return [history for full, history in among.items() if name in (full, full.partition("/")[0])]


def all_names(among: Iterable[str] = HISTORIES) -> list[str]:
    """Return every name that a user can give: families, and full names with their variants."""
    return list(dict.fromkeys(part for full in among for part in (full.partition("/")[0], full)))
