"""A mistake in tpharness that one document of many brings to light: it is named and counted, and the others go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_batch_by_hand import numbers
from tests.cli.test_batch_killed import store

from tpharness.cli.check import CheckAs
from tpharness.cli.repair import RepairIn

__all__ = ["store"]  # a fixture


def plant(patch: pytest.MonkeyPatch, work: Any) -> None:
    """Have the work raise for two documents what nobody expects."""
    real = work.__call__

    def planted(self: Any, document: Any) -> Any:
        if document.name.endswith((":3", ":50")):
            raise KeyError("planted")
        return real(self, document)

    patch.setattr(work, "__call__", planted)


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("output", ["out", "out.jsonl"], ids=["folder", "lines"])
def test_a_mistake_of_ours_stops_no_batch(
    jobs: str, output: str, store: Path, tmp_path: Path, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document is kept as one of which nothing was made, and is done with --resume once the mistake is mended."""
    target, by_hand = tmp_path / output, tmp_path / "by-hand"
    args = ["repair", str(store), "-o", str(target), "--rejected", str(by_hand), "--jobs", jobs]
    with monkeypatch.context() as patch:
        plant(patch, RepairIn)
        called = call(*args)
    assert called.code == 2
    for line in (3, 50):
        assert f"internal error in {store}:{line}: KeyError: 'planted'\n" in called.err
        assert (by_hand / "store" / f"{line}.json").read_bytes() == store.read_bytes().splitlines()[line - 1]
    assert called.err.count("Traceback (most recent call last):") == 1
    assert "in planted\n" in called.err
    assert "not in the document; send the lines above to the authors of tpharness" in called.err
    assert "70 documents: 2 internal error, " in called.out + called.err
    assert numbers(target) == [n for n in range(70) if n % 7 and n not in (2, 49)]
    resumed = call(*args, "--resume")
    assert (resumed.code, "Traceback" in resumed.err) == (1, False)
    assert numbers(target) == [n for n in range(70) if n % 7]


def test_a_mistake_of_ours_is_in_the_report(store: Path, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the exit code of a document that could not be judged, whatever is wrong with the others."""
    plant(monkeypatch, CheckAs)
    called = call("check", str(store), "--json")
    assert called.code == 2
    lines = [json.loads(line) for line in called.out.splitlines()]
    assert [(one["document"], one["error"]) for one in lines if one["outcome"] == "internal error"] == [
        (f"{store}:{n}", f"internal error in {store}:{n}: KeyError: 'planted'") for n in (3, 50)
    ]
    assert len(lines) == 70
