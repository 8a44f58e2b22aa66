"""One post to a server of AG-UI, and its answer as it comes: read to its end, or left at a place as a page leaves it.

Every wait has a limit, every answer a size. What comes is never an exception: an answer says how it ended.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import aiohttp

from tpharness.apps.ag_ui.page import Reading
from tpharness.apps.ag_ui.places import Passing
from tpharness.apps.client.wall_clock import steady_now
from tpharness.output import json_bytes
from tpharness.targets.endpoint import Endpoint
from tpharness.targets.net_errors import error_text, explain_error, is_gone
from tpharness.targets.news import News
from tpharness.targets.remote import Patience
from tpharness.trace.tape import current_tape
from tpharness.wires.sse.parser import Frame, SseParser

__all__ = ["AnswerEnd", "PostAnswer", "Poster"]

_MOST = 16 << 20
_QUOTED = 2000
_STREAM = "text/event-stream"


class AnswerEnd(StrEnum):
    """How an answer ended."""

    NONE = "no answer came"
    ENDED = "the body ended as HTTP has it"
    LEFT = "we left at the place"
    LOST = "the connection broke"
    SILENT = "nothing came any more"
    ENDLESS = "more came than any answer needs"


@dataclass(slots=True, kw_only=True)
class PostAnswer:
    """What came of one post.

    `data` is what was read of a stream, `said` the beginning of any other body; `status` is 0 where no answer came,
    and `problem` says why, or how the stream ended. `reads` are the pieces as they came, with the seconds since the
    post. `passed` are the places that the stream was at. `ran_on` are the seconds that the body was open behind the end
    of the last run, None where no run has ended. `gone` says that nothing listens there any more.
    """

    posted: bytes
    status: int = 0
    content_type: str = ""
    data: bytes = b""
    said: str = ""
    end: AnswerEnd = AnswerEnd.NONE
    problem: str = ""
    gone: bool = False
    reads: list[tuple[float, bytes]] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    events: list[Mapping[str, Any]] = field(default_factory=list)
    run_ended: bool = False
    begun: str = ""
    over: str = ""

    @property
    def is_stream(self) -> bool:
        """Whether it is an answer of which events can be read."""
        return self.status == 200 and self.content_type == _STREAM


class Poster:
    """Posts to one address."""

    def __init__(
        self, session: aiohttp.ClientSession, url: str, headers: Mapping[str, str], patience: Patience
    ) -> None:
        self._session = session
        self._endpoint = Endpoint(base=url, alone=True)
        self._headers = {"Content-Type": "application/json", "Accept": _STREAM, **headers}
        self._patience = patience
        self._what = f"POST {url}"

    async def post(self, document: Any, *, reading: Reading | None = None, leave: str = "") -> PostAnswer:
        """Post a document, or bytes as they are; the page that is `reading` leaves at the place `leave`."""
        body = document if isinstance(document, bytes) else json_bytes(document)
        answer = PostAnswer(posted=body, begun=steady_now())
        tape = current_tape()
        if tape is not None:
            tape.note("asked", self._what, headers=self._headers, body=body if document is body else document)
        try:
            async with asyncio.timeout(self._patience.connect + self._patience.answer):
                response = await self._session.post(
                    self._endpoint.url(""), data=body, headers=self._headers, allow_redirects=False
                )
        except (TimeoutError, aiohttp.ClientError, ssl.SSLError, OSError, ValueError) as error:
            explained = await explain_error(error, self._what, self._endpoint, self._patience)
            answer.problem, answer.gone = explained.line, await is_gone(self._endpoint, self._patience)
            return answer
        try:
            answer.status, answer.content_type = response.status, response.content_type
            if not answer.is_stream:
                answer.said = await self._start_of(response)
                answer.end = AnswerEnd.ENDED
            if tape is not None:
                said = answer.said.encode() or None
                tape.note("answered", self._what, status=answer.status, headers=response.headers, body=said)
            if answer.is_stream:
                await self._read(response, answer, reading, leave)
        finally:
            response.close()
            answer.over = steady_now()
        if answer.end is AnswerEnd.LOST:
            answer.gone = await is_gone(self._endpoint, self._patience)
        return answer

    async def _start_of(self, response: aiohttp.ClientResponse) -> str:
        """Return how a body begins that is not a stream."""
        data = b""
        try:
            async with asyncio.timeout(self._patience.silence):
                while len(data) < _QUOTED and (piece := await response.content.readany()):
                    data += piece
        except (TimeoutError, aiohttp.ClientError, OSError):
            pass  # what has come says enough
        return data[:_QUOTED].decode("utf-8", "backslashreplace")

    async def _read(
        self, response: aiohttp.ClientResponse, answer: PostAnswer, reading: Reading | None, leave: str
    ) -> None:
        tape = current_tape()
        run = 0 if tape is None else tape.next_run()
        clock = asyncio.get_running_loop().time
        begun = clock()
        news, parser, passing, data = News(begun), SseParser(), Passing(), bytearray()
        answer.end = AnswerEnd.ENDED
        while True:
            limit = self._patience.settle if passing.ended else self._patience.silence
            try:
                async with asyncio.timeout(limit):
                    piece = await response.content.readany()
            except TimeoutError:
                answer.end, answer.problem = AnswerEnd.SILENT, f"nothing came for {limit:g} s"
                break
            except (aiohttp.ClientError, ssl.SSLError, OSError) as error:
                answer.end, answer.problem = AnswerEnd.LOST, f"the connection was lost: {error_text(error)}"
                break
            if not piece:
                break
            if tape is not None:
                tape.note_bytes("read", self._what, run=run, data=piece)
            now = clock()
            data += piece
            left = _take(parser.feed(piece), answer, reading or _NOBODY, passing, leave)
            if left is not None:
                del data[left:]
                answer.end = AnswerEnd.LEFT
            answer.reads.append((now - begun, piece))
            if left is not None:
                break
            if news.quiet(piece, now) > limit:
                answer.end, answer.problem = AnswerEnd.SILENT, f"nothing but comments came for {limit:g} s"
                break
            if len(data) > _MOST or now - begun > self._patience.total:
                answer.end = AnswerEnd.ENDLESS
                answer.problem = f"it has not ended after {len(data)} bytes and {now - begun:.0f} s"
                del data[data.rfind(b"\n\n") + 2 :]
                break
        answer.data, answer.run_ended = bytes(data), passing.ended


def _take(frames: list[Frame], answer: PostAnswer, reading: Reading, passing: Passing, leave: str) -> int | None:
    """Take the events of one read; return the offset behind the one at which the page leaves, None where it stays."""
    for frame in frames:
        event = reading.feed(frame.data)
        if event is None:
            continue
        answer.events.append(event)
        at = passing.take(event)
        answer.passed += [place for place in sorted(at) if place not in answer.passed]
        if leave in at:
            return frame.end
    return None


class _Nobody:
    """What a run is that nobody's page reads."""

    def feed(self, data: bytes) -> list[Any]:
        """Take an event, and do nothing."""
        del data
        return []


_NOBODY = Reading(_Nobody())
