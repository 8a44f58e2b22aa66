"""Which known failures hold for a run: those of a file, or the built-in ones of the targets that it plays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tpharness import targets
from tpharness.resources import conformance_dir
from tpharness.verdict.baseline import Baseline, BaselineEntry
from tpharness.verdict.baseline_read import read_baseline

__all__ = ["load_baseline"]

_SAME_BEHAVIOUR = {
    "ai-sdk-browser": "ai-sdk-client",
    **dict.fromkeys(("ag-ui-client-one-read", "ag-ui-browser", "ag-ui-browser-one-read"), "ag-ui-client"),
}
"""Peers that share another peer's baseline: the same package in a browser, or with its streams in other reads."""


def load_baseline(
    path: Path | None = None, *, server: str = "reference", client: str = "reference", judges_less: bool = False
) -> Baseline:
    """Read a baseline file, or the built-in ones if `path` is None. InputError or UsageError names file and entry.

    The built-in ones cover the recorded streams and the peers that `server` and `client` name, in the release that is
    tested: another one departs otherwise. They were written for every version and exact comparison; a run that
    `judges_less` need not find everything that they name.
    """
    if path is not None:
        return read_baseline(path)
    folder = conformance_dir() / "baselines"
    entries: dict[str, BaselineEntry] = {}
    many: list[BaselineEntry] = []
    for file in sorted(folder.glob("*.yaml")):
        found = read_baseline(file).entries
        others = {server, client} != {"reference"}
        entries.update({case: replace(entry, may_pass=others or judges_less) for case, entry in found.items()})
    for role, spec in (("server", server), ("client", client)):
        kind, _, name = spec.partition(":")
        name, _, release = name.partition("@")
        if release and not targets.is_tested_release(name, release):
            continue
        file = folder / "peers" / f"{role}-{_SAME_BEHAVIOUR.get(name, name)}.yaml"
        if kind == "peer" and file.is_file():
            peers = read_baseline(file)
            entries.update({case: replace(entry, may_pass=judges_less) for case, entry in peers.entries.items()})
            many += peers.many
    alone = "reference" in (server, client)
    return Baseline(entries=entries, path=str(folder), strict=alone, many=tuple(many))
