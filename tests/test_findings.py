"""The catalogue of findings: `conformance/findings.yaml` and what the detectors name of it are the same."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path

import jsonschema_rs
import pytest

from tpharness.apps.checks import APP_CHECKS
from tpharness.clauses import clause_texts, load_app_clauses, load_rulings
from tpharness.finding_log import FindingLog, keep_first
from tpharness.findings import Kind, Level, Place, load_kinds, quote, shorten_both
from tpharness.protocol.diff import diff
from tpharness.report import failure_lines
from tpharness.resources import conformance_dir, schema_path
from tpharness.rooms import ROOMS
from tpharness.suite_yaml import load_suite_yaml
from tpharness.verdict import Outcome, Result
from tpharness.verdict.finding_lines import finding_lines

SRC = Path(__file__).parent.parent / "src" / "tpharness"
PACKAGES_BESIDE_THE_CORE = ("model_apis", *ROOMS)
IN_A_CHECKOUT = re.compile(r"\b(conformance|docs|examples|scripts|tests)/")


@cache
def named_kinds() -> tuple[tuple[Path, ast.Call], ...]:
    """Return every `Kind(...)` that the source names, with its file relative to the package."""
    texts = {path: path.read_text("utf-8") for path in sorted(SRC.rglob("*.py"))}
    return tuple(
        (path.relative_to(SRC), node)
        for path, text in texts.items()
        if "Kind" in text  # parsing takes long
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Kind"
    )


def named_codes() -> dict[str, Path]:
    """Return every code that a detector names as a literal, with the file that does."""
    return {ast.literal_eval(call.args[0]): path for path, call in named_kinds()}


def test_a_detector_names_a_kind_by_a_literal_code_and_once() -> None:
    """So that `grep CODE` finds the detector, and the tests below see every code."""
    found = named_kinds()
    for path, call in found:
        literal = len(call.args) == 1 and not call.keywords and isinstance(call.args[0], ast.Constant)
        assert literal, f"{path}:{call.lineno} names a kind by something other than one literal code"
    codes = Counter(ast.literal_eval(call.args[0]) for _, call in found)
    assert [code for code, times in codes.items() if times > 1] == []


def test_every_code_that_a_detector_names_is_in_the_catalogue() -> None:
    """A code that a report shows can always be explained."""
    unknown = {code: str(path) for code, path in named_codes().items() if code not in load_kinds()}
    assert unknown == {}


def test_every_code_of_the_catalogue_is_named_by_a_detector() -> None:
    """The file has no entry that nothing can find; the entries of a room that was taken out are left alone."""
    named = named_codes()
    missing_rooms = {room for room in PACKAGES_BESIDE_THE_CORE if not (SRC / room).is_dir()}
    orphans = [k.code for k in load_kinds().values() if k.code not in named and k.room not in missing_rooms]
    assert orphans == []


def test_a_kind_says_which_room_finds_it() -> None:
    """`room` is the package beside the core that names the code, and nothing for the core."""
    rooms = {
        code: path.parts[0] if path.parts[0] in PACKAGES_BESIDE_THE_CORE else "" for code, path in named_codes().items()
    }
    assert {code: load_kinds()[code].room for code in rooms} == rooms


def test_the_catalogue_fits_its_schema_and_has_no_code_twice() -> None:
    """findings.yaml is valid; loading it loses no entry."""
    raw = load_suite_yaml(conformance_dir() / "findings.yaml")
    jsonschema_rs.Draft202012Validator(json.loads(schema_path("findings").read_text("utf-8"))).validate(raw)
    assert len(raw) == len(load_kinds()) >= 170


def test_what_a_kind_cites_exists() -> None:
    """Clauses and rulings resolve, and meaning and remedy say more than the title."""
    for code, kind in load_kinds().items():
        assert set(kind.clauses) <= set(clause_texts()), code
        assert set(kind.rulings) <= set(load_rulings()), code
        assert kind.remedy, code
        assert kind.title not in (kind.meaning, kind.remedy), code


def test_what_is_found_of_a_conversation_says_what_it_means_for_its_user() -> None:
    """By its kind: each check of applications, but for what is only shown, and for the rules of the models' APIs."""
    kinds = load_kinds()
    of_checks = {kind.code for check in APP_CHECKS if check.name != "accepted" for kind in check.kinds}
    of_users = {code for code in of_checks if kinds[code].level is not Level.MAY} - {"view-unreadable"}
    assert len(of_users) > 30
    for code in of_users:
        assert kinds[code].for_user, code
        assert kinds[code].for_user not in (kinds[code].title, kinds[code].meaning, kinds[code].remedy), code
    assert {kind.room for kind in kinds.values() if kind.for_user} == {"apps"}
    assert "two bookings" in kinds["effect-forgotten"].for_user
    assert "the answer is lost" in kinds["answer-lost"].for_user


def test_the_words_for_a_user_are_on_the_console_and_in_the_report() -> None:
    """And nowhere for a finding that has none."""
    forgotten = Kind("effect-forgotten").at(Place())
    words = load_kinds()["effect-forgotten"].for_user
    assert [line for _, line in finding_lines(forgotten) if "for user" in line] == [f"  for user  {words}"]
    assert forgotten.as_json()["for_user"] == words
    other = Kind("identity-differs").at(Place())
    assert "for_user" not in other.as_json()
    assert not any("for user" in line for _, line in finding_lines(other))


def test_the_words_of_a_kind_are_plain() -> None:
    """Titles and remedies are lower-case sentences without a full stop, and negate the verb: "is not a UUID"."""
    for code, kind in load_kinds().items():
        for words in (kind.title, kind.remedy):
            assert not words.endswith("."), (code, words)
            assert not re.match(r"[A-Z][a-z]", words), (code, words)
        for words in (kind.title, kind.meaning, kind.remedy, kind.for_user):
            assert not re.search(r"\b(is|are|was|were|names|answers) no (?!longer\b)", words), (code, words)


def hints_of(path: Path) -> Iterator[str]:
    """Yield the texts that a module gives as hints."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)) if IN_A_CHECKOUT.search(text) else ():
        keyword = isinstance(node, ast.keyword) and node.arg == "hint"
        if keyword or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "hint"):
            yield from (str(one.value) for one in ast.walk(node) if isinstance(one, ast.Constant))


def test_what_to_do_names_nothing_that_only_a_checkout_has() -> None:
    """Hints and remedies name commands, such as `tpharness docs`, which every installation has."""
    of_kinds = [text for kind in load_kinds().values() for text in (kind.title, kind.meaning, kind.remedy)]
    of_clauses = [clause.remedy for clause in load_app_clauses().values()]
    hints = [hint for path in SRC.rglob("*.py") for hint in hints_of(path)]
    assert [text for text in (*of_kinds, *of_clauses, *hints) if IN_A_CHECKOUT.search(text)] == []


def test_an_unknown_code_says_what_is_wrong_and_which_code_is_near() -> None:
    """The error names the file, the code and the nearest code that there is."""
    with pytest.raises(ValueError, match=r"findings\.yaml has no .* 'return-without-cal'; did you mean 'return-"):
        Kind("return-without-cal").at(Place())
    with pytest.raises(ValueError, match=r"no entry with the code 'zzz'$"):
        _ = Kind("zzz").level


def test_a_kind_knows_what_its_entry_says() -> None:
    """The constant that a detector holds shows the entry's fields."""
    kind = Kind("return-without-call")
    assert (kind.level, kind.rulings) == (Level.MUST, ("R23",))
    assert kind.clauses == ("tool.no-orphan-return", "tool.ids-match")
    assert kind.at(Place()).message == kind.title == load_kinds()["return-without-call"].title


def test_the_command_line_starts_without_reading_the_catalogue() -> None:
    """Every module of the command line is imported for `--help`; none of them may read the file."""
    program = (
        "import tpharness.pytest_plugin, tpharness.findings as findings\n"
        "from tpharness.cli.app import COMMANDS\n"
        "for command in COMMANDS.values():\n    command.load()\n"
        "print(findings.load_kinds.cache_info().currsize)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )  # our own program
    assert done.stdout == "0\n"


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ({"to": "Oslo"}, '{"to": "Oslo"}', ('{"to": "Oslo"} (an object)', '{"to": "Oslo"} (a string)')),
        ('{"to":"Oslo"}', {"to": "Oslo"}, ('{"to":"Oslo"} (a string)', '{"to": "Oslo"} (an object)')),
        ([1], "[1]", ("[1] (an array)", "[1] (a string)")),
        (1, "1", ("1 (a number)", "1 (a string)")),
        ("true", True, ("true (a string)", "true (a boolean)")),
        (None, "null", ("null (null)", "null (a string)")),
        ({"to": "Oslo"}, {"to": "Rome"}, ('{"to": "Oslo"}', '{"to": "Rome"}')),
        (1, "one", ("1", "one")),
    ],
)
def test_values_that_look_alike_are_told_apart_by_their_types(
    one: object, other: object, shown: tuple[str, str]
) -> None:
    """An object and its text are printed alike, and only there the type is needed."""
    assert shorten_both(one, other) == shown


def test_quoted_text_is_escaped_once() -> None:
    """It may have quotation marks in it, which are left as they are, and it is cut inside of its own."""
    assert quote("it's\n\x1b[31m \\") == "'it's\\n\\x1b[31m \\'"
    assert quote("a" * 30, 11) == "'aaa ... aaa'"


def test_a_finding_names_the_types_in_every_form() -> None:
    """On a line, in a block of the console, in JSON and in the words of a diff."""
    finding = Kind("second-output").at(Place(), got={"to": "Oslo"}, expected='{"to": "Oslo"}')
    got, expected = '{"to": "Oslo"} (an object)', '{"to": "Oslo"} (a string)'
    assert f"; got {got}; expected {expected}" in finding.line()
    value = finding.as_json()
    assert (value["got"], value["expected"]) == (got, expected)
    lines = [line for _, line in failure_lines(Result(id="a/b", outcome=Outcome.FAILED, findings=(finding,)))]
    assert f"  got       {got}" in lines
    assert f"  expected  {expected}" in lines
    one, other = (
        {"version": "0.0.4", "turns": [{"turn_type": "user", "x": x}]} for x in (finding.got, finding.expected)
    )
    (difference,) = diff(one, other)
    assert difference.text.endswith(f"a {got}, b {expected}")


def test_of_each_kind_the_first_fifty_are_kept_and_the_others_counted() -> None:
    """A million wrong turns cost the memory of fifty; the count has the kind, so the level of the whole is the same."""
    many, few = Kind("turn-malformed"), Kind("return-without-call")
    found = (many.at(Place(pointer=f"/turns/{t}"), got=t) for t in range(1234))
    kept = keep_first(chain([few.at(Place(pointer="/x"))], found, [few.at(Place(pointer="/y"))]))
    assert [f.place.pointer for f in kept] == ["/x", *(f"/turns/{t}" for t in range(50)), "/y", "/turns/50"]
    assert kept[-1].kind is many
    assert kept[-1].message == "and 1,184 more, the first of them here"
    assert keep_first(many.at(Place(pointer=f"/turns/{t}")) for t in range(50))[-1].message == many.title


def test_a_log_and_its_copy_go_on_apart() -> None:
    """What is added to the copy is neither kept nor counted in the original."""
    kind = Kind("turn-malformed")
    log = FindingLog()
    assert not log
    for _ in range(51):
        log.add(kind.at(Place()))
    twin = log.copy()
    twin.add(kind.at(Place()))
    assert (log.findings()[-1].message, twin.findings()[-1].message) == (
        "and 1 more, the first of them here",
        "and 2 more, the first of them here",
    )


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("caf\u00e9 au lait", "cafe\u0301 au lait", (r"caf\xe9 au lait", r"cafe\u0301 au lait")),
        ("caf\u00e9 " + "x" * 60, "cafe\u0301 " + "x" * 60, None),
        (["\u00e9"], ["e\u0301"], (r'["\xe9"]', r'["e\u0301"]')),
        ("caf\u00e9", "cafe", ("caf\u00e9", "cafe")),
        ("caf\u00e9s", "caf\u00e9", ("caf\u00e9s", "caf\u00e9")),
        ("x", "y", ("x", "y")),
    ],
)
def test_characters_that_look_alike_are_told_apart(one: object, other: object, shown: tuple[str, str] | None) -> None:
    """Composed and not, both are é to a reader; the place of a difference in a thread shows it too."""
    texts = shorten_both(one, other, 40)
    assert texts == shown if shown else all(text.isascii() for text in texts)
    threads = [
        {"version": "0.0.4", "turns": [{"turn_type": "user", "parts": [{"x": value}]}]} for value in (one, other)
    ]
    (difference,) = diff(*threads)
    told = difference.text.partition(": a ")[2]
    assert told.isascii() is (shown is None or shown[0].isascii())


def test_a_finding_has_the_attributes_that_its_json_has() -> None:
    """With the same values, so that who has read a report knows the names."""
    finding = Kind("chat-bricked").at(Place(case="a/b", line=3), got="a", expected="b")
    for full in (finding, replace(finding, symptom="s", versions=("0.0.4",), demanded=True)):
        for key, value in full.as_json().items():
            known = getattr(full, key)
            if key == "place":
                assert {name: getattr(known, name) for name in value} == value
            else:
                assert (list(known) if isinstance(known, tuple) else getattr(known, "value", known)) == value
