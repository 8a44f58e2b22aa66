"""The profiles that ship, by name, and how a profile is found by what a user wrote in `history`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tpharness.apps.client.adk import AdkPage
from tpharness.apps.client.ag_ui import AgUi
from tpharness.apps.client.agno import AgnoPage
from tpharness.apps.client.client_versions import NEWEST, VERSIONS
from tpharness.apps.client.langgraph import LangGraphPage
from tpharness.apps.client.openai_streams import CompletionsStream, ResponsesStream
from tpharness.apps.client.profile import Chat, Profile, Trigger, text_of
from tpharness.apps.client.reading import Translator
from tpharness.apps.client.text_stream import TextStream
from tpharness.errors import UsageError, did_you_mean
from tpharness.imports import import_from

__all__ = ["PROFILES", "AgUi", "AiSdk", "AssistantUi", "LastMessage", "Mastra", "PydanticAi", "find_profile"]


class AiSdk:
    """`useChat` with its default transport: all messages, so the client keeps the history."""

    keeps_history = True
    version = NEWEST

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
        """Return what `DefaultChatTransport` posts, the same in `ai` 5, 6 and 7."""
        regenerate = trigger is Trigger.REGENERATE
        continued = {} if chat.message_id is None else {"messageId": chat.message_id}
        return {
            "id": chat.id,
            "messages": chat.messages,
            "trigger": (Trigger.REGENERATE if regenerate else Trigger.SUBMIT).value,
            **continued,
        }

    def translator(self) -> Translator | None:
        """The answer is a UI message stream."""
        return None


class AiSdk6(AiSdk):
    """`useChat` of `ai` 6: the same fields, and messages as that version holds them."""

    version = VERSIONS[6]


class AiSdk5(AiSdk):
    """`useChat` of `ai` 5: the same fields, and messages as that version holds them."""

    version = VERSIONS[5]


class AiSdkText(AiSdk):
    """`useChat` with `TextStreamChatTransport`: the same posts, answered by a stream of plain text."""

    shows_calls = False

    def translator(self) -> Translator | None:
        """The answer is a text."""
        return TextStream()


class LastMessage(AiSdk):
    """The AI SDK's recipe for stored messages: the last message and the chat's id, so the server keeps the history."""

    keeps_history = False

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
        """Return what the recipe's `prepareSendMessagesRequest` returns, with the trigger."""
        whole = AiSdk.body(self, chat, trigger)
        return {**{key: value for key, value in whole.items() if key != "messages"}, "message": chat.last}


class PydanticAi(AiSdk):
    """The web chat of Pydantic AI (`Agent.to_web()`): as `useChat`, with the choice of built-in tools."""

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
        """Return all messages; no built-in tool is chosen, and the model is the application's first."""
        return {**AiSdk.body(self, chat, trigger), "builtinTools": []}


class Mastra(AiSdk):
    """Mastra with memory: the last message, and the thread and resource that the memory keeps it under."""

    keeps_history = False

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
        """Return the body that Mastra's `chatRoute` and agent routes read."""
        memory = {"thread": chat.id, "resource": "tpharness"}
        return {**AiSdk.body(self, chat, trigger), "messages": [chat.last], "memory": memory}


class AssistantUi(AiSdk):
    """assistant-ui's `AssistantChatTransport`: as `useChat`, with the tools and the system prompt of the page."""

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
        """Return all messages; the page has no tools and no system prompt of its own."""
        return {**AiSdk.body(self, chat, trigger), "tools": {}, "callSettings": {}, "config": {}, "metadata": {}}


class ChatCompletions:
    """A client of OpenAI's Chat Completions, as any chat page for such servers: all messages, and no calls."""

    keeps_history = True
    shows_calls = False

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:  # noqa: ARG002  # the messages say all
        """Return what the client posts; `body` in the table names the model that the application knows."""
        return {"model": "default", "messages": _words(chat), "stream": True}

    def translator(self) -> Translator | None:
        """The answer is a stream of chunks."""
        return CompletionsStream()


class Responses(ChatCompletions):
    """A client of OpenAI's Responses that keeps the history itself."""

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:  # noqa: ARG002  # the messages say all
        """Return what the client posts."""
        return {"model": "default", "input": _words(chat), "stream": True}

    def translator(self) -> Translator | None:
        """The answer is a stream of events."""
        return ResponsesStream()


def _words(chat: Chat) -> list[dict[str, str]]:
    """Return the messages of a page that has texts alone; an answer without a word is not kept."""
    texts = ({"role": str(message.get("role")), "content": text_of(message)} for message in chat.messages)
    return [one for one in texts if one["content"]]


PROFILES: Mapping[str, Callable[[], Profile]] = {
    "ai-sdk": AiSdk,
    "ai-sdk-6": AiSdk6,
    "ai-sdk-5": AiSdk5,
    "ai-sdk-text": AiSdkText,
    "last-message": LastMessage,
    "pydantic-ai": PydanticAi,
    "mastra": Mastra,
    "assistant-ui": AssistantUi,
    "ag-ui": AgUi,
    "chat-completions": ChatCompletions,
    "responses": Responses,
    "langgraph": LangGraphPage,
    "adk": AdkPage,
    "agno": AgnoPage,
}
_CLIENT = "client"


def find_profile(name: str, *, folder: Path | None = None) -> Profile:
    """Return the profile of a name, `client` for the AI SDK's, or `python:MODULE:CLASS` looked up from `folder` too.

    UsageError for anything else, with the names that are known.
    """
    kind, _, rest = name.partition(":")
    if kind == "python":
        return _own(rest, folder)
    made = PROFILES.get("ai-sdk" if name == _CLIENT else name)
    if made is None:
        known = [_CLIENT, *PROFILES]
        hint = did_you_mean(name, known, f"one of {', '.join(known)}, or python:MODULE:CLASS")
        raise UsageError(f"no request profile is called {name!r}", hint=hint)
    return made()


def _own(spec: str, folder: Path | None) -> Profile:
    module_name, _, class_name = spec.partition(":")
    try:
        made = getattr(import_from(folder or Path.cwd(), module_name), class_name)()
    except Exception as error:  # foreign code may raise anything
        raise UsageError(
            f"the request profile python:{spec} cannot be made: {type(error).__name__}: {error}",
            hint="write python:MODULE:CLASS; the class has the methods body(chat, trigger) and translator()",
        ) from error
    if not all(callable(getattr(made, method, None)) for method in ("body", "translator")):
        raise UsageError(
            f"python:{spec} is not a request profile", hint="it needs the methods body(chat, trigger) and translator()"
        )
    profile: Profile = made
    return profile
