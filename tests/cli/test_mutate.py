"""`tpharness mutate`: what it prints, what it writes, and when it fails."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tpharness.explore.mutation import record_selected
from tpharness.resources import scenarios_dir

DEFECTS = """
from contextlib import nullcontext
from unittest import mock
from tpharness.dialects import thread
from tpharness.explore.mutation import Defect, Harmless
from tpharness.readings import AnswerRule, Readings

def kept():
    real = thread.survivors
    return mock.patch.object(thread, "survivors", lambda tail, _: real(tail, Readings(R21=AnswerRule.ANY_RETURN)))

def none():
    return mock.patch.object(thread, "survivors", lambda tail, _: ())

def one(name, seed, *clauses):
    return Defect(name=name, sentence="It is wrong.", side="both", clauses=clauses, seed=seed)

DEFECTS = [one("any-return", kept, "cycle.all-returns")%s]
HARMLESS = [Harmless(name="as-ever", sentence="Nothing is changed.", side="both", seed=nullcontext)]
"""
HALF = "interruptions/one-of-two-tools-done"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """Return the name of a module with one defect, or with those of the parameter besides."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    more = getattr(request, "param", "")
    name = f"defects_{abs(hash(more + str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(DEFECTS % more, "utf-8")
    return name


def test_a_defect_that_is_found_passes(call: Any, module: str) -> None:
    """A failure and its clause are named, and nothing is said of scenarios."""
    called = call("mutate", module, HALF, "parts/file")
    assert called.code == 0
    assert f"killed      any-return: by {HALF} for right clause (cycle.all-returns)" in called.out
    assert "harmless    as-ever" in called.out
    assert "1 of 1 defects fail for a clause that they break (100%)\n" in called.out
    assert not re.search("scenarios that find|a set of", called.out)


@pytest.mark.parametrize("option", ["--all-kills", "--whole"])
def test_all_kills_tell_what_each_scenario_finds(call: Any, module: str, option: str) -> None:
    """The first scenario for the right clause is named, and the smallest set of scenarios."""
    called = call("mutate", module, HALF, "parts/file", option)
    assert called.code == 0
    assert f"killed      any-return: by 1 scenario, 1 for right clause, first {HALF} (cycle.all-returns)" in called.out
    assert "harmless    as-ever" in called.out
    assert "1 of 1 defects fail for a clause that they break (100%), 1 of them in the first" in called.out
    assert "scenarios that find no defect:\n  parts/file" in called.out
    assert f"a set of 1 scenario that finds every killed defect:\n  {HALF}" in called.out


@pytest.mark.parametrize("module", [', one("none-kept", none, "cycle.kept")'], indirect=True)
def test_all_kills_tell_how_many_scenarios_fail_for_the_right_clause(call: Any, module: str) -> None:
    """The first of these stands for the defect; where there is none, the first that fails at all."""
    other, right = "interruptions/abort-with-free-text", "interruptions/between-steps"
    both = call("mutate", module, other, right, "--defect", "none-kept", "--all-kills").out
    assert f"killed      none-kept: by 2 scenarios, 1 for right clause, first {right} (cycle.kept)\n" in both
    assert "1 of 1 defects fail for a clause that they break (100%), 0 of them in the first scenario that fails" in both
    neither = call("mutate", module, other, "--defect", "none-kept", "--all-kills").out
    assert f"none-kept: by 1 scenario, none for right clause, first {other} (R27, interrupt.abort-reason)" in neither


def test_a_module_of_few_defects_is_judged_by_these(call: Any, module: str, tmp_path: Path) -> None:
    """Clauses that none of them breaks are told; who has ELSEWHERE says that there are none, and fails for them."""
    left = ["tool.no-orphan-return", "cycle.returns-go-with-response"]  # the other MUST clauses of the scenario
    arguments = ("mutate", module, "--scenarios", str(scenarios_dir() / f"{HALF}.yaml"))
    few = call(*arguments)
    assert few.code == 0
    assert "no defect breaks 2 MUST clauses that scenarios exercise (--json has them)" in few.out
    told = json.loads(call(*arguments, "--json").out)
    assert (told["passed"], told["complete"], told["unbroken"]) == (True, False, left)
    path = tmp_path / f"{module}.py"
    promising = f"promising_{module}"
    (tmp_path / f"{promising}.py").write_text(f"{path.read_text('utf-8')}\nELSEWHERE = {{}}\n", "utf-8")
    all_of_them = call("mutate", promising, *arguments[2:])
    assert all_of_them.code == 1
    assert "MUST clauses that scenarios exercise and no defect breaks:\n  " + "\n  ".join(left) in all_of_them.out
    told = json.loads(call("mutate", promising, *arguments[2:], "--json").out)
    assert (told["passed"], told["complete"], told["unbroken"]) == (False, True, left)
    assert call("mutate", promising, *arguments[2:], "--defect", "any-return").code == 0


@pytest.mark.parametrize("module", [', one("asleep", nullcontext, "sse.bom")'], indirect=True)
def test_a_survivor_fails(call: Any, module: str) -> None:
    """What nobody finds is named, in JSON too."""
    called = call("mutate", module, HALF)
    assert called.code == 1
    assert "survivors:\n  asleep: It is wrong." in called.out
    told = json.loads(call("mutate", module, HALF, "--json", "--all-kills").out)
    assert told["survivors"] == ["asleep"]
    assert told["score"] == 0.5
    assert told["defects"][0]["first"]["right"] is True
    assert told["smoke"] == [HALF]
    assert call("mutate", module, HALF, "--defect", "any-*").code == 0


@pytest.mark.parametrize("module", [', one("elsewhere", kept, "sse.bom")'], indirect=True)
def test_a_defect_that_fails_for_another_clause_fails(call: Any, module: str) -> None:
    """To be found is not enough."""
    called = call("mutate", module, HALF, "--defect", "elsewhere")
    assert called.code == 1
    assert "MISJUDGED" in called.out
    assert "failed for other clauses only:\n  elsewhere" in called.out


@pytest.mark.parametrize("options", [[], ["--all-kills"]])
def test_a_recording_changes_nothing(
    call: Any, module: str, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few changes are played without one."""
    outright = call("mutate", module, HALF, "parts/file", *options)
    monkeypatch.setattr("tpharness.explore.mutation.play._FEW", 0)
    assert call("mutate", module, HALF, "parts/file", *options).out == outright.out
    assert record_selected((HALF, "parts/file"), ()).cases == {HALF: 1, "parts/file": 1}
    assert record_selected.cache_info().hits


def test_worker_processes_find_the_same(call: Any, module: str) -> None:
    """Rows come back in order, with what each defect is."""
    called = call("mutate", module, HALF, "--jobs", "2", "--json")
    told = json.loads(called.out)
    assert [row["name"] for row in told["defects"] + told["harmless"]] == ["any-return", "as-ever"]
    assert told["defects"][0]["killed_by"] == [HALF]


def test_what_is_seeded_is_listed(call: Any, module: str) -> None:
    """--list plays nothing."""
    called = call("mutate", module, "--list")
    assert called.code == 0
    assert [line.split()[0] for line in called.out.splitlines()] == ["any-return", "as-ever"]


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (", 1", "{} has DEFECTS that are not a list of defects"),
        (', one("misspelt", kept, "cycle.keptt")', "misspelt of {} has the clause 'cycle.keptt', which does not exist"),
        (
            ', Defect(name="mine", sentence="", side="both", clauses=(), rulings=("R9999",), seed=kept)',
            "mine of {} has the ruling 'R9999', which does not exist",
        ),
        (
            ', Defect(name="mine", sentence="", side="neither", clauses=(), seed=kept)',
            "mine of {} has the side 'neither', which does not exist\n  sides are server, client, both",
        ),
        (
            ', one("gone", lambda: mock.patch.object(thread, "no_such_name", None), "cycle.kept")',
            "gone cannot be seeded: AttributeError: ",
        ),
    ],
    indirect=["module"],
)
def test_a_change_that_cannot_be_played_is_refused(call: Any, module: str, words: str) -> None:
    """A misspelt one would be played and never right; exit code 2 before the first scenario."""
    called = call("mutate", module, HALF)
    assert (called.code, called.out) == (2, "")
    assert words.format(module) in called.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no_such_module"], "modules are looked for here"),
        (["json"], "does not define DEFECTS"),
        (["{}", "--defect", "nobody"], "there is no defect called 'nobody'"),
        (["{}", "no/such"], "no built-in scenario"),
        (["{}", "basics", "--update"], "--update plays everything"),
    ],
)
def test_wrong_use_is_told(call: Any, module: str, arguments: list[str], words: str) -> None:
    """Exit code 2 and a line, no traceback."""
    called = call("mutate", *(argument.format(module) for argument in arguments))
    assert called.code == 2
    assert words in called.err
