"""`tpharness docs`: the pages of the documentation that belong to this version, wherever it is installed.

The rulings and the clauses, which every finding cites, are pages too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from tpharness.clauses import Clause, load_clauses
from tpharness.cli.options import Argument
from tpharness.errors import UsageError, did_you_mean
from tpharness.output import write_atomically
from tpharness.printable import say
from tpharness.resources import conformance_dir, docs_dir, readme_path

__all__ = ["docs", "pages"]

_HEADING = re.compile(r"(#+) +(.*\S)")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def docs(
    page: Annotated[str, Argument(help="A page, such as CONTROL, a schema or a reproduction; none lists them.")] = "",
    section: Annotated[str, Argument(help="A section of it, by its heading or how that begins.")] = "",
) -> None:
    """Print a page of the documentation or one section of it, or list the pages."""
    known = pages()
    if not page:
        say(*(f"{name:14}  {_title(read())}" for name, read in known.items()), "", _where())
        return
    if page.endswith(".json"):
        write_atomically("-", _file("schema", conformance_dir() / "schemas", page))
        return
    if page.endswith((".py", ".mjs")):
        write_atomically("-", _file("reproduction", docs_dir() / "reproductions", page))
        return
    name = page.removeprefix("docs/").removesuffix(".md").upper()
    if name not in known:
        hint = did_you_mean(name, known, "tpharness docs lists the pages")
        raise UsageError(f"the documentation has no page {page!r}", hint=hint)
    text = known[name]()
    if section:
        text = _find_section(text, name, section)
    write_atomically("-", text)  # as it is: only what others wrote has to be escaped


def pages() -> dict[str, Callable[[], str]]:
    """Return by its name what reads each page: the README, those of `docs/` in order, the rulings and the clauses."""
    files = {path.stem: path for path in (readme_path(), *sorted(docs_dir().glob("*.md")))}
    files["RULINGS"] = conformance_dir() / "rulings.md"
    return {**{name: partial(path.read_text, "utf-8") for name, path in files.items()}, "CLAUSES": _clauses_page}


def _file(what: str, folder: Path, page: str) -> str:
    """Return the file of that name in a folder, or of that path as pages have it. UsageError without one."""
    name = page.rpartition("/")[2]
    known = {path.name: path for path in sorted(folder.glob(f"*.{name.rpartition('.')[2]}"))}
    if name not in known:
        hint = did_you_mean(name, known, f"there are {', '.join(known)}")
        raise UsageError(f"the documentation has no {what} {page!r}", hint=hint)
    return known[name].read_text("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """A part of a page: its heading without marks, and its text with all that stands below it."""

    heading: str
    text: str


def _find_section(text: str, page: str, wanted: str) -> str:
    """Return the section of that heading, or else the only one whose heading begins so. UsageError without one."""
    sections = list(_split(text))
    lower = _plain(wanted)
    found = [one for one in sections if _plain(one.heading) == lower]
    found = found or [one for one in sections if re.match(rf"{re.escape(lower)}(?!\w)", _plain(one.heading))]
    found = found or [one for one in sections if _plain(one.heading).startswith(lower)]
    if len(found) == 1 or (found and _plain(found[0].heading) == lower):
        return found[0].text
    if found:
        some = ", ".join(repr(one.heading) for one in found[:3])
        raise UsageError(f"{page} has {len(found)} sections that begin with {wanted!r}", hint=f"for example {some}")
    hint = did_you_mean(wanted, [one.heading for one in sections], f"tpharness docs {page} | grep '^#' lists them")
    raise UsageError(f"{page} has no section {wanted!r}", hint=hint)


def _plain(heading: str) -> str:
    return heading.replace("`", "").strip().lower()


def _split(text: str) -> Iterator[_Section]:
    """Yield each section; it ends before the next heading of its own level or of a higher one."""
    lines = text.splitlines(keepends=True)
    heads: list[tuple[int, int, str]] = []
    fenced = False
    for number, line in enumerate(lines):
        if _FENCE.match(line):
            fenced = not fenced
        head = None if fenced else _HEADING.match(line)
        if head is not None:
            heads.append((number, len(head[1]), head[2]))
    for at, (number, level, heading) in enumerate(heads):
        end = next((other for other, depth, _ in heads[at + 1 :] if depth <= level), len(lines))
        yield _Section(heading=heading, text="".join(lines[number:end]).rstrip() + "\n")


def _clauses_page() -> str:
    """Return `conformance/clauses.yaml` as a page, a section for each subject and in it one for each clause."""
    clauses = load_clauses().values()
    subjects: dict[str, list[Clause]] = {}
    for clause in clauses:
        subjects.setdefault(clause.id.partition(".")[0], []).append(clause)
    blocks = [
        f"# Clauses: the {len(clauses)} normative statements of ThreadProtocol",
        "`tpharness explain ID` also has the scenarios that are about a clause, and what violates it and is found.",
    ]
    for subject, some in subjects.items():
        blocks.append(f"## {subject}")
        for one in some:
            decided = f"; decided by {', '.join(one.rulings)}" if one.rulings else ""
            blocks += [f"### {one.id}", f"{one.level} in {', '.join(one.versions)}. {one.text}"]
            blocks.append(f"From {one.document}, {one.section}{decided}.")
    return "\n\n".join(blocks) + "\n"


def _where() -> str:
    """Return where the files are that the pages name: of the repository, an installation has only what it reads."""
    folder = conformance_dir().parent
    return f"conformance/ and scenarios/ are in {folder}; what a page names and is not there is in the repository"


def _title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")
