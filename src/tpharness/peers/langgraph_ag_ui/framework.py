"""LangGraph behind its AG-UI adapter: the agent, its model and its checkpointer are those of `peer:langgraph`."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import replace
from importlib.metadata import version as package_version
from typing import Any

from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from ag_ui_langgraph import LangGraphAgent
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver

from tpharness.peers.ag_ui_run import run_agent_input, send_events
from tpharness.peers.control import ActiveRun
from tpharness.peers.langgraph.framework import LangGraph, LangGraphConversation
from tpharness.peers.langgraph.scripted_model import ScriptedTool
from tpharness.peers.loop_limits import prompt_content
from tpharness.targets.contract import Capabilities

__all__ = ["LangGraphAgUi"]


class LangGraphAgUi(LangGraph):
    """The framework with its adapter."""

    wire = "ag-ui"

    @property
    def capabilities(self) -> Capabilities:
        """Those of the agent."""
        release = package_version("ag-ui-langgraph")
        return replace(super().capabilities, name="LangGraph over AG-UI", implementation_version=release)

    def converse(self, thread_id: str) -> LangGraphConversation:
        """Begin a conversation."""
        return _Conversation(thread_id)


class _Tool(ScriptedTool):
    """A tool that runs as LangChain's do, with an event of its end, of which the adapter makes a result."""

    response_format: str = "content"

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """Carry a call out by LangChain's own way."""
        return await BaseTool.ainvoke(self, input, config, **kwargs)

    async def arun(self, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        """Remember which call it is, and run."""
        _CALL.set(str(tool_call_id))
        return await super().arun(*args, tool_call_id=tool_call_id, **kwargs)

    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        return await self.carry_out(_CALL.get())


_CALL: ContextVar[str] = ContextVar("call")


class _Conversation(LangGraphConversation):
    """One conversation, whose client posts `RunAgentInput`."""

    tool = _Tool
    _memory: InMemorySaver | None = None

    async def _checkpointer(self) -> Any:
        """Return the checkpointer that answers at once: the adapter reads the state before its first event."""
        self._memory = self._memory or InMemorySaver()
        return self._memory

    def _report_stop(self, live: ActiveRun) -> None:
        """Send nothing: the adapter has no way to stop but that its task is cancelled, and its stream breaks off."""

    async def _send(self, agent: Any, config: RunnableConfig, live: ActiveRun) -> None:
        """Send the adapter's stream as it comes, from a clone of its agent, as its endpoint does."""
        posted = run_agent_input(self._id, f"run-{len(self._seen)}", prompt_content(live.prompts))
        adapter = LangGraphAgent(name="agent", graph=agent, config=config, emit_raw_events=False)
        await send_events(aiter(adapter.clone().run(RunAgentInput.model_validate(posted))), EventEncoder().encode, live)
