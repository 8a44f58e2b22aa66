"""A scenario file that is bad in any way is an error with a place, never an exception of another kind."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tpharness.errors import InputError, ScenarioError
from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions, dispatch, run_suite
from tpharness.scenario import load_scenario, load_text
from tpharness.suite_yaml import load_suite_yaml
from tpharness.verdict import Outcome, ResultReady

STEPS = "steps: [{response: [{text: a}]}]"
HEAD = "description: d\nclauses: [tool.pending-kept]\nturns:\n  - user: hi\n"
NASTY: tuple[Any, ...] = (
    *(None, True, [], {}, [[]], [None], {"": None}, "", "\0", "a\0b", ".", "..", "\ud800", "%", "@", "x" * 5000),
    *(-1, 0, 1, 10**30, -1.5, 1e300, float("nan"), float("inf"), "1e5"),
    *("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2025-02-30T00:00:00Z", "2025-01-01T00:00:00+23:59"),
    *({"file": "a\0b"}, {"file": "/dev/zero"}, {"call": "f"}, {"text": {}}, {"user": []}, [{"steps": [[]]}]),
)

FILES = {
    "null-character": ('  - client: {file: "a\\0b"}\n', "null byte|null character"),
    "loop": ("  - client: {file: loop.sse}\n", "loop|symbolic links"),
    "folder": ("  - client: {file: .}\n", "it is a folder"),
    "pipe": ("  - client: {file: pipe.sse}\n", "it is a pipe"),
    "endless-device": ("  - client: {file: zero.sse}\n", "lies outside"),
    "end-of-time": (
        "  - steps: [{response: [{text: a}]}]\nclock: {start: 9999-12-31T23:00:00Z, tick: 86400}\n",
        "year 9999",
    ),
}


CORPUS = st.deferred(lambda: st.sampled_from(sorted(scenarios_dir().rglob("*.yaml"))))
load_plain = cache(load_suite_yaml)


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the steps to every value inside a value."""
    for step in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*above, step)
        yield from places(value[step], (*above, step))


@given(st.data())
def test_whatever_is_put_in_any_place_loads_or_is_refused(data: st.DataObject) -> None:
    """Somebody's typing mistake, and somebody's attack."""
    file = data.draw(CORPUS)
    value = copy.deepcopy(load_plain(file))
    for _ in range(data.draw(st.integers(1, 2))):
        steps = data.draw(st.sampled_from(list(places(value)) or [("turns",)]))
        inside = value
        for step in steps[:-1]:
            inside = inside[step]
        change = data.draw(st.sampled_from(["replace", "delete", "rename", "repeat"]))
        if change == "delete":
            del inside[steps[-1]]
        elif change == "rename" and isinstance(inside, dict):
            inside[data.draw(st.sampled_from(["", "user", "steps", "at", "id", "\0", 7]))] = inside[steps[-1]]
        elif change == "repeat" and isinstance(inside, list):
            inside.append(copy.deepcopy(inside[steps[-1]]))
        else:
            inside[steps[-1]] = copy.deepcopy(data.draw(st.sampled_from(NASTY)))
    text = yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "surrogatepass")
    with contextlib.suppress(ScenarioError):
        load_text(text, id="hostile/one", base_dir=file.parent)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Scenarios that name what cannot be read, and one that is sound."""
    theme = tmp_path / "theme"
    theme.mkdir()
    (theme / "loop.sse").symlink_to("loop.sse")
    (theme / "zero.sse").symlink_to("/dev/zero")
    os.mkfifo(theme / "pipe.sse")
    for name, (turn, _) in FILES.items():
        (theme / f"{name}.yaml").write_text(HEAD + turn, "utf-8")
    (theme / "sound.yaml").write_text(f"{HEAD}  - {STEPS}\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_what_cannot_be_read_is_told_with_its_place(name: str, folder: Path) -> None:
    """Nothing waits for a pipe, and nothing reads a device without end."""
    with pytest.raises(ScenarioError, match=FILES[name][1]) as raised:
        load_scenario(folder / "theme" / f"{name}.yaml", root=folder)
    assert raised.value.findings[0].place.line


def test_a_link_that_leads_to_itself_is_not_a_scenario(tmp_path: Path) -> None:
    """As a path that somebody names."""
    (tmp_path / "self.yaml").symlink_to("self.yaml")
    with pytest.raises(InputError, match="symbolic links"):
        load_scenario(tmp_path / "self.yaml")


def test_the_others_are_played(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bad file does not end a run, also when the loader itself fails on it."""

    def load(path: Path, **more: Any) -> Any:
        if path.stem == "folder":
            raise ZeroDivisionError("a defect of the loader")
        return load_scenario(path, **more)

    monkeypatch.setattr(dispatch, "load_scenario", load)
    results = [event.result for event in run_suite(RunOptions(roots=(folder,))) if isinstance(event, ResultReady)]
    outcomes = {result.id.partition("@")[0]: result for result in results}
    assert {name: result.outcome for name, result in outcomes.items()} == {
        "theme/sound": Outcome.PASSED,
        **{f"theme/{name}": Outcome.ERRORED for name in FILES},
    }
    assert outcomes["theme/folder"].reason == "tpharness itself failed: ZeroDivisionError: a defect of the loader"
