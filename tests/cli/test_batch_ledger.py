"""What `--resume` knows of each document: found by its name, the last of several, in little memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from tpharness.cli.batch import ledger as module
from tpharness.cli.batch.digest import digest_of
from tpharness.cli.batch.ledger import BatchLedger, Entry

COMMAND = {"work": "HashOf", "options": {"--canonical": False}, "version": "1.0.0"}


def entry(number: int) -> Entry:
    """Return the entry of a document whose result has a byte for its number."""
    return Entry(digest=digest_of(str(number).encode()), outcome="done", code=0, start=number, end=number + 1)


def written(path: Path, names: list[str]) -> BatchLedger:
    """Return a ledger in which the documents have been noted in this order."""
    ledger = BatchLedger(path, COMMAND, resume=False)
    for number, name in enumerate(names):
        ledger.add(name, entry(number))
    ledger.flush()
    return ledger


@pytest.mark.parametrize("same_hash", [False, True])
def test_a_document_is_found_by_its_name(*, same_hash: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line about it counts, also where the names share a hash; what was never noted is not known."""
    if same_hash:
        monkeypatch.setattr(module, "_hash", lambda _: 7)
    written(tmp_path / "done", ["a", "b", "a", "ü/c d", "b"]).close()
    ledger = BatchLedger(tmp_path / "done", COMMAND, resume=True)
    assert [ledger.known(name) for name in ("a", "b", "ü/c d", "d")] == [entry(2), entry(4), entry(3), None]
    assert ledger.end == 5
    ledger.add("a", entry(5))
    ledger.flush()
    replaced = ledger.replaced()
    assert [name for name, _ in ledger.kept(replaced)] == ["ü/c d", "b", "a"]
    assert [kept.start for _, kept in ledger.kept(replaced)] == [3, 4, 5]
    ledger.close()


def test_what_was_noted_once_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that share a hash are not the same document."""
    monkeypatch.setattr(module, "_hash", lambda _: 7)
    ledger = written(tmp_path / "done", ["a", "b", "c"])
    assert ledger.replaced() == set()
    ledger.close()


def test_memory_does_not_grow_with_names(tmp_path: Path) -> None:
    """A document that is done takes a few bytes, while it is noted and when a run goes on."""
    number = 20_000
    names = [f"a folder with a long name/and another one/{n:08}.json" for n in range(number)]
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        written(tmp_path / "done", names).close()
        ledger = BatchLedger(tmp_path / "done", COMMAND, resume=True)
        assert ledger.known(names[-1]) == entry(number - 1)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    ledger.close()
    assert after - before < 12 * number
