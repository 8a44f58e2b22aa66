"""`tpharness docs`: the pages of the documentation that belong to this version, wherever it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tpharness.cli.options import Argument
from tpharness.errors import UsageError, did_you_mean
from tpharness.output import write_atomically
from tpharness.printable import say
from tpharness.resources import conformance_dir, docs_dir, readme_path

__all__ = ["docs", "pages"]


def docs(page: Annotated[str, Argument(help="A page, such as CONTROL; none lists them.")] = "") -> None:
    """Print a page of the documentation, or list the pages."""
    known = pages()
    if not page:
        say(*(f"{name:14}  {_title(file)}" for name, file in known.items()), "", _where())
        return
    name = page.removeprefix("docs/").removesuffix(".md").upper()
    if name not in known:
        hint = did_you_mean(name, known, "tpharness docs lists the pages")
        raise UsageError(f"the documentation has no page {page!r}", hint=hint)
    write_atomically("-", known[name].read_text("utf-8"))  # as it is: only what others wrote has to be escaped


def pages() -> dict[str, Path]:
    """Return the file of each page by its name: the README, then the others in alphabetical order."""
    return {path.stem: path for path in (readme_path(), *sorted(docs_dir().glob("*.md")))}


def _where() -> str:
    """Return where the files are that the pages name: of the repository, an installation has only what it reads."""
    folder = conformance_dir().parent
    return f"conformance/ and scenarios/ are in {folder}; what a page names and is not there is in the repository"


def _title(file: Path) -> str:
    return file.read_text("utf-8").partition("\n")[0].removeprefix("# ")
