"""The real google-adk beside its histories: what its session holds and sends after each place where a run stops.

Not among the tests that `pytest` collects, because the package wants libraries that others here cannot have; run in an
environment of its own with

    pip install . pytest google-adk==2.13.0
    python -m pytest -s -c /dev/null --rootdir=. --noconftest tests/histories/google_adk/oracle_google_adk.py

Each run of each scenario is played through the program's own runner, its own model class for Gemini and a client that
streams what Gemini would, and stopped before its first and after each of its events: by a cancelled task, by leaving
the loop, by an error of the model, and by `abort_signal`, with and without the cancelled task that the program's server
adds. The events of the session, and the contents that the next run sends the client, are held to the histories. What
its loop cannot play is counted by reason; nothing else differs.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import warnings
from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.google_llm import Gemini
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import BaseTool
from google.genai import Client, types
from tests.histories.oracle_runs import Event, NotPlayableError, Script, hold, is_of_tools, journal_at

from tpharness.histories.google_adk import GOOGLE_ADK

STOPS = {
    "task": "google-adk/left",
    "loop": "google-adk/left",
    "error": "google-adk/left",
    "signal": "google-adk/aborted",
    "signal and task": "google-adk/aborted",
}
FINISHES = {
    "length": types.FinishReason.MAX_TOKENS,
    "content_filter": types.FinishReason.SAFETY,
    "safety_filter": types.FinishReason.SAFETY,
}

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)


CLIENT = Client(api_key="none")


class Tool(BaseTool):  # type: ignore[misc]  # a job of its own has the package
    """A tool that returns when the script says so."""

    def __init__(self, name: str, script: Script) -> None:
        super().__init__(name=name, description="a tool")
        self._script = script

    def _get_declaration(self) -> Any:
        return types.FunctionDeclaration(name=self.name, description="a tool")

    async def run_async(self, *, args: Any, tool_context: Any) -> Any:
        """Return what the script says."""
        del args
        return (await self._script.returned(tool_context.function_call_id))["content"]


def client_of(stream: Any) -> Any:
    """Return a client of Gemini whose stream is ours."""
    CLIENT.aio.models.generate_content_stream = stream  # type: ignore[method-assign]
    return CLIENT


def chunk(part: Any = None, **more: Any) -> Any:
    """Return a chunk of Gemini's stream."""
    content = types.Content(role="model", parts=[] if part is None else [part])
    return types.GenerateContentResponse(candidates=[types.Candidate(content=content, **more)])


async def chunks(script: Script) -> AsyncIterator[Any]:
    """Yield the chunks of the next response: texts as they come, a call when all of it is known."""
    calls: dict[int, dict[str, str]] = {}
    async for _, event in script.response():
        kind = event["event_kind"]
        if kind == "model_response_end":
            yield chunk(finish_reason=FINISHES.get(str(event.get("finish_reason")), types.FinishReason.STOP))
        if kind not in ("part_start", "part_delta", "part_end"):
            continue
        said = event["part"] if kind != "part_delta" else event["delta"]
        type_of = (said.get("part_kind") or said.get("part_delta_kind") or "").replace("_", "-")
        if type_of == "tool-call":
            call = calls.setdefault(event["index"], {"args": ""})
            if kind == "part_end":
                args = json.loads(call["args"] or "{}")
                if not isinstance(args, dict):
                    raise NotPlayableError("arguments that are not an object")
                yield chunk(types.Part(function_call=types.FunctionCall(id=call["id"], name=call["name"], args=args)))
                continue
            call["args"] += _arguments(said)
            for ours, name in (("id", "tool_call_id"), ("name", "tool_name")):
                if said.get(name):
                    call[ours] = said[name]
        elif kind != "part_end":
            thought = True if type_of == "thinking" else None
            if text := said.get("content") or said.get("content_delta"):
                yield chunk(types.Part(text=text, thought=thought))
            if signature := said.get("signature") or said.get("signature_delta"):
                yield chunk(types.Part(text="", thought=True, thought_signature=signature.encode()))


def _arguments(said: Event) -> str:
    given = said.get("args") or said.get("args_delta") or ""
    return given if isinstance(given, str) else json.dumps(given)


class Chat:
    """A session, and the runs in it."""

    def __init__(self) -> None:
        self.sessions = InMemorySessionService()
        self.sent: Any = None

    async def run(self, said: str, stream: Any, tools: list[Any], signal: asyncio.Event | None = None) -> Any:
        """Yield the events of a run."""
        agent = LlmAgent(name="agent", model=Gemini(model="gemini-2.5-flash", client=client_of(stream)), tools=tools)
        runner = Runner(app_name="chat", agent=agent, session_service=self.sessions, auto_create_session=True)
        message = types.Content(role="user", parts=[types.Part(text=said)])
        async for event in runner.run_async(
            user_id="u",
            session_id="s",
            new_message=message,
            abort_signal=signal,
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        ):
            yield event

    async def events(self) -> list[Any]:
        """Return the events of the session."""
        session = await self.sessions.get_session(app_name="chat", user_id="u", session_id="s")
        return [] if session is None else session.events

    async def ask_on(self) -> list[Any]:
        """Return what the next run sends the model."""

        async def stream(**request: Any) -> Any:
            self.sent = request["contents"]

            async def answer() -> AsyncIterator[Any]:
                yield chunk(types.Part(text="ok"), finish_reason=types.FinishReason.STOP)

            return answer()

        async for _ in self.run("Go on.", stream, []):
            pass
        return list(self.sent)


async def play(events: list[Event], at: int, stop: str) -> tuple[list[Any], list[Any]]:
    """Return the events of the session after a run that was stopped, and what the next run sends the model."""
    script, chat, signal = Script(events, at, fails=stop == "error"), Chat(), asyncio.Event()
    leaves = asyncio.Event()

    async def stream(**request: Any) -> Any:
        del request
        return chunks(script)

    async def read() -> None:
        run = chat.run("q", stream, [Tool(name, script) for name in script.tools()], signal)
        while True:
            following = asyncio.ensure_future(anext(run, None))
            leaving = asyncio.ensure_future(leaves.wait())
            try:
                await asyncio.wait({following, leaving}, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                following.cancel()
                await asyncio.wait([following])
                raise
            finally:
                leaving.cancel()
            if leaves.is_set():
                following.cancel()
                await asyncio.wait([following])
                await run.aclose()
                return
            if following.result() is None:
                return

    reader = asyncio.create_task(read())
    reached = asyncio.create_task(script.reached.wait())
    await asyncio.wait({reader, reached}, return_when=asyncio.FIRST_COMPLETED)
    for _ in range(200):  # let what was said, and the tools that have returned, be noticed
        await asyncio.sleep(0)
    if not reader.done():
        if stop == "loop":
            leaves.set()
        if stop.startswith("signal"):
            signal.set()
        if stop.endswith("task"):
            reader.cancel()
    if stop == "error":
        script.stopped.set()
    reached.cancel()
    await asyncio.wait([reader])
    script.stopped.set()
    raised = None if reader.cancelled() else reader.exception()
    if raised is not None and not (stop == "error" and isinstance(raised, ConnectionError)):
        raise NotPlayableError(repr(raised)) from raised
    return list(await chat.events()), await chat.ask_on()


# ------------------------------------------------------------------------------------------------ what is compared


def ends_empty(events: list[Event], at: int) -> str:
    """Return the reason if the last response before a place has ended without a part, which a journal does not have."""
    kinds = [event["event_kind"] for event in events[:at]]
    asked = len(kinds) - kinds[::-1].index("model_request") if "model_request" in kinds else at
    if "part_start" in kinds[asked:] or kinds[-1:] != ["model_response_end"]:
        return ""
    return "behind the end of an answer without parts, which a journal does not have"


def kept_of(events: list[Any]) -> list[Any]:
    """Return what counts of the program's events: who has made it, its parts, and its error."""
    return [
        {
            "author": event.author,
            **({"content": content_of(event.content)} if event.content else {}),
            **({"errorCode": event.error_code} if event.error_code else {}),
        }
        for event in events
    ]


def content_of(content: Any) -> Any:
    """Return a content as JSON, with signatures as the model has said them."""
    written = content.model_dump(mode="json", by_alias=True, exclude_none=True)
    for part in written["parts"]:
        if "thoughtSignature" in part:
            part["thoughtSignature"] = base64.urlsafe_b64decode(part["thoughtSignature"]).decode()
        if part.get("functionCall") == {}:
            raise AssertionError(part)
    return written


def predicted(events: list[Event]) -> list[Any]:
    """Return the same of the history's events."""
    names = ("author", "content", "errorCode")
    return [{name: event[name] for name in names if name in event} for event in events]


def stored_at(events: list[Event], at: int, stop: str) -> list[Any]:
    """Return the events that the history predicts; a model fails when it is asked, when the tools have returned."""
    history = GOOGLE_ADK[STOPS[stop]]
    if stop == "error":
        at = next((then for then in range(at, len(events)) if not is_of_tools(events[then])), len(events))
    return history.store(journal_at(events, at, "error" if stop == "error" else "user_cancelled"))


def differences(events: list[Event], at: int, stop: str) -> list[str]:
    """Return in what the program and the history differ at a place: the session, and the next request."""
    stored, sent = asyncio.run(play(events, at, stop))
    ours = stored_at(events, at, stop)
    asked = GOOGLE_ADK[STOPS[stop]].model_input(ours, "gemini", next_user="Go on.")
    pairs = {"session": (kept_of(stored), predicted(ours)), "request": ([content_of(one) for one in sent], asked)}
    return [f"{what}: {real} and not {ours}" for what, (real, ours) in pairs.items() if real != ours]


def test_a_session_holds_what_the_histories_predict(capsys: Any) -> None:
    """At every place of every run that can be played, however it is stopped."""
    with capsys.disabled():
        equal = hold(
            GOOGLE_ADK["google-adk/left"].store,
            tuple(STOPS),
            differences,
            print,
            kinds=("text", "thinking", "tool-call"),
            apart=ends_empty,
        )
    assert min(equal[stop] for stop in STOPS) > 500
