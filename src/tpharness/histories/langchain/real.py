"""States ⇄ real LangChain messages. Importing this module needs langchain-core, the extra `langchain`.

The rest of the package uses plain JSON values, so only this module imports the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpharness.errors import UsageError
from tpharness.extras import install_command
from tpharness.histories.langchain.state import messages_of

try:
    from langchain_core.messages import BaseMessage, messages_from_dict, messages_to_dict
except ImportError as missing:
    raise UsageError(
        "langchain-core is not installed, and real LangChain messages need it",
        hint=install_command("langchain"),
    ) from missing

__all__ = ["from_messages", "to_messages"]


def to_messages(document: Any) -> list[BaseMessage]:
    """Return the messages of a state as objects of the library."""
    return list(messages_from_dict([dict(message) for message in messages_of(document)]))


def from_messages(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Return the state with these messages and empty buffers.

    A content may be a text or a list of blocks (`state.BLOCKS`), and system messages are kept. Raises `InputError`,
    which names the place, for other kinds of messages and blocks.
    """
    document = {"messages": messages_to_dict(messages), "response_buffer": "", "tool_call_buffers": []}
    messages_of(document)
    return document
