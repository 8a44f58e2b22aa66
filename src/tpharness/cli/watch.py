"""`tpharness run --watch`: play, and play again what a change of a file touches.

In: the options of a run. Files are polled: those of the scenarios, and those that a target is written in as far as its
name tells (`python:` modules, files in a `stdio:` command). A changed scenario is played alone, a changed target with
everything. Each round is a process of its own, so that a changed Python module is imported anew. Ctrl-C ends it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from tpharness.errors import TpharnessError
from tpharness.printable import say
from tpharness.run import RunOptions
from tpharness.run.select import built_in_roots, select_scenarios
from tpharness.targets.children import split_command

__all__ = ["find_touched", "target_files", "watch", "watch_run"]

Stamps = Mapping[Path, tuple[int, int]]
_EVERY = 0.5  # seconds between two looks at the files


def watch_run(options: RunOptions, targets: Iterable[str], words: Sequence[str]) -> None:
    """Play and watch until a signal ends it. `words` are those of the command line, without `--watch`."""
    files = list(target_files(targets))
    roots = options.roots or built_in_roots(options.wire)

    def play(only: Sequence[str]) -> None:
        command = [sys.executable, "-m", "tpharness", *words, *(word for name in only for word in ("--only", name))]
        subprocess.run(command, check=False)  # noqa: S603  # the command that the user typed

    def touched(changed: Sequence[Path]) -> list[str] | None:
        if any(path in files for path in changed):
            return None
        try:
            known = {one.id: one.path for one in select_scenarios(options.ids, roots)}
        except TpharnessError as error:
            say(f"tpharness: {error}", err=True)
            return []
        return find_touched(changed, known)

    watch(play, touched, lambda: _stamp([*roots, *files]), time.sleep)


def watch(
    play: Callable[[Sequence[str]], None],
    touched: Callable[[Sequence[Path]], list[str] | None],
    look: Callable[[], Stamps],
    sleep: Callable[[float], None],
) -> None:
    """Play everything, and then what changes touch, for ever.

    `touched` gives the ids to play, None for everything; `look` gives a stamp for each file. A change is taken once the
    files have come to rest, since an editor writes in several steps.
    """
    before = look()
    play(())
    while True:
        say("watching; Ctrl-C ends it", err=True, flush=True)
        after = _wait_for_change(before, look, sleep)
        changed = sorted(path for path in after if after[path] != before.get(path))
        before = after
        only = touched(changed) if changed else []
        if only is None or only:
            say("", f"changed: {', '.join(path.name for path in changed)}", err=True, flush=True)
            play(only or ())


def _wait_for_change(before: Stamps, look: Callable[[], Stamps], sleep: Callable[[float], None]) -> Stamps:
    last = before
    while True:
        sleep(_EVERY)
        now = look()
        if now == last != before:
            return now
        last = now


def find_touched(changed: Iterable[Path], known: Mapping[str, Path]) -> list[str]:
    """Return the scenarios, given by id with their files, that the changed files are, or that name one of them."""
    names, paths = {path.name for path in changed}, {path.resolve() for path in changed}
    found = []
    for name, path in known.items():
        if path.resolve() in paths or any(other in _read(path) for other in names if not other.endswith(path.suffix)):
            found.append(name)
    return found


def target_files(targets: Iterable[str]) -> Iterator[Path]:
    """Yield the files that the named targets are written in, as far as their names tell."""
    for target in targets:
        kind, _, rest = target.partition(":")
        if kind == "python":
            yield from _module_files(rest.rpartition(":")[0])
        elif kind == "stdio":
            yield from (path for path in map(Path, split_command(rest)) if path.is_file())


def _module_files(module: str) -> Iterator[Path]:
    """Yield the file of a module: below the current folder, as a target is looked for, or where Python finds it."""
    here = module.replace(".", "/")
    for path in (Path(f"{here}.py"), Path(here) / "__init__.py"):
        if path.is_file():
            yield path
            return
    with suppress(ImportError, ValueError):
        spec = find_spec(module)
        if spec is not None and spec.origin is not None:
            yield Path(spec.origin)


def _stamp(roots: Iterable[Path]) -> Stamps:
    """Return when each file was changed last, and its size. A file that goes away meanwhile is left out."""
    stamps: dict[Path, tuple[int, int]] = {}
    for root in roots:
        for path in (root, *root.rglob("*")) if root.is_dir() else (root,):
            try:
                status = path.stat()
            except OSError:
                continue
            if path.is_file():
                stamps[path] = (status.st_mtime_ns, status.st_size)
    return stamps


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
