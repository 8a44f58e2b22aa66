"""What to play, on whom, and how: one record for the command line, the pytest plugin and every room."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tpharness.printable import without_credentials
from tpharness.protocol.versions import Version
from tpharness.run.keyword import Keyword
from tpharness.run.order import Order
from tpharness.run.shard import Shard
from tpharness.scenario.records import Compare
from tpharness.targets.remote import Patience
from tpharness.trace.format import Traced

__all__ = ["RunOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What to play, on whom, and how.

    `roots` are folders or files with scenarios, the built-in ones if empty. `baseline` None means the built-in one if
    built-in scenarios are played, otherwise none. `patience` has the timeouts of remote targets. With `faults` every
    scenario is played with each of them, and not without one. `history` names a history dialect, which the histories
    room plays instead of ThreadProtocol. `order` None plays by id; with an order one case is played at a time, so that
    the same order is the same run. `profiles` are names of `conformance/profiles.yaml`: only scenarios that belong to
    one of them are played, some of them with faults as well; `clauses` are ids of clauses: only scenarios that cite one
    of them are played; `keyword` restricts the ids. `last_failed` are cases that
    failed last: with any, only their scenarios are played, or their faults. With `maxfail` the run ends after so many
    failed cases. `only` are ids of scenarios to which a round of `--watch` is restricted. `trace` says which results
    come with what a trace needs; no verdict depends on it.
    """

    ids: tuple[str, ...] = ()
    roots: tuple[Path, ...] = ()
    server: str = "reference"
    client: str = "reference"
    versions: tuple[Version, ...] | None = None
    compare: Compare | None = None
    jobs: int = 1
    baseline: Path | None = None
    patience: Patience = field(default_factory=Patience)
    faults: tuple[str, ...] = ()
    history: str = ""
    shard: Shard | None = None
    cluster: str = ""
    order: Order | None = None
    profiles: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    trace: Traced = Traced.NONE
    keyword: Keyword | None = None
    last_failed: frozenset[str] = frozenset()
    maxfail: int = 0
    only: tuple[str, ...] = ()

    @property
    def whole_suite(self) -> bool:
        """Whether all built-in scenarios are played, so that every clause must be exercised."""
        return not (self.ids or self.roots or self.versions or self.faults or self.restricted)

    @property
    def restricted(self) -> bool:
        """Whether only some of the scenarios that the ids name are played."""
        return bool(self.profiles or self.clauses or self.keyword or self.last_failed or self.only)

    @property
    def target_words(self) -> tuple[str, ...]:
        """The options of a command that plays on the same targets in the same way, without tokens."""
        named = {"--server": self.server, "--client": self.client}
        words = [
            word for name, spec in named.items() if spec != "reference" for word in (name, without_credentials(spec))
        ]
        return (*words, *(() if self.compare is None else ("--compare", self.compare.value)))
