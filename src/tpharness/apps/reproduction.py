"""A failed case as one program that needs only Python: it is played before it is given away.

In: what was seen of the case, and the table of its application. Out: a program, after it has shown that the application
sends its model the same as in the case. It plays the model's answers and the posts as they were, so it knows nothing of
model APIs, request profiles and tpharness.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from pprint import pformat
from typing import Any

from tpharness.apps.cases.case import CutBy
from tpharness.apps.client import find_profile
from tpharness.apps.config import AppConfig
from tpharness.apps.effects import URL_VARIABLE
from tpharness.apps.evidence import AppEvidence, Asked
from tpharness.apps.reproduction_script import SCRIPT
from tpharness.errors import TargetError, UsageError
from tpharness.findings import shorten
from tpharness.model_apis.plan import Break

__all__ = ["Reproduction", "reproduce"]

_BY = {CutBy.LEAVE: "leave", CutBy.STOP: "stop", CutBy.WAIT: "wait", CutBy.MODEL: "model"}
_SECRET = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)
_LIMIT = 300.0
_OTHERS = "write the case down by hand after docs/reproductions, or choose one in which the user leaves or presses stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What a case was played with: `environment` is that of the application, with `{model}` for the model's host."""

    evidence: AppEvidence
    config: AppConfig
    environment: Mapping[str, str]
    tool_seconds: float
    about: str

    def program(self) -> str:
        """Return the program. UsageError where the case, or the application, cannot be written so."""
        self._require_plain()
        seen, config = self.evidence, self.config
        values = {name: value for name, value in config.env.items() if not _SECRET.search(name)}
        stop = config.addresses_of(other_user=False).stop
        data: dict[str, Any] = {
            "COMMAND": [*config.command],
            "FOLDER": str(config.run_folder.resolve()),
            "ENVIRONMENT": {**self.environment, **values},
            "URL": config.url,
            "STOP": [] if stop is None else [stop.method, stop.url, stop.body],
            "CHAT_THEN": seen.chat_id,
            "PAUSE": round(0.5 + 3 * self.tool_seconds, 1),
            "TURNS": [
                {
                    "post": post.decode(),
                    "by": "" if turn.cut is None else _BY[turn.cut.cut.by],
                    "in_tool": turn.cut is not None and turn.cut.cut.in_tool,
                }
                for turn, post in zip(seen.turns, seen.posts, strict=True)
            ],
            "ANSWERS": [_answer(asked) for _, asked in seen.asked],
            "TOOLS": [run.answer for run in seen.tool_runs or ()],
        }
        literals = [f"{name} = {pformat(value, width=110, sort_dicts=False)}" for name, value in data.items()]
        headers = ", ".join(f"{name!r}: os.environ[{_variable(name)!r}]" for name in config.headers)
        text = "\n".join([*literals, f"HEADERS = {{{headers}}}"])
        return SCRIPT.replace("DATA", text, 1).replace("ABOUT", self.about, 1)

    def _require_plain(self) -> None:
        seen, config = self.evidence, self.config
        why = ""
        if not self.config.command:
            why = "tpharness has to know how the application is started: give --command"
        elif self.config.client is not None:
            why = "a real client posts, whose requests are its own: leave `client` out"
        elif "{id}" in config.url or hasattr(find_profile(config.history, folder=config.folder), "begin"):
            why = "its posts are not alone: a thread is made first, or their address names the chat"
        elif len(seen.posts) != len(seen.turns) or seen.beside is not None:
            why = "it has another number of posts than of messages"
        elif any(turn.cut is not None and turn.cut.cut.by not in _BY for turn in seen.turns):
            why = "its cut is none of leaving, pressing stop, and what a model's API does"
        elif any(b"\0" in piece for _, asked in seen.asked for piece in asked.written):
            why = "its model's API answers in frames that are not text"
        elif any(turn.others for turn in seen.turns):
            why = "the application asks its model for something else meanwhile, whose place is not known"
        elif any(turn.cut is not None and turn.cut.cut.one_ends for turn in seen.turns):
            why = "of its tools one ends before the cut, which only the ledger can hold apart"
        elif seen.tool_runs is not None and URL_VARIABLE not in self.environment:
            why = "its tools are those of the ledger over MCP"
        if why:
            raise UsageError(f"{seen.case.id} cannot be written as a program: {why}", hint=_OTHERS)


async def reproduce(one: Reproduction) -> str:
    """Return the program of a case, after it was run. TargetError where it does not show what the case has shown."""
    program = one.program()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reproduce.py"
        path.write_text(program, "utf-8")
        env = {**one.config.env, **{_variable(name): value for name, value in one.config.headers.items()}}
        printed, complained = await _run(path, env)
    wanted = _shown(one.evidence)
    left = frozenset(line[0] for line in wanted if isinstance(line, list) and line[1] is None)
    got = [line for line in (_parsed(line, left) for line in printed.splitlines()) if line is not None]
    if got != wanted:
        found, expected = next((a, b) for a, b in zip_longest(got, wanted) if a != b)
        raise TargetError(
            f"{one.evidence.case.id}: the program does not show what the case has shown, and was not written",
            hint=f"it shows {shorten(found)}, not {shorten(expected)}; is what differs a time or an id of the"
            f" application? Its output ends: {shorten(complained[-300:])}",
        )
    return program


async def _run(path: Path, env: Mapping[str, str]) -> tuple[str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", str(path)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **env},
    )
    try:
        async with asyncio.timeout(_LIMIT):
            out, err = await process.communicate()
    except TimeoutError:
        raise TargetError(f"the program of the case has not ended after {_LIMIT:g} s, and was not written") from None
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)  # it ends the application, too
            await process.wait()
    return out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def _answer(asked: Asked) -> dict[str, Any]:
    """Return what the model answered a request with, piece by piece."""
    answer: dict[str, Any] = {"status": asked.status, "type": asked.content_type}
    answer["pieces"] = [piece.decode("utf-8", "replace") for piece in asked.written]
    if asked.held_at is not None:
        answer["hold"] = asked.held_at
    if asked.plan is not None and asked.plan.breaks is Break.RESET:
        answer["reset"] = True
    return answer


def _variable(header: str) -> str:
    return f"HEADER_{re.sub(r'[^A-Z0-9]', '_', header.upper())}"


def _shown(seen: AppEvidence) -> list[Any]:
    """Return what a program has to show: of each turn the status, what the model was sent, and how often tools ran."""
    lines: list[Any] = []
    for turn in seen.turns:
        left = turn.cut is not None and turn.cut.cut.by in (CutBy.LEAVE, CutBy.STOP)
        lines.append([turn.number, None if left or turn.reply is None else turn.reply.status])
        lines += [[turn.number, _without_id(asked.body, seen.chat_id)] for asked in turn.asked]
    return [*lines, len(seen.tool_runs or ())]


def _without_id(body: Any, chat_id: str) -> Any:
    return json.loads(json.dumps(body).replace(chat_id, "CHAT"))


def _parsed(line: str, left: frozenset[int]) -> Any:
    """Return a line of a program in the form of `_shown`, None for one that the application has printed."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    match value:
        case {"turn": int(turn), "status": status, "answer": _}:
            return [turn, None if turn in left else status]
        case {"turn": int(turn), "the model was sent": body}:
            return [turn, body]
        case {"runs of tools": int(count)}:
            return count
    return None
