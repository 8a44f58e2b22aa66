"""`docs` prints the pages that were installed, and what errors name is among them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Call
from tests.test_wheel import INCLUDED

from tpharness.clauses import load_clauses

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_pages_are_listed_with_their_titles(call: Call) -> None:
    """Each page once, by the name that prints it: the README first, then in order."""
    *lines, _, _ = call("docs").out.splitlines()
    assert [line.split()[0] for line in lines] == [*(page.stem for page in PAGES), "RULINGS", "CLAUSES"]
    assert "CONTROL         Test an implementation: the control contract" in lines


@pytest.mark.parametrize("name", ["CONTROL", "control", "CONTROL.md", "docs/CONTROL.md"])
def test_a_page_is_printed_however_it_is_named(name: str, call: Call) -> None:
    """In any case, and as the file that it is in a checkout."""
    assert call("docs", name).out == (ROOT / "docs" / "CONTROL.md").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_printed_as_it_is(page: Path, call: Call) -> None:
    """Also one that shows what a CI server obeys."""
    assert call("docs", page.stem).out == page.read_text("utf-8")


def test_one_section_of_a_page_is_printed(call: Call) -> None:
    """By its heading, with what stands below it and nothing of the next one; a heading may be cut short."""
    whole = (ROOT / "docs" / "EVENTS.md").read_text("utf-8")
    part = "### A tool fails" + whole.partition("\n### A tool fails")[2].partition("\n### ")[0].rstrip() + "\n"
    assert "No rooms" in part
    for wanted in ("A tool fails", "a tool fails", "a tool f"):
        assert call("docs", "EVENTS", wanted).out == part
    setting_up = call("docs", "README", "Install and run").out
    assert "pip install . && tpharness run" in setting_up
    assert "Write your first scenario" not in setting_up
    assert call("docs", "README", "tpharness").out.rstrip() == (ROOT / "README.md").read_text("utf-8").rstrip()


def test_rulings_and_clauses_are_pages(call: Call) -> None:
    """Whole, or the section of one that a finding cites; what begins the same way is another one."""
    assert call("docs", "RULINGS").out == (ROOT / "conformance" / "rulings.md").read_text("utf-8")
    one = call("docs", "rulings", "R6").out
    assert one.startswith("## R6 ")
    assert "R60" not in one.splitlines()[0]
    assert one.count("\n## ") == 0
    every = call("docs", "CLAUSES").out
    assert [line[4:] for line in every.splitlines() if line.startswith("### ")] == list(load_clauses())
    kept = call("docs", "CLAUSES", "cycle.kept").out
    assert kept.startswith("### cycle.kept\n\nMUST in 0.0.4. Every cycle that was complete")
    assert "decided by R19" in kept


def test_a_section_that_is_not_there_or_not_one_is_wrong_use(call: Call) -> None:
    """With the one that was meant, or some of those that could be."""
    called = call("docs", "EVENTS", "A tool fals")
    assert (called.code, "did you mean A tool fails?" in called.err) == (2, True)
    several = call("docs", "EVENTS", "A call")
    assert (several.code, "sections that begin with 'A call'" in several.err) == (2, True)
    assert "A call that comes at once" in several.err


def test_the_list_ends_with_where_the_files_are_that_pages_name(call: Call) -> None:
    """In a checkout that is its top."""
    assert f"conformance/ and scenarios/ are in {ROOT};" in call("docs").out.splitlines()[-1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_of_what_a_wheel_has_not_that_it_is_in_the_repository(page: Path) -> None:
    """In the first paragraph that names such a file, or its commands do. An installation would be searched for it."""
    named = re.compile(
        r"(?<![\w./-])(?:\.\./)?((?:conformance|scripts|examples|benchmarks|tests|src|\.github)/[\w./-]*\w)"
    )
    for paragraph in re.split(r"\n\n(?! )", page.read_text("utf-8")):
        files = [file for file in named.findall(paragraph) if (ROOT / file).exists()]
        if any(not any(f"{file}/".startswith(f"{one}/") for one in INCLUDED) for file in files):
            assert re.search("repository|checkout|clone", paragraph), paragraph
            return


def test_the_readme_is_a_page(call: Call) -> None:
    """It stands beside the folder of the others."""
    assert call("docs", "README.md").out == (ROOT / "README.md").read_text("utf-8")


def test_a_page_that_is_not_there_is_told_with_one_that_is(call: Call) -> None:
    """Wrong use, which names the page that was meant."""
    called = call("docs", "CONTORL")
    assert (called.code, "did you mean CONTROL?" in called.err) == (2, True)
    assert "tpharness docs lists the pages" in call("docs", "??").err


@pytest.mark.parametrize("name", ["vsp-chunk.schema.json", "conformance/schemas/vsp-chunk.schema.json"])
def test_a_schema_is_printed_as_it_is(name: str, call: Call) -> None:
    """Whoever has the wheel alone reads which fields a chunk must have."""
    printed = call("docs", name)
    assert printed.code == 0
    assert printed.out == (ROOT / "conformance" / "schemas" / "vsp-chunk.schema.json").read_text("utf-8")


def test_a_schema_that_is_not_there_is_wrong_use_and_says_which_are(call: Call) -> None:
    """A name that is nearly right is answered with the right one."""
    printed = call("docs", "vsp-chunks.schema.json")
    assert printed.code == 2
    assert "vsp-chunk.schema.json" in printed.err


@pytest.mark.parametrize("name", ["ai_sdk_abort.mjs", "reproductions/pydantic_ai_lost_turn.py"])
def test_a_reproduction_is_printed_as_it_is(name: str, call: Call) -> None:
    """A fix names the program in which a framework does the same alone; who has the wheel alone runs it."""
    printed = call("docs", name)
    assert printed.code == 0
    assert printed.out == (ROOT / "docs" / "reproductions" / Path(name).name).read_text("utf-8")


def test_a_reproduction_that_is_not_there_is_wrong_use_and_says_which_is_meant(call: Call) -> None:
    """As a schema."""
    printed = call("docs", "ai_sdk_abrt.mjs")
    assert (printed.code, "did you mean ai_sdk_abort.mjs?" in printed.err) == (2, True)


def test_what_code_says_of_pages_is_there() -> None:
    """A hint names a page, and not a file of a checkout, which an installation does not have."""
    code = [path.read_text("utf-8") for path in sorted((ROOT / "src").rglob("*.py"))]
    trees = [ast.parse(text) for text in code if re.search(r"docs/[A-Z]|tpharness docs ", text)]
    comments = {id(node.value) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    said = [str(node.value) for node in texts if id(node) not in comments]
    named = {name for text in said for name in re.findall(r"tpharness docs ([A-Z_]+)", text)}
    assert {"CONTROL", "SCENARIOS"} <= named <= {*(page.stem for page in PAGES), "RULINGS", "CLAUSES"}
    assert [text for text in said if re.search(r"docs/[A-Z]+\.md", text)] == []
