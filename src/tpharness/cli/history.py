"""`tpharness history`: the messages that the next model call gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from tpharness.cli.batch.each import BatchOptions, each_document
from tpharness.cli.batch.work import BatchDocument, BatchNote, DocumentDone, document_thread
from tpharness.cli.files import read_bytes
from tpharness.cli.options import Argument, Option
from tpharness.errors import ThreadError, UsageError, did_you_mean
from tpharness.findings import Level
from tpharness.histories.exchange.model_calls import FORMS, ModelCall, model_call, model_of, request_of
from tpharness.model_apis.registry import APIS, api_of_server, find_server
from tpharness.output import json_bytes
from tpharness.protocol.migrate import version_of
from tpharness.protocol.parse import parse_json
from tpharness.protocol.rules import check_thread

__all__ = ["history"]

_LOG = "thread-log"


@dataclass(frozen=True, slots=True)
class HistoryFor:
    """Makes the messages of a model call of a document."""

    form: str
    agent: str | None
    system_prompt: str | None
    next_user: str | None
    server: str
    stored: Mapping[str, Any] = field(repr=False)
    model: str = ""
    request: bool = False

    def __call__(self, document: BatchDocument) -> DocumentDone:
        thread, notes = document_thread(document)
        _require_valid(thread, self.agent)
        model, server = self.model, self.server
        if self.request:
            model = model or model_of(thread, self.agent)
            server = server or _server(self.form, None, model, request=True)
            if not model:
                notes.append(
                    BatchNote(line="the thread does not say which model answered: --model names it in the request")
                )
            if needed := APIS[self.form].required:
                line = f"the request still needs {' and '.join(needed)}: {self.form} refuses it without"
                notes.append(BatchNote(line=line, what=line, why="of every request"))
        made = model_call(
            thread,
            self.form,
            agent_id=self.agent,
            system_prompt=self.system_prompt,
            next_user=self.next_user,
            resolve=lambda reference: self.stored[reference["uri"]],
            server=server,
        )
        losses = [
            BatchNote.of_loss(loss, done, of=where)
            for done, where, found in (
                ("left out", "", made.left_out),
                ("left out", " of the history", made.not_sent),
                ("moved", " of the history", made.moved),
                ("added", " of these messages", made.added),
            )
            for loss in found
        ]
        pending = [
            BatchNote(line=f"pending {call.pointer}: {call.tool_name} {call.tool_call_id} waits for its return")
            for call in made.pending
        ]
        facts = _facts(made)
        printed = request_of(made.messages, self.form, model) if self.request else made.messages
        lines = b"".join(json_bytes(line) + b"\n" for line in made.messages) if self.form == _LOG else None
        return DocumentDone(
            outcome="made",
            value=printed,
            raw=lines if document.alone else None,
            notes=(*notes, *losses, *pending),
            facts=facts,
            report={"request" if self.request else "messages": printed, **facts},
        )


def history(
    files: Annotated[list[str], Argument(help="Threads: files, folders, JSON Lines; - is standard input.")],
    form: Annotated[str, Option("--for", help=f"{', '.join(FORMS)}.")],
    agent: Annotated[str | None, Option(help="The agent that is called; others' texts are prefixed.")] = None,
    system_prompt: Annotated[str | None, Option(help="The system prompt, which threads never store.")] = None,
    next_user: Annotated[str | None, Option(help="What the user says next, at the end of the messages.")] = None,
    request: Annotated[
        bool, Option("--request", help="Print the body of a request: the model, from the thread or --model, and these.")
    ] = False,
    model: Annotated[str, Option(help="The model that is called: a server of the API may take less.")] = "",
    server: Annotated[str | None, Option(help="Another server of the API, as `accept --server` names it.")] = None,
    content: Annotated[list[str] | None, Option(help="URI=FILE: a content that is stored elsewhere.")] = None,
    output: Annotated[str, Option("-o", "--output", help="A file; for several, a folder or FILE.jsonl.")] = "-",
    json: Annotated[bool, Option("--json", help="Print a report: messages, left_out, pending.")] = False,
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 1,
    resume: Annotated[bool, Option("--resume", help="Skip what is done and unchanged.")] = False,
    force: Annotated[bool, Option("--force", help="Replace what -o names.")] = False,
) -> None:
    """Print the messages that the next model call gets.

    What is left out is reported on standard error, or with --json in the report.
    """
    if form not in FORMS:
        hint = did_you_mean(form, FORMS, f"one of {', '.join(FORMS)}")
        if (api := api_of_server(form)) is not None:
            hint = f"it is a server of {api}: --for {api} --server {form}"
        raise UsageError(f"--for: nothing is called {form!r}", hint=hint)
    if request and form not in APIS:
        raise UsageError(
            f"--request: {form} is the form of a library, not of a model's API", hint=f"--for {'|'.join(APIS)}"
        )
    stored = {uri: _content(path) for uri, path in map(_place, content or ())}
    chosen = _server(form, server, model, request=request)
    work = HistoryFor(form, agent, system_prompt, next_user, chosen, stored, model, request)
    options = BatchOptions(output=output, as_json=json, jobs=jobs, resume=resume, force=force, makes=True)
    each_document(files, work, options)


def _require_valid(thread: Mapping[str, Any], agent: str | None) -> None:
    version = version_of(thread)
    wrong = tuple(finding for finding in check_thread(thread) if finding.level is Level.MUST)
    if wrong:
        raise ThreadError(f"not a valid {version.value} thread, so no history is made of it", findings=wrong)
    if agent is not None and agent not in thread["agents"]:
        known = ", ".join(thread["agents"]) or "none"
        raise UsageError(f"--agent: {agent!r} is not in the registry of the thread", hint=f"its agents are: {known}")


def _server(form: str, server: str | None, model: str, *, request: bool) -> str:
    """Return the server that the messages are written for, "" for the API's own; a `request` names any model."""
    if form in APIS and APIS[form].servers:
        return find_server(APIS[form], server, model)
    if server is not None or (model and not request):
        option = "--server" if server is not None else "--model"
        raise UsageError(f"{option}: what is written for {form} is the same everywhere", hint=f"leave out {option}")
    return ""


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


def _facts(made: ModelCall) -> dict[str, Any]:
    pending = [{"pointer": c.pointer, "tool_name": c.tool_name, "tool_call_id": c.tool_call_id} for c in made.pending]
    return {
        "left_out": [loss.as_json() for loss in made.left_out],
        "not_sent": [loss.as_json() for loss in made.not_sent],
        "moved": [loss.as_json() for loss in made.moved],
        "added": [loss.as_json() for loss in made.added],
        "pending": pending,
    }
