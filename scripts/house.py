"""Measure how the source is built: what a command loads, how many names mean two things, where one idea has two homes.

    python scripts/house.py              the table of this tree
    python scripts/house.py --names      and what each number counts
    python scripts/house.py --at f77d30f7 [--at HEAD]   the table of other commits, one column each

How each number is counted:

- *loaded by COMMAND*: the lines of the files of `src/tpharness` that are imported when the command has ended, blank
  lines and comments included. Each command is run once, in a process of its own, with the arguments of `COMMANDS`.
- *files that name an API*: files of Python whose text has the word `gemini`, in any case.
- *engines*: modules that make a `ResultReady` or `RunFinished`: each decides what a result counts and what passes.
- *class names that mean two things*: names without a leading underscore by which two modules of `src/tpharness` define
  a class, counted once each.
- *small files*: files of fewer than 60 lines, `__init__.py` and `__main__.py` aside. *Without one public name*: of
  these, those whose `__all__` has not exactly one name, and for which, or whose package, `SMALL` has no reason.
- *told*: the word in any file below `src`, in any case.
- *a chunk's way*: from `Assembler.feed` with the bytes of one chunk until it returns. Stops are our functions that are
  entered, rooms the modules that they stand in, returns how often a module is entered, or returned to, that was left.
- *lines*: lines of all Python files below `src`.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

__all__ = ["COMMANDS", "double_names", "engines", "loaded_lines", "measure", "small_files", "word_count"]

REPOSITORY = Path(__file__).resolve().parent.parent

COMMANDS: Mapping[str, Sequence[str]] = {
    "list scenarios": ("list", "scenarios"),
    "check": ("check", "THREAD"),
    "app --list": ("app", "--list"),
    "run": ("run", "basics/tool-call-and-answer", "--trace", "none"),
    "explain": ("explain", "cycle.kept"),
}
"""What is run to see what a command loads, by the name that the table has. THREAD is a file with a valid thread."""

SMALL = {
    # a package whose files are one of a kind each
    "checks": "a check is a file, as CONTRIBUTING.md has it",
    "report": "a report format is a file, as CONTRIBUTING.md has it",
    "peers": "a peer is a program of its own",
    "cli": "a command is a file",
    "protocol/rules": "what the rules are about is a file: agents, usage, calls",
    "model_apis/anthropic": "every API has the same files, however little it has to say in one",
    "model_apis/gemini": "every API has the same files, however little it has to say in one",
    "model_apis/openai_chat": "every API has the same files, however little it has to say in one",
    "model_apis/openai_responses": "every API has the same files, however little it has to say in one",
    # a table of names, which is read beside the code that uses it
    "targets/computing.py": "the two things that a system says of a process's time",
    "histories/stored/problems.py": "the kinds of findings of all formats of stored messages",
    "server_events/native.py": "the types of events, without what reads them",
    "server_events/violations.py": "the kinds of findings of server events",
    "wires/vsp/states.py": "the table of states, which a reader looks up",
    "wires/vsp/violations.py": "the kinds of findings of the wire",
    "explore/generate/kinds.py": "the table of what a campaign generates",
    "histories/registry.py": "the table of histories",
    # a door: what one room may ask of another, so that nothing behind it is loaded before
    "rooms.py": "which rooms there are",
    "explore/room.py": "the door of the explorer",
    "histories/room.py": "the door of the histories",
    "strategies.py": "the public door of the explorer's strategies",
    "model_apis/check.py": "the door of the rules: a payload and nothing else",
    "wires/checked.py": "the door of the rules of any wire",
    "lazy_names.py": "how a door opens only when somebody asks",
    # what several rooms need, and none of them may import from another
    "imports.py": "targets, profiles and defects are modules of the user alike",
    "printable.py": "whoever prints needs it, and it may need nobody",
    "resources.py": "the only place that knows where data lies",
    "waiting.py": "workers, pytest and `tpharness.testing` wait alike",
    "protocol/reasons.py": "the words of an interruption, for documents, events and both wires",
    "model_apis/event_bytes.py": "what all APIs write alike",
    "model_apis/messages.py": "what all APIs read alike",
    "model_apis/openai_errors.py": "what two APIs of one vendor answer alike",
    "model_apis/payloads.py": "what Pydantic AI writes for every API",
    "wires/sse/writer.py": "the writing half of server-sent events, which both wires use",
    "wires/ag_ui/carriers.py": "the key of the carrier, which both halves of the wire use",
    "apps/checks/contract.py": "what every check of an application is",
    "apps/loopback.py": "provider, page, ledger and proxy listen alike",
    "apps/marks.py": "cases write marks, the provider reads them",
    "apps/client/own_code.py": "profiles and translators are the user's code alike",
    "histories/stored/arguments.py": "formats of stored messages read arguments alike",
    "targets/connection.py": "the server of streams and the relay in front of one end connections alike",
    "run/citing.py": "`run` and pytest choose by clauses alike",
    # one idea with the record or the constant that belongs to it
    "apps/client/text_stream.py": "one wire, with its content types",
    "apps/contact.py": "one turn, with the case that it is",
    "explore/mutation/settling.py": "when a verdict is settled, apart from what plays",
    "explore/shrinking/values.py": "the steps that every shrinker takes",
    "histories/langchain/real.py": "the only file that needs langchain-core",
    "histories/message_parts/answers.py": "what was measured of one program's end of a task",
    "histories/message_parts/as_planned.py": "what document 002 asks beyond that program",
    "picture/plain.py": "a timeline without a script, beside the one with",
    "protocol/align.py": "one algorithm, with its pair",
    "pytest_plugin/unjudged.py": "one outcome that pytest does not have",
    "reference_app/refusal.py": "every answer that is not a success",
    "reference_app/settings.py": "the settings of a server",
    "run/other_wires.py": "what is played a second time for R39",
    "verdict/tally.py": "what the last lines count",
    "verdict/traceability.py": "clauses of results",
}
"""Packages and files that are right to be small, each with the reason."""

_LOADED = """
import sys, os, atexit
root = os.path.join(sys.argv[1], "tpharness")
def report():
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    ours = sorted(f for f in files if f and f.startswith(root + os.sep) and f.endswith(".py"))
    with open(sys.argv_file, "w") as out:
        out.write("\\n".join(ours))
sys.argv_file = sys.argv[2]
from tpharness.cli import app
words = sys.argv[3:]
try:
    app(words, prog_name="tpharness")
except SystemExit as end:
    report()
    sys.exit(end.code)
"""

_WALK = """
import json, sys
root = sys.argv[1] + "/tpharness/"
try:
    from tpharness.wires.vsp.assembler import Assembler
except ImportError:
    from tpharness.vsp.assembler import Assembler
AT = "2026-01-01T00:00:00.000000Z"
def frame(kind, **fields):
    return b"data: " + json.dumps({"type": kind, **fields}, separators=(",", ":")).encode() + b"\\n\\n"
def walk(before, data):
    assembler = Assembler()
    assembler.begin(AT)
    for piece in before:
        assembler.feed(piece, AT)
    stops, path = 0, []
    def note(name):
        if name.startswith(root) and (not path or path[-1] != name):
            path.append(name)
    def profile(frame, event, _argument):
        nonlocal stops
        name = frame.f_code.co_filename
        if name.startswith(root):
            if event == "call":
                stops += 1
                note(name)
            elif event == "return" and frame.f_back is not None:
                note(frame.f_back.f_code.co_filename)
    sys.setprofile(profile)
    assembler.feed(data, AT)
    sys.setprofile(None)
    return f"{stops} / {len(set(path))} / {len(path) - len(set(path))}"
begun = [frame("start", messageId="m"), frame("start-step")]
call = [*begun, frame("tool-input-start", toolCallId="k", toolName="n")]
print(json.dumps({
    "text-start": walk(begun, frame("text-start", id="t")),
    "tool-input-delta": walk(call, frame("tool-input-delta", toolCallId="k", inputTextDelta="x")),
}))
"""


def _python(tree: Path, source: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(tree / "src"), "NO_COLOR": "1", "TPHARNESS_TRACE": "none"}
    command = [sys.executable, "-c", source, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=env, cwd=tree)  # noqa: S603  # this Python


def loaded_files(command: str, tree: Path = REPOSITORY) -> list[Path]:
    """Return the files of ours that a command of `COMMANDS` has imported when it ends. RuntimeError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "loaded"
        thread = Path(folder) / "thread.json"
        good = yaml.safe_load((tree / "conformance" / "documents" / "good.yaml").read_text("utf-8"))
        thread.write_text(json.dumps(good["tool-call"]), "utf-8")
        words = [str(thread) if word == "THREAD" else word for word in COMMANDS[command]]
        done = _python(tree, _LOADED, str(tree / "src"), str(file), *words)
        if done.returncode != 0:
            raise RuntimeError(f"tpharness {command} ended with {done.returncode}: {done.stderr or done.stdout}")
        return [Path(line) for line in file.read_text("utf-8").splitlines()]


def loaded_lines(command: str, tree: Path = REPOSITORY) -> int:
    """Return how many lines of ours a command of `COMMANDS` loads."""
    return sum(map(_line_count, loaded_files(command, tree)))


def _line_count(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def _sources(tree: Path) -> list[Path]:
    return sorted((tree / "src" / "tpharness").rglob("*.py"))


def _name(path: Path, tree: Path) -> str:
    return path.relative_to(tree / "src" / "tpharness").as_posix()


def double_names(tree: Path = REPOSITORY) -> dict[str, list[str]]:
    """Return the public names by which more than one module defines a class, with the modules."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in _sources(tree):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(_name(path, tree))
    return {name: files for name, files in sorted(homes.items()) if len(files) > 1}


def engines(tree: Path = REPOSITORY) -> list[str]:
    """Return the modules that decide what a result counts and whether a run passes."""
    return [
        _name(path, tree)
        for path in _sources(tree)
        if any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("ResultReady", "RunFinished")
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
        )
    ]


def small_files(tree: Path = REPOSITORY) -> dict[str, list[str]]:
    """Return the files of fewer than 60 lines, with their public names; those that are empty or `__main__` aside."""
    found = {}
    for path in _sources(tree):
        if path.name in ("__init__.py", "__main__.py") or _line_count(path) >= 60:
            continue
        names: list[str] = []
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                names = ast.literal_eval(node.value)
        found[_name(path, tree)] = names
    return found


def small_without_reason(tree: Path = REPOSITORY) -> dict[str, list[str]]:
    """Return the small files that have not exactly one public name, and no reason in `SMALL`."""
    return {
        name: names
        for name, names in small_files(tree).items()
        if len(names) != 1 and not any(name == place or name.startswith(f"{place}/") for place in SMALL)
    }


def word_count(word: str, tree: Path = REPOSITORY) -> dict[str, int]:
    """Return how often each file below `src` has a word."""
    pattern = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    counts = {_name(path, tree): len(pattern.findall(path.read_text("utf-8"))) for path in _sources(tree)}
    return {name: count for name, count in counts.items() if count}


def _naming(word: str, folder: Path) -> int:
    return sum(word in path.read_text("utf-8").lower() for path in folder.rglob("*.py"))


def walks(tree: Path = REPOSITORY) -> dict[str, str]:
    """Return stops, rooms and returns of the bytes of two chunks."""
    done = _python(tree, _WALK, str(tree / "src"))
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def measure(tree: Path = REPOSITORY) -> Iterator[tuple[str, str]]:
    """Yield the rows of the table: what is measured, and its value in this tree."""
    gemini = f"{_naming('gemini', tree / 'src')}, and {_naming('gemini', tree / 'tests')} of tests"
    yield "files that name `gemini`", gemini
    for command in COMMANDS:
        yield f"own lines loaded by `{command}`", f"{loaded_lines(command, tree):,}"
    yield "engines that decide whether a run passes", str(len(engines(tree)))
    yield "public class names that mean two things", str(len(double_names(tree)))
    small = small_files(tree)
    yield (
        "files under 60 lines; without one public name or a reason",
        f"{len(small)}; {len(small_without_reason(tree))}",
    )
    yield "the word “told” in src", str(sum(word_count("told", tree).values()))
    for chunk, walk in walks(tree).items():
        yield f"`{chunk}`: stops / rooms / returns", walk
    yield "lines of src", f"{sum(map(_line_count, _sources(tree))):,}"


def _print_names(tree: Path) -> None:
    print("\nclass names that mean two things")
    for name, files in double_names(tree).items():
        print(f"  {name}: {', '.join(files)}")
    print("\nsmall files without one public name or a reason")
    for name, names in small_without_reason(tree).items():
        print(f"  {name}: {', '.join(names) or '–'}")
    print("\nengines:", ", ".join(engines(tree)))
    print("\ntold:", ", ".join(f"{name} {count}" for name, count in word_count("told", tree).items()))


def _at(commit: str, folder: Path) -> Path:
    tree = folder / commit.replace("/", "-")
    tree.mkdir()
    archive = subprocess.run(["git", "archive", commit], capture_output=True, check=True, cwd=REPOSITORY).stdout  # noqa: S603, S607
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)  # noqa: S603, S607
    return tree


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--at", action="append", default=[], metavar="COMMIT", help="measure this commit instead")
    parser.add_argument("--names", action="store_true", help="also print what the numbers count")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trees = {commit: _at(commit, Path(folder)) for commit in arguments.at} or {"this tree": REPOSITORY}
        columns = [dict(measure(tree)) for tree in trees.values()]
        print(f"| measure | {' | '.join(trees)} |\n|---|{'---|' * len(trees)}")
        for row in columns[0]:
            print(f"| {row} | {' | '.join(column[row] for column in columns)} |")
        if arguments.names:
            _print_names(next(iter(trees.values())))


if __name__ == "__main__":
    main()
