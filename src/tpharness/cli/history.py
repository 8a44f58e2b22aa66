"""`tpharness history`: the messages that the next model call gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from tpharness.cli.files import print_json, read_bytes, read_thread
from tpharness.cli.options import Argument, Option
from tpharness.errors import ThreadError, UsageError, did_you_mean
from tpharness.findings import Level
from tpharness.histories.exchange.model_calls import FORMS, ModelCall, model_call
from tpharness.printable import say
from tpharness.protocol.losses import Loss
from tpharness.protocol.migrate import version_of
from tpharness.protocol.parse import parse_json
from tpharness.protocol.rules import check_thread

__all__ = ["history"]


def history(
    file: Annotated[str, Argument(help="A thread; - is standard input.")],
    form: Annotated[str, Option("--for", help=f"{', '.join(FORMS)}.")],
    agent: Annotated[str | None, Option(help="The agent that is called; others' texts are prefixed.")] = None,
    system_prompt: Annotated[str | None, Option(help="The system prompt, which threads never store.")] = None,
    content: Annotated[list[str] | None, Option(help="URI=FILE: a content that is stored elsewhere.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print a report: messages, left_out, pending.")] = False,
) -> None:
    """Print the messages that the next model call gets.

    What is left out is reported on standard error, or with --json in the report.
    """
    if form not in FORMS:
        hint = did_you_mean(form, FORMS, f"one of {', '.join(FORMS)}")
        raise UsageError(f"--for: nothing is called {form!r}", hint=hint)
    thread = read_thread(file)
    _require_valid(thread, agent)
    stored = {uri: _content(path) for uri, path in map(_place, content or ())}
    made = model_call(
        thread, form, agent_id=agent, system_prompt=system_prompt, resolve=lambda reference: stored[reference["uri"]]
    )
    if as_json:
        print_json(_report(made))
        return
    print_json(made.messages)
    for where, losses in (("", made.left_out), (" of the history", made.not_sent)):
        for loss in losses:
            line = f"left out {loss.pointer}{where}: {loss.what}; {loss.why}"
            say(line, err=True)
    for call in made.pending:
        line = f"pending {call.pointer}: {call.tool_name} {call.tool_call_id} waits for its return"
        say(line, err=True)


def _require_valid(thread: Mapping[str, Any], agent: str | None) -> None:
    version = version_of(thread)
    wrong = tuple(finding for finding in check_thread(thread) if finding.level is Level.MUST)
    if wrong:
        raise ThreadError(f"not a valid {version.value} thread, so no history is made of it", findings=wrong)
    if agent is not None and agent not in thread["agents"]:
        known = ", ".join(thread["agents"]) or "none"
        raise UsageError(f"--agent: {agent!r} is not in the registry of the thread", hint=f"its agents are: {known}")


def _place(text: str) -> tuple[str, str]:
    uri, separator, path = text.rpartition("=")
    if not separator or not uri or not path:
        raise UsageError(f"--content takes URI=FILE, not {text!r}", hint="for example https://example.org/1=one.json")
    return uri, path


def _content(path: str) -> Any:
    """Return the JSON value in a file, or its text if it is not JSON."""
    data = read_bytes(path)
    parsed = parse_json(data)
    return parsed.value if parsed.ok else data.decode("utf-8", "replace")


def _report(made: ModelCall) -> dict[str, Any]:
    pending = [{"pointer": c.pointer, "tool_name": c.tool_name, "tool_call_id": c.tool_call_id} for c in made.pending]
    return {
        "messages": made.messages,
        "left_out": [_loss(loss) for loss in made.left_out],
        "not_sent": [_loss(loss) for loss in made.not_sent],
        "pending": pending,
    }


def _loss(loss: Loss) -> dict[str, str]:
    return {"pointer": loss.pointer, "what": loss.what, "why": loss.why}
