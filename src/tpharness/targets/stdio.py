"""Targets behind standard input and output: one JSON object a line, any language, no server needed.

In: `stdio:COMMAND`, split as a shell would and run without one. Out: a `ServerTarget` or a `ClientTarget` that asks
the process what `stdioRequest` of control.schema.json says: `start` once, then `serve`, `receive`, `adopt` and
`resolve`, and `stop` in the end. Cases that are played at the same time get a process each. A process that does not
answer is killed, its case is an error, and the next case starts a new process.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any, NoReturn

import orjson

from tpharness.errors import TargetError, UsageError
from tpharness.findings import shorten
from tpharness.journal import UserTurn
from tpharness.output import json_bytes
from tpharness.printable import counted
from tpharness.protocol.versions import Version
from tpharness.targets.children import split_command
from tpharness.targets.contract import Capabilities, RunScript, Script, Stream, TargetOutput
from tpharness.targets.forms import (
    ANSWERS,
    CONTRACT,
    capabilities_from,
    case_json,
    case_threads,
    packets_from,
    problems,
    resolve_json,
    resolved_from,
    shape_hint,
    threads_from,
    threads_json,
    turns_json,
    versions_for,
)
from tpharness.targets.process import NOT_AN_ANSWER, STDOUT_HINT, LineProcess
from tpharness.targets.reference import Reference
from tpharness.targets.remote import CannotPlayError, Patience, StreamLimits
from tpharness.trace.tape import current_tape

__all__ = ["StdioClient", "StdioServer"]

_STOP_SECONDS = 1.0
_ANSWERS = {
    "start": "capabilities",
    "serve": "served",
    "receive": "received",
    "adopt": "received",
    "resolve": "resolved",
    "stop": "stopped",
    **ANSWERS,
}
"""Operation → the field of its answer."""


class _Stdio:
    """A command and the processes that run it."""

    role = ""

    def __init__(self, spec: str, *, patience: Patience | None = None, limits: StreamLimits | None = None) -> None:
        command = spec.partition(":")[2]
        try:
            self._command = split_command(command)
        except ValueError as error:
            raise UsageError(f"{spec!r} cannot be split into words: {error}", hint="close the quotes") from error
        if not self._command:
            raise UsageError(f"{spec!r} does not name a command", hint="write 'stdio:python my_target.py --stdio'")
        self._name = f"stdio:{shorten(command, 80)}"
        self._patience = patience or Patience()
        self._limits = limits or StreamLimits()
        self._capabilities: Capabilities | None = None
        self._idle: list[LineProcess] = []
        self._ids = itertools.count(1)

    @property
    def at_once(self) -> int:
        """One process for each processor."""
        return os.cpu_count() or 1

    @property
    def capabilities(self) -> Capabilities:
        """What the target declares; before `open`, only its name."""
        return self._capabilities or Capabilities(name=self._name, versions=(), carriers=False)

    async def open(self) -> None:
        """Start a process and read its capabilities, once."""
        if self._capabilities is None:
            self._idle.append(await self._start_process())

    async def close(self) -> None:
        """Stop all processes and kill those that do not."""
        idle, self._idle = self._idle, []
        for process in idle:
            stop = json_bytes({"op": "stop", "id": next(self._ids)})
            await self._in_thread(process, process.stop, stop, _STOP_SECONDS)

    async def answer(self, question: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask something of a thread. TargetError if the process does not answer it."""
        answered: Mapping[str, Any] = await self._ask(question, **request)
        return answered

    async def _ask(self, op: str, **more: Any) -> Any:
        """Send a request to a free process, a new one if there is none; return the field of the answer."""
        await self.open()
        process = self._idle.pop() if self._idle else await self._start_process()
        answer = await self._in_thread(process, self._exchange, process, op, more)
        self._idle.append(process)
        if "error" in answer:
            _raise_error(self._name, op, answer["error"], process)
        return answer[_ANSWERS[op]]

    async def _start_process(self) -> LineProcess:
        process: LineProcess = await self._in_thread(None, self._spawn)
        declared = await self._in_thread(process, self._greet, process)
        self._capabilities = self._capabilities or declared
        return process

    async def _in_thread(self, process: LineProcess | None, function: Any, *args: Any) -> Any:
        """Run a blocking function in a thread. Cancelling the wait ends the process as well."""
        # A thread, not a transport of the loop: processes then outlive a loop, and an idle one does not hold a thread.
        # Without a task of its own, for which the loop would wait twice more.
        work = asyncio.get_running_loop().run_in_executor(None, partial(copy_context().run, function, *args))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            if process is not None:
                process.interrupt()
            result = (await asyncio.gather(work, return_exceptions=True))[0]
            for left in (process, result):
                if isinstance(left, LineProcess):
                    left.kill()
            raise

    # ------------------------------------------------------------------------------------------------ in a thread

    def _spawn(self) -> LineProcess:
        return LineProcess(self._command, name=self._name, limit=self._limits.body)

    def _greet(self, process: LineProcess) -> Capabilities:
        answer = self._exchange(process, "start", {"contract": CONTRACT})
        try:
            if "error" in answer:
                _raise_error(self._name, "start", answer["error"], process)
            return capabilities_from(answer["capabilities"], self.role, self._name)
        except TargetError:
            process.kill()
            raise

    def _exchange(self, process: LineProcess, op: str, more: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request, its id and its outer shape checked."""
        number = next(self._ids)
        tape, what, request = current_tape(), f"{op} (standard input)", {"op": op, "id": number, **more}
        if tape is not None:
            tape.note("asked", what, body=request)
        line = process.ask(json_bytes(request), self._patience.answer)
        if tape is not None:
            tape.note("answered", what, body=line)
        try:
            return self._check_answer(line, op, number, process)
        except TargetError:
            process.kill()  # its next answer could belong to any request
            raise

    def _check_answer(self, line: bytes, op: str, number: int, process: LineProcess) -> dict[str, Any]:
        what = f"{self._name}: the answer to {op}"
        try:
            answer = _decode(line)
        except (ValueError, RecursionError) as error:
            shown = shorten(process.shown(line), 120)
            raise TargetError(
                f"{self._name}: the process {NOT_AN_ANSWER}",
                detail=f"the answer to {op} is not JSON: {shorten(str(error), 120)}; it wrote {shown}",
                hint=STDOUT_HINT,
            ) from error
        if not isinstance(answer, dict):
            raise TargetError(f"{what} is not a JSON object: {shorten(answer, 120)}", hint=shape_hint("stdioAnswer"))
        if answer.get("id") != number or isinstance(answer.get("id"), bool):
            raise TargetError(
                f"{what} has the id {shorten(answer.get('id'), 40)}, the request has the id {number}",
                hint="answer requests in the order in which they come, each with its own id",
            )
        field = _ANSWERS[op]
        if "error" not in answer and field not in answer:
            raise TargetError(
                f"{what} has neither {field!r} nor 'error', only {', '.join(sorted(map(str, answer)))}",
                hint=shape_hint("stdioAnswer"),
            )
        if "error" not in answer and op != "start":  # capabilities_from says more about another contract
            found = problems(field, answer[field], f"/{field}")
            if found:
                raise TargetError(
                    f"{what} does not fit the contract: {'; '.join(found)}",
                    hint=shape_hint(field),
                )
        return answer

    def _threads(self, answer: Any, script: Script, op: str) -> dict[Version, Any]:
        return case_threads(answer["threads"], script, self.capabilities, f"{self._name}: the answer to {op}")


class StdioServer(_Stdio):
    """A server in another process: gets whole cases, answers with threads and with the packets that it sends."""

    role = "server"

    async def serve(self, script: Script) -> TargetOutput:
        """Have the script played. TargetError if the process does not answer it."""
        await self.open()
        if not versions_for(script, self.capabilities):
            return TargetOutput(threads={})
        served = await self._ask("serve", case=case_json(script, turns_json(script.turns), self.capabilities))
        runs = sum(isinstance(turn, RunScript) for turn in script.turns)
        if "streams" in served:
            streams = tuple(packets_from(stream) for stream in served["streams"])
        else:  # only its threads are checked, and the client gets the streams of the reference
            streams = (await Reference().serve(script)).streams
        if len(streams) != runs:
            raise TargetError(
                f"{self._name}: the answer to serve has {counted(len(streams), 'stream')}, "
                f"the case has {counted(runs, 'run')}",
                hint="a list of packets for each run, in order; leave out `streams` if there are none",
            )
        played = (turn for turn in script.turns if isinstance(turn, RunScript))
        for number, (run, packets) in enumerate(zip(played, streams, strict=True), 1):
            if (last := max((one.event for one in packets if one.event is not None), default=-1)) >= len(run.events):
                raise TargetError(
                    f"{self._name}: a packet of run {number} names event {last}, "
                    f"the run has {counted(len(run.events), 'event')}",
                    hint="`event` is the index of the event that caused the bytes; that of the first event is 0",
                )
        return TargetOutput(threads=self._threads(served, script, "serve"), streams=streams)


class StdioClient(_Stdio):
    """A client in another process: gets whole cases, answers with threads."""

    role = "client"

    async def receive(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Have the streams received. TargetError if the process does not answer."""
        await self.open()
        if not versions_for(script, self.capabilities):
            return TargetOutput(threads={})
        received = await self._ask("receive", case=case_json(script, turns_json(turns), self.capabilities))
        return TargetOutput(threads=self._threads(received, script, "receive"))

    async def adopt(self, threads: Mapping[Version, dict[str, Any]]) -> Mapping[Version, dict[str, Any]]:
        """Give the client the server's threads; return the threads that it then has (R32)."""
        await self.open()
        wanted = {v: thread for v, thread in threads.items() if v in self.capabilities.versions}
        if not wanted:
            return {}
        adopted = await self._ask("adopt", threads=threads_json(wanted))
        return threads_from(adopted["threads"], list(wanted), f"{self._name}: the answer to adopt")

    async def resolve(self, reference: Mapping[str, Any], data: bytes) -> bytes | None:
        """Have a `content_ref` resolved, whose store answers with `data`; return what is given out (R56)."""
        await self.open()
        resolved = await self._ask("resolve", **resolve_json(reference, data))
        return resolved_from(resolved, f"{self._name}: the answer to resolve")


def _raise_error(name: str, op: str, error: Any, process: LineProcess) -> NoReturn:
    message = process.shown(str(error.get("message") if isinstance(error, dict) else error).encode(errors="replace"))
    if isinstance(error, dict) and error.get("cannot_play") is True:
        raise CannotPlayError(shorten(message, 200))
    said = f"the end of its standard error: {process.stderr_tail}" if process.stderr_tail else ""
    raise TargetError(f"{name} answers {op} with an error: {shorten(message, 300)}", detail=said)


def _decode(line: bytes) -> Any:
    """Read JSON, lone surrogates included: the checks report where they are in the thread (R38)."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")
