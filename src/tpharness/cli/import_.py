"""`tpharness import`: another program's messages → a thread."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tpharness.cli.files import read_json
from tpharness.cli.options import Argument, Option
from tpharness.errors import UsageError, did_you_mean
from tpharness.histories.exchange.from_messages import thread_of_messages
from tpharness.histories.exchange.from_ui_messages import thread_of_ui_messages
from tpharness.output import json_text, write_atomically
from tpharness.printable import say
from tpharness.scenario.fields import normalize_time

__all__ = ["import_"]

_READERS = {"pydantic-ai": thread_of_messages, "ai-sdk": thread_of_ui_messages}


def import_(
    file: Annotated[str, Argument(help="A list of messages as JSON; - is standard input.")],
    source: Annotated[str, Option("--from", help=f"{', '.join(_READERS)}.")],
    agent: Annotated[str, Option(help="The agent that answered.")] = "assistant",
    thread_id: Annotated[str | None, Option(help="The id of the thread; import:FILE by default.")] = None,
    at: Annotated[str, Option(help="The time of messages that have none.")] = "1970-01-01T00:00:00Z",
    output: Annotated[str, Option("-o", "--output", help="Where to write; - is standard output.")] = "-",
) -> None:
    """Make a thread of another program's messages.

    What the thread does not have is reported on standard error.
    """
    if source not in _READERS:
        hint = did_you_mean(source, _READERS, f"one of {', '.join(_READERS)}")
        raise UsageError(f"--from: nothing is called {source!r}", hint=hint)
    if not agent or thread_id == "":
        raise UsageError("--agent and --thread-id take ids, which are not empty")
    time = normalize_time(at)
    if time is None:
        raise UsageError(f"--at: {at!r} is not a time", hint="write it as 2025-01-20T10:00:15Z, with Z or an offset")
    named = thread_id or f"import:{Path(file).name}"
    imported = _READERS[source](read_json(file), agent_id=agent, thread_id=named, at=time)
    for loss in imported.losses:
        say(f"left out {loss.pointer}: {loss.what}; {loss.why}", err=True)
    write_atomically(output, json_text(imported.thread) + "\n")
