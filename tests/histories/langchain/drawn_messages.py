"""Messages of LangChain that Hypothesis draws, for the real formatters of several integrations."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

__all__ = ["BLOCK_MESSAGES", "MESSAGES"]

TEXTS = st.text(alphabet='a{}":1 \n\u2013\u00e9', max_size=6)
IDS = st.sampled_from(["c1", "c2", "functions.f:0"])
ARGS = st.dictionaries(st.sampled_from("ab"), st.one_of(st.none(), st.integers(-9, 9), TEXTS), max_size=2)
CALLS = st.lists(st.builds(lambda i, a: {"name": "f", "args": a, "id": i, "type": "tool_call"}, IDS, ARGS), max_size=2)
INVALID = st.lists(
    st.builds(lambda i, a: {"name": "f", "args": a, "id": i, "error": None, "type": "invalid_tool_call"}, IDS, TEXTS),
    max_size=2,
)
STATUS = st.sampled_from(["success", "error"])
TEXT_BLOCKS = st.lists(st.builds(lambda text: {"type": "text", "text": text}, TEXTS), max_size=2)
SAID_BLOCKS = st.lists(
    st.one_of(
        st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
        st.builds(lambda i, args: {"type": "tool_use", "id": i, "name": "f", "input": args}, IDS, ARGS),
        st.just({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}),
    ),
    max_size=3,
)


def _messages(heard: Any, said: Any) -> Any:
    """Return lists of messages: what people and tools say, and what the model says."""
    return st.lists(
        st.one_of(
            st.builds(HumanMessage, heard),
            st.builds(lambda c, v, i: AIMessage(c, tool_calls=v, invalid_tool_calls=i), said, CALLS, INVALID),
            st.builds(lambda c, i, s: ToolMessage(c, tool_call_id=i, status=s), heard, IDS, STATUS),
        ),
        max_size=6,
    )


MESSAGES: st.SearchStrategy[list[BaseMessage]] = _messages(TEXTS, TEXTS)
"""Messages whose contents are texts, as the design writes them."""

BLOCK_MESSAGES: st.SearchStrategy[list[BaseMessage]] = st.builds(
    lambda system, messages: [*system, *messages],
    st.lists(st.builds(SystemMessage, TEXTS | TEXT_BLOCKS), max_size=2),
    _messages(TEXTS | TEXT_BLOCKS, TEXTS | SAID_BLOCKS),
)
"""Messages whose contents are texts or blocks, system messages first."""
