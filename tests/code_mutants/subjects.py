"""What is mutated: the example implementations, and the files of the reference that decide.

A subject has mutants, and can be installed in this process from changed source; then it gives the pairs of a server and
a client that are to be judged. Each pair has the names of the sides that come from the subject.
"""

from __future__ import annotations

import ast
import importlib
import json
import shlex
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ClassVar

from tests.code_mutants.answers import Tape, taped
from tests.code_mutants.documents import PROGRAM_JUDGES, judges_of
from tests.code_mutants.installing import install, load_program
from tests.code_mutants.mutants import Edit, Mutant, name_mutants, take_sample
from tests.code_mutants.node_operators import instrumented_node, node_edits
from tests.code_mutants.python_operators import python_edits

from tpharness.run.play import Players
from tpharness.targets import Reference
from tpharness.targets.nodejs import find_node
from tpharness.targets.remote import Patience
from tpharness.targets.stdio import StdioClient, StdioServer
from tpharness.wires.registry import DEFAULT_WIRE, WIRES

__all__ = [
    "REPOSITORY",
    "SUBJECTS",
    "NodeSubject",
    "Pair",
    "ProgramSubject",
    "ReferenceSubject",
    "Subject",
    "instrumented",
]

REPOSITORY = Path(__file__).parents[2]
HIT = "__hit__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A server and a client on a wire; `judged` names the sides that have to hold the golden thread.

    `tape` has what is asked of the subject, if that is written down.
    """

    players: Players
    judged: tuple[str, ...]
    wire: str = DEFAULT_WIRE
    tape: Tape | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One source file. One in `one_in` of all possible mutants is played; `left_out` are prefixes of functions."""

    file: str
    one_in: int
    left_out: tuple[str, ...] = ()
    limits_memory: ClassVar[bool] = True
    pairs: ClassVar[int] = 1

    def edits(self) -> Iterator[Edit]:
        """Yield everything that may be changed in the file."""
        return python_edits(self.source().decode())

    def source(self) -> bytes:
        """Return the file as it is."""
        return (REPOSITORY / self.file).read_bytes()

    def judges(self) -> list[tuple[str, int]]:
        """Return what judges it besides scenarios, each with the index of the pair that it is about."""
        return []

    def mutants(self) -> list[Mutant]:
        """Return the mutants that are played."""
        edits = (one for one in self.edits() if not one.function.startswith(self.left_out or "-"))
        return take_sample(name_mutants(self.file, self.source(), edits), self.one_in)

    def install(self, source: bytes, *, tables: bool = False, **names: Any) -> list[Pair]:
        """Load the changed source into this process, with these names defined; return what is to be judged.

        `tables`: the change may be outside of functions.
        """
        raise NotImplementedError

    def watch(self) -> tuple[list[Pair], Callable[[], Iterable[int]]]:
        """Load the source as it is; return what is to be judged, and what says which blocks ran since it last said."""
        hits: set[int] = set()

        def ran() -> list[int]:
            found = sorted(hits)
            hits.clear()
            return found

        names: dict[str, Any] = {HIT: hits.add}
        return self.install(instrumented(self.source()), tables=False, **names), ran


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceSubject(Subject):
    """A file of the reference, which plays both sides over `wire`."""

    wire: str = DEFAULT_WIRE

    def judges(self) -> list[tuple[str, int]]:
        """See `Subject`."""
        return [(name, 0) for name in judges_of(self.wire)]

    def install(self, source: bytes, *, tables: bool = False, **names: Any) -> list[Pair]:
        """See `Subject`."""
        install(self._module(), source, tables=tables, **names)
        players = Players(server=Reference(), client=Reference())
        return [Pair(players=players, judged=("server", "client"), wire=self.wire)]

    def watch(self) -> tuple[list[Pair], Callable[[], Iterable[int]]]:
        """See `Subject`: what a playing before has left in a cache runs again."""
        pairs, ran = Subject.watch(self)
        caches = [value.cache_clear for value in vars(self._module()).values() if hasattr(value, "cache_clear")]

        def ran_afresh() -> Iterable[int]:
            for clear in caches:
                clear()
            return ran()

        return pairs, ran_afresh

    def _module(self) -> types.ModuleType:
        name = self.file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return importlib.import_module(name)


class ProgramSubject(Subject):
    """A program that answers lines, as `stdio:` targets do, without a process of its own."""

    pairs = 2

    def install(self, source: bytes, *, tables: bool = False, **names: Any) -> list[Pair]:  # noqa: ARG002
        """See `Subject`."""
        answer = load_program("tpharness_mutant", source, **names).answer_line
        return [
            Pair(players=Players(server=_Server(answer), client=Reference()), judged=("server",)),
            Pair(players=Players(server=Reference(), client=_Client(answer)), judged=("client",)),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSubject(Subject):
    """A program for Node.js that answers lines, started for each mutant; it speaks all `wires`."""

    wires: tuple[str, ...] = tuple(WIRES)
    limits_memory = False

    @property
    def pairs(self) -> int:  # type: ignore[override]
        """Two for each wire."""
        return 2 * len(self.wires)

    def judges(self) -> list[tuple[str, int]]:
        """See `Subject`."""
        return [(name, self.pairs - 1) for name in PROGRAM_JUDGES] if "ag-ui" in self.wires else []

    def edits(self) -> Iterator[Edit]:
        """See `Subject`."""
        return node_edits(self.source())

    def install(self, source: bytes, *, tables: bool = False, **names: Any) -> list[Pair]:  # noqa: ARG002
        """See `Subject`."""
        return self._pairs(self.command(source, *names.values()), StdioServer, StdioClient)

    def command(self, source: bytes, *options: str) -> list[str]:
        """Write the changed source to a file; return what starts it."""
        file = Path(mkdtemp(prefix="tpharness-mutant-")) / "mutant.mjs"
        file.write_bytes(source)
        return [str(find_node().executable), *options, str(file), "--stdio"]

    def _pairs(self, command: list[str], server: Any, client: Any, tape: Tape | None = None) -> list[Pair]:
        more = {"spec": f"stdio:{shlex.join(command)}", "patience": Patience(answer=_NODE_SECONDS)}
        sides = (
            ("server", Players(server=server(**more), client=Reference())),
            ("client", Players(server=Reference(), client=client(**more))),
        )
        judged = [(wire, role, players) for wire in self.wires for role, players in sides]
        return [Pair(players=players, judged=(role,), wire=wire, tape=tape) for wire, role, players in judged]

    def watch(self) -> tuple[list[Pair], Callable[[], Iterable[int]]]:
        """See `Subject`: the program writes to a file what ran, before each answer, and a tape has what it is asked."""
        file = Path(mkdtemp(prefix="tpharness-hits-")) / "hits"
        file.touch()
        read = 0

        def ran() -> set[int]:
            nonlocal read
            data = file.read_bytes()[read:]
            read += len(data)
            return {int(word) for word in data.split()}

        watching = _WATCHING.replace(b"FILE", json.dumps(str(file)).encode()) + instrumented_node(self.source())
        tape = Tape()
        return self._pairs(self.command(watching), taped(StdioServer, tape), taped(StdioClient, tape), tape), ran


_NODE_SECONDS = 30.0
"""A thousand times what an answer takes, so that only one that never comes is too late, however busy the machine is."""
_WATCHING = b"""import { appendFileSync as __append__ } from "node:fs"; const __seen__ = new Set();
const __hit__ = (block) => __seen__.add(block); const __write__ = process.stdout.write.bind(process.stdout);
process.stdout.write = (...all) => {
  __append__(FILE, [...__seen__].join(" ") + "\\n"); __seen__.clear(); return __write__(...all); };
"""


class _Line:
    """Stands for the process of a target: a request goes in as a line, and its answer comes out as one."""

    stderr_tail = ""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self._answer = answer

    def ask(self, line: bytes, _seconds: float) -> bytes:
        request = json.loads(line)
        return json.dumps({"id": request["id"], **self._answer(request)}).encode()

    def stop(self, *_: object) -> None:
        """There is nothing to stop."""

    kill = interrupt = stop


class _InProcess:
    """A stdio target whose program runs in this process."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        super().__init__("stdio:in-process")  # type: ignore[call-arg]
        self._answer = answer

    @property
    def at_once(self) -> int:
        return 1

    def _spawn(self) -> Any:
        return _Line(self._answer)

    async def _in_thread(self, _process: object, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)


class _Server(_InProcess, StdioServer):
    pass


class _Client(_InProcess, StdioClient):
    pass


def instrumented(source: bytes) -> bytes:
    """Return the source with a call of `__hit__` at the start of each block, with the number of its first line."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                call = ast.Expr(ast.Call(ast.Name(HIT, ast.Load()), [ast.Constant(body[0].lineno)], []))
                body.insert(0, call)
    return ast.unparse(tree).encode()


# Left out are files that no thread depends on: what the releases of the `ai` package accept (`majors`) and show of
# arguments that stream (`partial_json`), how differences are shown (`diff`, `align`, `problems`), types, schemas and
# what goes through them (`pieces`), which tests compare, and which calls are open (`open_calls`), by which servers are
# judged and not the reference.
# Of other files is left out what no judge can see: `Name` and `Count` are built into records when the program starts,
# so that their mutants would not be installed, only targets over HTTP, on which no mutant is played, look into frames,
# what joins pieces of text saves memory alone, and what is `written` is for pictures. Of AG-UI: its records are held to
# its schema (`records`), `violations` are names, and `WIRE` is in the hands of who plays before a mutant is.
_LEFT_OUT = {
    "wires/vsp/records.py": ("Name",),
    "wires/sse/frames.py": ("RawFrame.field",),
    "journal/opened.py": ("OpenPart.join_pieces",),
    "journal/writer.py": ("JournalWriter.written",),
    "wires/vsp/fold.py": ("ChunkFold.written",),
    "wires/vsp/assembler.py": ("Assembler.written",),
    "server_events/recorder.py": ("Recorder.written",),
    "wires/ag_ui/fold.py": ("AgUiAssembler.written",),
    "wires/ag_ui/wire.py": ("WIRE",),
    "wires/ag_ui/objects.py": ("Count",),
}


def _reference(folder: str, one_in: int, without: tuple[str, ...] = (), wire: str = DEFAULT_WIRE) -> Iterator[Subject]:
    for path in sorted((REPOSITORY / "src" / "tpharness" / folder).glob("*.py")):
        if path.name not in ("__init__.py", *without):
            left_out = _LEFT_OUT.get(f"{folder}/{path.name}", ())
            file = str(path.relative_to(REPOSITORY))
            yield ReferenceSubject(file=file, one_in=one_in, left_out=left_out, wire=wire)


_HTTP = (
    *("stdio", "LiveRun", "Store", "Handler", "Reconnected", "download", "Server", "serve_http", "main"),
    *("CAPABILITIES", "PATIENCE"),
)
_NODE_HTTP = (
    *("stdio", "linesOf", "LiveRun", "Server", "bodyOf", "placeOf", "download", "read", "serveHttp", "refuseSocket"),
    *("leave", "Refusal", "check", "isDuration", "isText", "CAPABILITIES", "STREAM_TURN", "RUN_TURN", "USER_TURN"),
    *("RUN_REQUEST", "HEADER", "CASE", "LIMITS", "main", "Reconnected"),
)

_WITHOUT = ("diff.py", "align.py", "problems.py", "types.py", "schema.py", "pieces.py")

SUBJECTS: tuple[Subject, ...] = (
    ProgramSubject(file="examples/plain_python.py", one_in=6, left_out=_HTTP),
    NodeSubject(file="examples/plain_node.mjs", one_in=12, left_out=_NODE_HTTP),
    ReferenceSubject(file="src/tpharness/facts.py", one_in=2),
    *_reference("journal", 2),
    *_reference("dialects", 2),
    *_reference("wires/sse", 8),
    *_reference("wires/vsp", 8, ("majors.py", "partial_json.py", "wire.py")),
    *_reference("wires/ag_ui", 8, ("records.py", "violations.py"), "ag-ui"),
    *_reference("server_events", 8, ("open_calls.py",)),
    # What is plain is compared with every rule whenever a test judges a thread, and what sees less of it is no mistake.
    *_reference("protocol", 8, (*_WITHOUT, "plain.py", "plain_records.py", "second_look.py")),
    *_reference("protocol/rules", 8),
)
