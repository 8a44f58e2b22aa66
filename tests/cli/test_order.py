"""A shuffled order finds what a target carries from one case to the next, and can be played again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tpharness.errors import UsageError
from tpharness.resources import schema_path
from tpharness.run.order import Order
from tpharness.run.select import select_scenarios
from tpharness.targets import Capabilities, Reference, Script, TargetOutput

SCENARIO = """\
description: The model says {text}.
clauses: [cycle.kept]
turns:
  - user: "Hi"
  - steps: [{{response: [{{text: {text}}}]}}]
"""
LEAKY = "python:tests.cli.test_order:Leaky"


class Leaky(Reference):
    """A server that loses every text once it has played a script with `poison` in it."""

    capabilities = Capabilities(name="leaky")

    def __init__(self) -> None:
        self._spoilt = False

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script; after the case with the poison every text is lost."""
        served = await super().serve(script)
        if self._spoilt:
            for thread in served.threads.values():
                _forget_texts(thread)
        self._spoilt = self._spoilt or "poison" in str(script.turns)
        return served


def _forget_texts(thread: Mapping[str, Any]) -> None:
    for turn in thread["turns"]:
        for message in turn.get("messages", ()):
            message["parts"] = []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with scenarios of which the last one, by id, spoils the leaky server."""
    root = tmp_path / "own"
    (root / "chat").mkdir(parents=True)
    for name in ("a", "b", "c", "poison"):
        (root / "chat" / f"{name}.yaml").write_text(SCENARIO.format(text=name), encoding="utf-8")
    return root


def played(report: Path) -> list[tuple[str, str]]:
    """Return the ids and outcomes of a report, in its order."""
    value = json.loads(report.read_text("utf-8"))
    jsonschema_rs.Draft202012Validator(json.loads(schema_path("report").read_text("utf-8"))).validate(value)
    return [(result["id"], result["outcome"]) for result in value["results"]]


def test_what_leaks_from_case_to_case_is_found_in_another_order(folder: Path, call: Any, tmp_path: Path) -> None:
    """By id the spoilt state hurts nobody but the last; shuffled it does, and the seed and the report play it again."""
    words = ["run", "--scenarios", str(folder), "--server", LEAKY, "--compare", "content"]
    report, again = tmp_path / "first.json", tmp_path / "again.json"
    call(*words, "--report", f"json:{report}")
    assert [outcome for case, outcome in played(report) if case != "chat/poison"] == ["passed"] * 3
    seed = next(s for s in range(50) if Order(seed=s).arrange(select_scenarios((), (folder,)))[0].id == "chat/poison")
    found = call(*words, "--order", f"random:{seed}", "--report", f"json:{report}", "--report", "console")
    assert found.code == 1
    assert f"order random:{seed}" in found.out
    assert f"in this order again: --order random:{seed}" in found.out
    assert [outcome for case, outcome in played(report) if case != "chat/poison"] == ["failed"] * 3
    for order in (f"random:{seed}", str(report)):
        assert call(*words, "--order", order, "--report", f"json:{again}").code == 1
        assert played(again) == played(report)


def test_a_seed_is_chosen_and_shown(folder: Path, call: Any) -> None:
    """Without one it is drawn, and the output says which, so that the order can be had again."""
    called = call("run", "--scenarios", str(folder), "--order", "random")
    assert called.code == 0
    assert Order.parse(called.out.partition("order ")[2].split()[0]).seed >= 0


def test_the_same_seed_is_the_same_order_of_the_same_scenarios(folder: Path) -> None:
    """Whatever order they were selected in; another seed is another order."""
    selected = select_scenarios((), (folder,))
    orders = {seed: [one.id for one in Order(seed=seed).arrange(selected)] for seed in range(20)}
    assert orders == {seed: [one.id for one in Order(seed=seed).arrange(selected[::-1])] for seed in range(20)}
    assert len({tuple(ids) for ids in orders.values()}) > 10
    assert all(sorted(ids) == [one.id for one in selected] for ids in orders.values())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--order", "random:x"], "is not an order"),
        (["--order", "randomly"], "is not an order"),
        (["--order", "nowhere.json"], "cannot read the order"),
        (["--order", "random", "--jobs", "2"], "an order is that of one process"),
        (["--order", "random", "--shard", "1/2"], "an order is that of one process"),
    ],
)
def test_what_is_no_order_is_refused(words: list[str], said: str, call: Any) -> None:
    """Exit code 2, and what to write instead."""
    called = call("run", "basics", *words)
    assert called.code == 2
    assert said in called.err


def test_a_report_of_other_scenarios_is_no_order(folder: Path, tmp_path: Path) -> None:
    """An order that leaves scenarios out, or names some that are not there, is not the order of this run."""
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"results": [{"id": "chat/a"}, {"id": "chat/b@event-*"}]}), encoding="utf-8")
    with pytest.raises(UsageError, match="chat/c is selected only"):
        Order.parse(str(report)).arrange(select_scenarios((), (folder,)))
    arranged = Order.parse(str(report)).arrange(select_scenarios(("chat/b", "chat/a"), (folder,)))
    assert [one.id for one in arranged] == ["chat/a", "chat/b"]
