"""The examples at the end of each command's help, read when a help is printed."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["EXAMPLES"]

EXAMPLES: Mapping[str, str] = {
    "init": """
        tpharness init && tpharness run                   here, with a first server in Python
        tpharness init interop --language go              into a folder, with one in Go; also: node
        """,
    "run": """
        tpharness run                                     every built-in scenario on the reference
        tpharness run cycles/three-steps@event-12         one place of a sweep
        tpharness run --clause cycle.kept                 the scenarios that cite a clause
        tpharness run --scenarios my/scenarios            your own
        tpharness run --server http://HOST:PORT --client "stdio:python client.py"
        tpharness run --server http://HOST:PORT --fault all          with faults on the wire, see FAULTS.md
        tpharness run --report html:run.html --report console        a page to look at, see PICTURE.md
        """,
    "sweep": """
        tpharness sweep                                   cut every built-in scenario at every event
        tpharness sweep cycles --cuts bytes --reasons all at every byte, for each of the five reasons
        tpharness sweep --clause cycle.kept               the scenarios that cite a clause
        tpharness sweep --orders --bound 500 tools        the events in other legal orders
        """,
    "fuzz": """
        tpharness fuzz --seconds 600                      generated cases; run it again to continue
        tpharness fuzz --cases 20000 --kind programs --kind streams --seed 7 --db my-campaign
        """,
    "compare-targets": """
        tpharness compare-targets --server reference --server "stdio:./mine" --server "stdio:node theirs.mjs"
        tpharness compare-targets --client reference --client "stdio:./mine" --cases 2000 --seed 7 --save differing
        tpharness compare-targets --server reference --server "stdio:./mine" tools approvals
        """,
    "list": """
        tpharness list clauses                            each clause, what exercises it, what violates it
        tpharness list profiles
        tpharness list scenarios --clause cycle.kept      the scenarios that cite a clause
        """,
    "explain": """
        tpharness explain cycle.all-returns
        tpharness explain R20
        tpharness explain identity-differs
        """,
    "docs": """
        tpharness docs                                    the pages; every installation has them
        tpharness docs README                             the first of them
        tpharness docs CONTROL                            another one
        tpharness docs EVENTS "A tool fails"              one section
        tpharness docs RULINGS R20
        """,
    "check": """
        tpharness check thread.json scenario.yaml stream.sse
        tpharness check --major 6 stream.sse              what AI SDK 6 would refuse
        tpharness check chats/ more.jsonl --level should  folders and JSON Lines, see DOCUMENTS.md
        curl -s https://example.org/threads/1 | tpharness check -
        """,
    "accept": """
        tpharness accept request.json                     the API answered 400: which rule, where, what to do
        tpharness accept messages.json --api anthropic --model claude-sonnet-4-5
        tpharness accept request.json --repair            the least change with which it is taken
        jq .body log.json | tpharness accept - --json
        tpharness history thread.json --for anthropic --request --next-user "Go on" | tpharness accept - --api anthropic
        """,
    "compare": """
        tpharness compare                                 what each history loses of a cut turn
        tpharness compare cycles --dialect 0.0.4 --dialect message-parts
        """,
    "hash": """
        tpharness hash thread.json
        tpharness hash --canonical thread.json            the bytes themselves
        """,
    "diff": """
        tpharness diff server.json client.json
        tpharness diff --content server.json client.json  times, generated ids and models left out
        """,
    "convert": """
        tpharness convert thread.json --to 0.0.4 -o new.json
        """,
    "history": """
        tpharness history thread.json --for anthropic     the messages that the next model call gets
        """,
    "import": """
        tpharness import messages.json --from pydantic-ai -o thread.json
        tpharness import chats/ --from ai-sdk -o threads/ --resume
        """,
    "repair": """
        tpharness repair chats/                           what would be changed; nothing is written
        tpharness repair chats/ -o repaired/ --json       each change with its ruling, a line for each document
        """,
    "fold": """
        tpharness fold stream.sse > thread.json           the thread of a recorded stream
        tpharness fold events.jsonl --version 0.0.3       from the server's events
        tpharness fold stream.sse --after 20 --interrupt user_cancelled@2025-01-20T10:00:15Z
        """,
    "record": """
        tpharness record https://HOST/api/chat --prompt "Hi" -o live/odd.yaml         what useChat would post
        tpharness record peer:pydantic-ai --play interruptions/mid-tool-args -o live/pydantic.yaml
        """,
    "replay": """
        tpharness replay cycles/three-steps@event-12      one place of a sweep, as a failure names it
        tpharness replay chat/mine --scenarios my/scenarios
        """,
    "view": """
        tpharness view odd.sse                            odd.html: a timeline whose cut can be dragged, see PICTURE.md
        tpharness view odd.sse --reason user_cancelled --version 0.0.3 -o -
        """,
    "show": """
        tpharness show tpharness-trace.zip                the cases that a failed run has left, see TRACE.md
        tpharness show --all --json tpharness-trace.zip cycles/three-steps
        tpharness show tpharness-trace.zip cycles/three-steps --request > asked.jsonl
        """,
    "trend": """
        tpharness trend peer:ai-sdk-client --releases 5.0.0,6.0.0,7.0.173
        tpharness trend peer:pydantic-ai interruptions --releases 2.0.0,2.68.0 -o trend.json
        """,
    "site": """
        tpharness site -o public/                         every clause and ruling with its pictures, see SITE.md
        tpharness site -o public/ report.json trend.json cert/certificate.json
        """,
    "certify": """
        tpharness certify --server http://HOST:PORT -o cert/
        tpharness certify --server "stdio:python target.py" --profile stream --profile cycles -o cert/
        """,
    "verify": """
        tpharness verify cert/certificate.json
        tpharness verify cert/certificate.json --key public.pem
        """,
    "merge": """
        tpharness merge 1.json 2.json 3.json              one verdict; a missing shard is an error, see SCALE.md
        """,
    "mutate": """
        tpharness mutate tests.seeded_defects --list      what is seeded, one line each
        tpharness mutate tests.seeded_defects interruptions --defect 'client-*'
        """,
    "serve": """
        tpharness serve                                   on port 8765 of this machine, threads in memory
        tpharness serve --port 0 --store threads.db       on a free port, threads on the disk
        """,
    "doctor": """
        tpharness doctor                                  what is installed, what is missing, what to type
        """,
    "app": """
        tpharness app init http://127.0.0.1:3000/api/chat  ask a chat application once, and write tpharness.toml
        tpharness app chat                                every case on the application of that name
        tpharness app http://127.0.0.1:3000/api/chat --provider-port 9100 --allow-tool book_hotel
        """,
}
"""The examples of each command; `docs/` has them, and more."""
