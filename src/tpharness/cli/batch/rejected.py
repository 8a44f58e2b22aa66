"""The documents of a batch of which nothing was made, each with what is wrong with it, and what somebody made of them.

Workers write them before the document is noted as done, so that whatever ends the process loses none. They have the
places that results have in a folder: the line 17 of `store.jsonl` is `store/17.json`. A copy that somebody has edited
stands for its document from then on, and nothing but their own hand changes or removes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tpharness.cli.batch.digest import digest_of
from tpharness.cli.batch.ledger import Entry
from tpharness.cli.batch.outputs import IN_USE, LINES, already_there, files_in, write_result
from tpharness.cli.batch.sources import BatchSource
from tpharness.cli.batch.work import BatchDocument, BatchOptions
from tpharness.cli.batch.writers import make_folder
from tpharness.cli.files import read_bytes
from tpharness.errors import UsageError
from tpharness.output import write_bytes

__all__ = ["Rejected", "open_rejected", "refuse_rejected", "refuse_what_was_rejected"]

_WHY, _TAKEN = ".why.txt", ".taken.txt"  # endings that no command takes from a folder: what was mended can be read
_DIGEST = "digest of the document: "


@dataclass(frozen=True, slots=True)
class Rejected:
    """The folder of what was rejected. It is pickled."""

    folder: Path

    def corrected(self, source: BatchSource, read: BatchDocument) -> BatchDocument | None:
        """Return the copy of a document that was read if somebody has edited it; it has the path of the copy as name.

        UsageError if the document has changed as well since the copy was made, InputError if that cannot be read.
        """
        copy = self.folder / source.place
        if not self._is_edited(source, read.data):
            return None
        made_of = self._digest(source)
        if made_of not in ("", digest_of(read.data)):
            hint = f"put what is right into {source.name}, and remove {copy}, which is not read then"
            raise UsageError(f"{source.name} has changed since {copy} was made of it, and that was edited", hint=hint)
        return replace(read, name=str(copy), data=read_bytes(str(copy)))

    def has(self, source: BatchSource, entry: Entry, *, corrected: bool) -> bool:
        """Whether there is here what belongs to a document that an earlier run has done, and nothing else."""
        return (self._path(source, _WHY).exists(), self._path(source, _TAKEN).exists()) == (
            bool(entry.code),
            corrected and not entry.code,
        )

    def note(self, source: BatchSource, read: BatchDocument | None, entry: Entry, why: str) -> str:
        """Write a document that was rejected, and return its path, "" if there is none.

        Remove one that an earlier run has rejected, and this one has not. An edited copy stays.
        """
        copy, edited = self.folder / source.place, self._is_edited(source, None if read is None else read.data)
        digest, said = self._digest(source), ""
        if entry.code:
            if read is not None and not edited:
                digest = digest_of(read.data)
                write_result(self.folder, source.place, read.data)
            said = self._say(source, _WHY, why, digest)
        elif edited:
            said = self._say(source, _TAKEN, f"{entry.outcome} as it is corrected in {copy}", digest)
        elif any(self._path(source, ending).exists() for ending in (_WHY, _TAKEN)):
            copy.unlink(missing_ok=True)
        for ending in (_WHY, _TAKEN):
            if ending != said:
                self._path(source, ending).unlink(missing_ok=True)
        return str(copy) if entry.code and copy.exists() else ""

    def close(self) -> Iterator[str]:
        """Yield the files that no document was read from; leave nothing of ours in an empty folder."""
        for folder, folders, files in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            texts = {name for name in files if name.endswith((_WHY, _TAKEN))}
            for name in sorted(set(files) - texts):
                if not (name.startswith(".") or texts & {name + _WHY, name + _TAKEN}):
                    yield str(Path(folder, name))
        if not any(files_in(self.folder)):
            _marker(self.folder).unlink(missing_ok=True)

    def _is_edited(self, source: BatchSource, read: bytes | None) -> bool:
        """Whether there is a copy that is neither the document as it is nor as it was when the copy was made."""
        try:
            data = (self.folder / source.place).read_bytes()
        except FileNotFoundError:
            return False
        except OSError:  # whatever it is, we have not written it
            return True
        return data != read and digest_of(data) != self._digest(source)

    def _digest(self, source: BatchSource) -> str:
        """Return the digest of the document when its copy was made, "" if that is not said."""
        for ending in (_WHY, _TAKEN):
            try:
                lines = self._path(source, ending).read_text("utf-8", "replace").splitlines()
            except OSError:
                continue
            return next((line.removeprefix(_DIGEST) for line in reversed(lines) if line.startswith(_DIGEST)), "")
        return ""

    def _say(self, source: BatchSource, ending: str, what: str, digest: str) -> str:
        said = f"{source.name}: {what}\n" + (f"{_DIGEST}{digest}\n" if digest else "")
        write_result(self.folder, source.place + ending, said.encode("utf-8", "backslashreplace"))
        return ending

    def _path(self, source: BatchSource, ending: str) -> Path:
        return self.folder / (source.place + ending)


def open_rejected(options: BatchOptions) -> Rejected | None:
    """Make the folder of `--rejected`. UsageError as for `refuse_rejected`."""
    refuse_rejected(options)
    if not options.rejected:
        return None
    folder = Path(options.rejected)
    make_folder(folder)
    write_bytes(str(_marker(folder)), f"{_beside(folder, options.output)}\n".encode("utf-8", "surrogateescape"))
    return Rejected(folder)


def refuse_rejected(options: BatchOptions) -> None:
    """UsageError if there is something in the folder of `--rejected`, and neither `--resume` nor `--force`.

    And if it is not of this output.
    """
    if not options.rejected:
        return
    folder = Path(options.rejected)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--rejected: {folder} is a file", hint="name a folder")
    if folder.suffix in LINES:
        hint = f"write --rejected {folder.with_suffix('')}; each document is a file in it, which you can correct"
        raise UsageError(f"--rejected takes a folder, and {folder} has the ending of a file", hint=hint)
    results = Path(options.output).resolve()
    if options.output != "-" and (folder.resolve() == results or results in folder.resolve().parents):
        raise UsageError(f"--rejected {folder} is inside of the results", hint="name a folder beside them")
    there = any(files_in(folder))
    if there and not (options.resume or options.force):
        what = already_there(folder)
        raise UsageError(f"--rejected: the folder {folder} is not empty: {what}", hint=f"{IN_USE} folder")
    if there and _output_of(folder) != _beside(folder, options.output):
        hint = "name another folder, or the -o that the folder was made with"
        raise UsageError(f"--rejected: what is in {folder} was not rejected for -o {options.output}", hint=hint)


def refuse_what_was_rejected(files: Sequence[str], output: str) -> None:
    """UsageError for files that were rejected for this output: their conversations would be in it twice, or alone."""
    if output == "-":
        return
    for name in files:
        whole = Path(name).resolve()
        for folder in (whole, *whole.parents):
            if _output_of(folder) == _beside(folder, output) != "":
                made = f"the command that made both, with --rejected {os.path.relpath(folder)} --resume"
                raise UsageError(
                    f"{name} was rejected for {output}: what is read from it could be in there twice",
                    hint=f"type {made}: it reads what you have corrected there; or name another -o",
                )


def _marker(folder: Path) -> Path:
    return folder / ".tpharness-rejected"


def _output_of(folder: Path) -> str:
    """Return the output that a folder was made with, as `_beside` says it, "" for another folder."""
    try:
        return _marker(folder).read_bytes().decode("utf-8", "surrogateescape").removesuffix("\n")
    except OSError:
        return ""


def _beside(folder: Path, output: str) -> str:
    return output if output == "-" else os.path.relpath(Path(output).resolve(), folder.resolve())
