"""`tpharness docs`: the pages of the documentation that belong to this version, wherever it is installed."""

from __future__ import annotations

from typing import Annotated

from tpharness.cli.options import Argument
from tpharness.errors import UsageError, did_you_mean
from tpharness.output import write_atomically
from tpharness.printable import say
from tpharness.resources import docs_dir

__all__ = ["docs", "pages"]


def docs(page: Annotated[str, Argument(help="A page, such as CONTROL; none lists them.")] = "") -> None:
    """Print a page of the documentation, or list the pages."""
    if not page:
        say(*(f"{name:14}  {_title(name)}" for name in pages()))
        return
    name = page.removeprefix("docs/").removesuffix(".md").upper()
    known = pages()
    if name not in known:
        hint = did_you_mean(name, known, "tpharness docs lists the pages")
        raise UsageError(f"the documentation has no page {page!r}", hint=hint)
    write_atomically("-", _text(name))  # as it is: only what others wrote has to be escaped


def pages() -> list[str]:
    """Return the names of the pages, in alphabetical order."""
    return sorted(path.stem for path in docs_dir().glob("*.md"))


def _title(name: str) -> str:
    return _text(name).partition("\n")[0].removeprefix("# ")


def _text(name: str) -> str:
    return (docs_dir() / f"{name}.md").read_text("utf-8")
