"""A sample of the machine-made mutants fails, and so does every one that once survived.

All of them are the task of `scripts/code_mutants.py`, which also writes `killers.json`.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from tests.code_mutants.answers import Answers, Tape
from tests.code_mutants.child import Child
from tests.code_mutants.documents import PREFIX, document_names
from tests.code_mutants.known import SAMPLE, load_equivalents, load_killers, stale
from tests.code_mutants.mutants import Edit, name_mutants, take_sample
from tests.code_mutants.node_operators import instrumented_node, node_edits
from tests.code_mutants.python_operators import python_edits
from tests.code_mutants.subjects import REPOSITORY, SUBJECTS, instrumented
from tests.distribution import PARTS, Sample

from tpharness.resources import scenarios_dir


@cache
def names() -> set[str]:
    """Return the names of all mutants, which take a second to make."""
    return {one.name for subject in SUBJECTS for one in subject.mutants()}


@pytest.mark.node
@pytest.mark.sampled
def test_listed_mutants_fail(sample: Sample[int]) -> None:
    """Each fails the scenario that is listed for it. They are forks, so a process without threads plays them."""
    parts = range(1, PARTS + 1)
    chosen = sample(parts)
    part = f"{chosen[0]}/{PARTS}" if len(chosen) == 1 else "1/1"
    command = [sys.executable, str(REPOSITORY / "scripts" / "code_mutants.py"), "--listed", "--part", part]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.returncode == 0, done.stdout + done.stderr
    played = re.search(r"^(\d+) of (\d+) listed mutants are killed$", done.stdout, re.MULTILINE)
    listed = sum(map(len, load_killers().values()))
    assert played, done.stdout
    assert int(played[1]) == int(played[2]) in (listed // PARTS, -(-listed // PARTS), listed)


def test_the_lists_name_mutants_of_today() -> None:
    """A list does not outlive the code that it speaks about."""
    assert stale(names()) == []


def test_no_mutant_is_both_killed_and_equivalent() -> None:
    """Nor in the sample and among those that once survived; every reason is a sentence."""
    killers, equivalents = load_killers(), load_equivalents()
    listed = [*killers["sample"], *killers["survived"], *equivalents]
    assert len(listed) == len(set(listed))
    assert all(reason.endswith(".") for reason in equivalents.values())


def test_the_listed_scenarios_exist() -> None:
    """A scenario that was renamed is named anew here."""
    killers = load_killers()
    assert len(killers["sample"]) == SAMPLE
    for name in {*killers["sample"].values(), *killers["survived"].values()}:
        if name.startswith(PREFIX):
            assert name in document_names()
        else:
            assert (scenarios_dir() / f"{name}.yaml").is_file(), name


def test_there_are_many_mutants() -> None:
    """Both examples and the deciding files of the reference, 1,500 in all."""
    assert len(names()) >= 1500


def changes(source: str) -> set[tuple[str, str]]:
    """Return the operators that apply to a Python source, with the text that each puts in."""
    return {(one.operator, one.new) for one in python_edits(source)}


def test_the_operators_for_python_change_what_decides() -> None:
    """Conditions, values, calls and statements, and neither docstrings nor the words of errors."""
    source = '''
def f(a, b):
    """Doc."""
    if a == 1 and not b:
        a.sort(key=len)
        return [x for x in a if x]
    raise ValueError("text")
'''
    assert changes(source) == {
        ("comparison", "(a != 1)"),
        ("constant", "2"),
        ("and-or", "(a == 1 or not b)"),
        ("drop-operand", "(a == 1)"),
        ("drop-operand", "(not b)"),
        ("drop-not", "(b)"),
        ("delete", "pass"),
        ("drop-argument", "(a.sort())"),
        ("return-none", "return None"),
        ("filter-true", "True"),
        ("negate", "(not x)"),
    }


def test_the_operators_for_javascript_change_what_decides() -> None:
    """The same, as far as the language has it."""
    source = b"function f(a) { if (a === 1 && !a.b) { a.sort(); } return { c: a ?? 'd' }; }"
    assert {(one.operator, one.new) for one in node_edits(source)} == {
        ("negate", "(!(a === 1 && !a.b))"),
        ("and-or", "((a === 1) || (!a.b))"),
        ("drop-operand", "(a === 1)"),
        ("drop-operand", "(!a.b)"),
        ("comparison", "((a) !== (1))"),
        ("constant", "(1 + 1)"),
        ("drop-not", "a.b"),
        ("delete", ";"),
        ("return-none", "return undefined;"),
        ("drop-item", "({})"),
        ("and-or", "((a) && ('d'))"),
        ("drop-operand", "(a)"),
        ("drop-operand", "('d')"),
        ("constant", "'d~'"),
    }


def test_a_name_stays_when_lines_move_and_tells_equal_changes_apart() -> None:
    """Lists of mutants survive what does not concern them."""
    source = "def f():\n    g(1)\n    g(1)\n"
    names = [one.name for one in name_mutants("f.py", source.encode(), python_edits(source))]
    assert "f.py::f constant: 1 → 2" in names
    assert "f.py::f constant: 1 → 2 #2" in names
    moved = "\n\n" + source
    assert [one.name for one in name_mutants("f.py", moved.encode(), python_edits(moved))] == names


def test_a_sample_is_the_same_wherever_it_is_taken() -> None:
    """One in two of one in four are the same as one in four: a sample of a sample adds nothing."""
    edits = [Edit(operator="x", function="f", block=1, start=n, end=n, new=str(n)) for n in range(100)]
    mutants = name_mutants("f.py", b" " * 100, edits)
    assert take_sample(take_sample(mutants, 2), 4) == take_sample(mutants, 4)
    assert 0 < len(take_sample(mutants, 4)) < 50


@pytest.mark.parametrize(
    ("ending", "killer"), [(signal.SIGXCPU, "theme/looping"), (signal.SIGALRM, ""), (signal.SIGKILL, "")]
)
def test_only_a_mutant_that_computes_for_ever_is_killed_by_its_limit(ending: signal.Signals, killer: str) -> None:
    """One that waits, or whose memory somebody else needs, has not been judged: a busy machine kills nothing."""

    def work(say):
        say("theme/looping")
        os.kill(os.getpid(), ending)

    child = Child(work, 1)
    while not child.over:
        select.select([child.pipe], [], [])
        child.read()
    assert child.without_result()[0] == killer


def test_what_runs_is_seen_by_block() -> None:
    """The first line of each block is reported when it runs, in both languages."""
    seen: list[int] = []
    exec(instrumented(b"def f(a):\n    if a:\n        return 1\n    return 2\nf(0)"), {"__hit__": seen.append})  # noqa: S102
    assert seen == [2]
    assert instrumented_node(b"function f() {\n  if (a) { b(); }\n}") == (
        b"function f() { __hit__(1);\n  if (a) { __hit__(2); b(); }\n}"
    )


_ANSWERING = """
import sys
for line in sys.stdin:
    if line == "end\\n" and {ends}:
        break
    print(line.strip().upper().replace("B", {b!r}), flush=True)
"""


@pytest.mark.parametrize(
    ("b", "ends", "differ"),
    [("B", False, []), ("x", False, ["two", "three"]), ("B", True, ["three"]), ("x", True, ["two", "three"])],
)
def test_a_mutant_is_judged_only_where_it_answers_otherwise(b: str, ends: bool, differ: list[str]) -> None:
    """A line that two playings have in common counts for both, and one that ends the program is another answer."""
    answers = Answers()
    for name, lines in (("one", "ac"), ("two", "ab"), ("three", ("a", "end", "b")), ("four", "c")):
        tape = Tape()
        for line in lines:
            tape.hear(line.encode(), line.upper().encode() + b"\n")
        answers.add(name, tape.take())
    command = [sys.executable, "-c", _ANSWERING.format(b=b, ends=ends)]
    assert list(Answers.load(answers.save()).differing(command, list(answers.playings))) == differ


_WATCHED = """
import runpy, sys
from tests.code_mutants.answers import Answers, Tape
from tests.code_mutants.child import Child
begin = Child.__post_init__
def announced(child):
    begin(child)
    print(child._pid, flush=True)
Child.__post_init__ = announced
sys.argv = ["code_mutants.py", "examples/plain_python.py"]
runpy.run_path("scripts/code_mutants.py", run_name="__main__")
"""


def test_ctrl_c_ends_all_that_plays_mutants(tmp_path: Path) -> None:
    """No traceback, no child that goes on, no folder that is left; and no source is changed at any time."""
    command = [sys.executable, "-c", _WATCHED]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        child = int(next(line for line in process.stdout if line.strip().isdigit()))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, said) == (130, "interrupted: killers.json is as it was\n")
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert list(tmp_path.iterdir()) == []
