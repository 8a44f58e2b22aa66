"""The clauses and the rulings read as the typed view promises, and the two files agree with each other."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tpharness.clauses import Clause, Ruling, load_clauses, load_rulings
from tpharness.readings import AnswerRule, EmptyTurnRule, UnfinishedRule
from tpharness.resources import conformance_dir, schema_path
from tpharness.suite_yaml import load_suite_yaml

RAW: list[dict[str, Any]] = load_suite_yaml(conformance_dir() / "clauses.yaml")
SCHEMA = jsonschema_rs.Draft202012Validator(json.loads(schema_path("clauses").read_text("utf-8")))
CLAUSES, RULINGS = load_clauses(), load_rulings()
GOOD: dict[str, Any] = {
    "id": "cycle.kept",
    "versions": ["0.0.4"],
    "level": "MUST",
    "text": "Every cycle that was complete stays.",
    "source": {"document": "0.0.4 amendments", "section": "The Core Invariant"},
    "rulings": ["R19"],
}
AREAS = [
    "thread",
    "turn",
    "message",
    "part",
    "tool",
    "usage",
    "event",
    "ref",
    "cycle",
    "interrupt",
    "stream",
    "sse",
    "carrier",
    "canon",
    "migrate",
    "history",
    "sync",
]


def several(**changes: Any) -> list[dict[str, Any]]:
    """As many clauses as the schema asks for, the last of them with the changes; None removes a field."""
    last = {key: value for key, value in (GOOD | changes).items() if value is not None}
    return [GOOD] * 110 + [last]


def test_the_file_fits_its_schema() -> None:
    """Nothing in clauses.yaml is unknown to the schema, and nothing is missing."""
    assert [error.message for error in SCHEMA.iter_errors(RAW)] == []


def test_the_schema_accepts_a_clause_that_is_right() -> None:
    """The schema refuses for the reason that the next test names, and not everything."""
    assert SCHEMA.is_valid(several())
    assert SCHEMA.is_valid(several(exercised_by="tools", why="tests/test_clauses.py: an example"))


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "cycle.Kept"},
        {"id": "cycle.kept-"},
        {"id": "kept"},
        {"id": "nowhere.kept"},
        {"versions": []},
        {"versions": ["0.0.5"]},
        {"versions": ["0.0.4", "0.0.4"]},
        {"level": "SHALL"},
        {"text": "Too short."},
        {"text": "x" * 321},
        {"source": {"document": "hearsay", "section": "The Core Invariant"}},
        {"source": {"document": "0.0.4 amendments"}},
        {"rulings": ["R0"]},
        {"rulings": ["20"]},
        {"rulings": None},
        {"exercised_by": "tools"},
        {"why": "tests/test_clauses.py: without exercised_by"},
        {"exercised_by": "nobody", "why": "tests/test_clauses.py: an example"},
        {"note": "an unknown field"},
    ],
    ids=str,
)
def test_the_schema_refuses_a_clause_that_is_wrong(changes: dict[str, Any]) -> None:
    """Ids are area and kebab-case, sets are closed, texts are short, a reason and its mark come together."""
    assert not SCHEMA.is_valid(several(**changes))


def test_no_id_is_used_twice() -> None:
    """A mapping by id would hide the first of two clauses with one id."""
    assert [name for name, times in Counter(item["id"] for item in RAW).items() if times > 1] == []


def test_the_view_is_the_file() -> None:
    """Every field of every clause arrives, in the order of the file; fields that are absent are empty."""
    assert list(CLAUSES) == [item["id"] for item in RAW]
    for item, (name, clause) in zip(RAW, CLAUSES.items(), strict=True):
        assert clause == Clause(
            id=name,
            versions=tuple(item["versions"]),
            level=item["level"],
            text=item["text"],
            document=item["source"]["document"],
            section=item["source"]["section"],
            rulings=tuple(item["rulings"]),
            exercised_by=item.get("exercised_by", ""),
            why=item.get("why", ""),
            asks=item.get("asks", ""),
        )


def test_clauses_are_read_once() -> None:
    """Every caller gets the same mapping."""
    assert load_clauses() is CLAUSES
    assert load_rulings() is RULINGS


def test_every_area_has_clauses() -> None:
    """No area of the protocol is without a statement, and no statement is outside them."""
    assert {name.partition(".")[0] for name in CLAUSES} == set(AREAS)


@pytest.mark.parametrize("version", ["2.0.0", "0.0.3", "0.0.4"])
def test_every_version_has_clauses_of_most_areas(version: str) -> None:
    """Each version has what makes up a thread; migration and interruptions are checked by their own clauses."""
    areas = {name.partition(".")[0] for name, clause in CLAUSES.items() if version in clause.versions}
    assert areas >= set(AREAS) - {"ref", "cycle", "interrupt", "migrate"}


def test_versions_stand_in_their_order() -> None:
    """R1: 2.0.0 is the oldest of the three, wherever they are listed."""
    order = ["2.0.0", "0.0.3", "0.0.4"]
    assert [c.id for c in CLAUSES.values() if list(c.versions) != sorted(c.versions, key=order.index)] == []


def test_texts_state_facts() -> None:
    """A clause says what is so: no instruction to a tester, no "should", and a full stop at its end."""
    for clause in CLAUSES.values():
        assert not re.search(r"\b(should|must|shall|tests? that)\b", clause.text, re.IGNORECASE), clause.id
        assert clause.text.endswith("."), clause.id
        assert clause.text[0].isupper() or clause.text.startswith(("text-", "reasoning-", "tool-", "start-", "reset-"))


def test_no_two_clauses_say_the_same() -> None:
    """One statement has one id."""
    assert [text for text, times in Counter(c.text.lower() for c in CLAUSES.values()).items() if times > 1] == []


def test_a_clause_that_tools_exercise_names_what_does() -> None:
    """A test that exists, or bad documents or vectors of which one shows the clause."""
    top = Path(__file__).parent.parent
    for clause in CLAUSES.values():
        if clause.exercised_by:
            files = re.findall(r"tests/[\w/]+\.py|conformance/documents/[\w/]+\.yaml", clause.why)
            assert files, clause.id
            assert all((top / file).is_file() for file in files), clause.id
            data = [file for file in files if file.endswith(".yaml")]
            assert all(clause.id in (top / file).read_text("utf-8") for file in data), clause.id


def test_the_rulings_are_numbered_in_order() -> None:
    """None is given twice or left out, and each has a title and a section of its own."""
    numbers = [int(name.removeprefix("R")) for name in RULINGS]
    assert numbers == list(range(1, len(numbers) + 1))
    for name, ruling in RULINGS.items():
        assert ruling == Ruling(id=name, title=ruling.title, text=ruling.text)
        assert ruling.title
        assert "\n## " not in ruling.text


def paragraph(ruling: Ruling, name: str) -> str:
    """The text after `**name.**`, up to the next bold heading; empty where there is none."""
    found = re.search(rf"^\*\*{name}\.\*\*(.*?)(?=^\*\*[A-Z][a-z ]+\.\*\*|\Z)", ruling.text, re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def test_a_ruling_is_told_whole() -> None:
    """Question, decision, reason, alternatives and clauses, in this order; a question ends in a question mark."""
    for ruling in RULINGS.values():
        names = re.findall(r"^\*\*([A-Z][a-z ]+)\.\*\*", ruling.text, re.MULTILINE)
        told = [name for name in names if name != "In particular"]
        assert told == ["Question", "Decision", "Reason", "Alternatives", "Clauses"], ruling.id
        assert paragraph(ruling, "Question").endswith("?"), ruling.id
        assert all(paragraph(ruling, name) for name in names), ruling.id


def test_a_ruling_lists_the_clauses_that_cite_it() -> None:
    """The two files point at each other, none of them alone."""
    for ruling in RULINGS.values():
        told = re.findall(r"`([a-z]+\.[a-z0-9-]+)`", paragraph(ruling, "Clauses"))
        assert told == [clause.id for clause in CLAUSES.values() if ruling.id in clause.rulings] != [], ruling.id


def test_a_ruling_names_the_readings_that_a_target_can_declare() -> None:
    """R20, R21 and R24 have alternatives, named as in capabilities, the certifying one first; no other has any."""
    readings = {"R20": UnfinishedRule, "R21": AnswerRule, "R24": EmptyTurnRule}
    for ruling in RULINGS.values():
        told = re.findall(r"^- `([a-z-]+)`( \(default\))?:", ruling.text, re.MULTILINE)
        names = [member.value for member in readings[ruling.id]] if ruling.id in readings else []
        assert [name for name, _ in told] == names, ruling.id
        assert [bool(default) for _, default in told] == [index == 0 for index in range(len(names))], ruling.id
        assert names or paragraph(ruling, "Alternatives").startswith("None"), ruling.id


def test_a_clause_out_of_a_ruling_names_it_as_its_section() -> None:
    """`tpharness explain` of the clause then leads to the ruling that it comes from."""
    for clause in CLAUSES.values():
        if clause.document == "tpharness rulings":
            name = clause.section.partition(" ")[0]
            assert name in clause.rulings, clause.id
            assert clause.section == f"{name} — {RULINGS[name].title}", clause.id


def test_references_between_rulings_resolve() -> None:
    """A ruling that sends its reader to another one sends them somewhere."""
    for ruling in RULINGS.values():
        assert set(re.findall(r"\bR\d+\b", ruling.text)) <= set(RULINGS)
