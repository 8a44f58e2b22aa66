"""What to play, on whom, and how: one record for the command line, the pytest plugin and every room."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tpharness.printable import without_credentials
from tpharness.protocol.versions import Version
from tpharness.scenario.records import Compare
from tpharness.targets.remote import Patience
from tpharness.trace.format import Traced
from tpharness.wires.registry import DEFAULT_WIRE

if TYPE_CHECKING:
    from tpharness.run.keyword import Keyword
    from tpharness.run.order import Order
    from tpharness.run.shard import Shard

__all__ = ["RunOptions", "side_options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What to play, on whom, and how. With the defaults every built-in scenario is played on the reference.

    What: `ids` are ids of scenarios and cases, patterns and themes. `roots` are folders or files with scenarios, the
    built-in ones if empty; `follow_links` reads what links in them lead to outside of them, too. Of these scenarios are
    played those that belong to one of the `profiles` (names of `conformance/profiles.yaml`), that cite one of the
    `clauses` (ids), whose ids fit the `keyword`, that have one of the cases that `last_failed` names, and whose id is
    among `only`, the ids of a round of `--watch`; what is empty or None restricts nothing. A `shard` is a part of what
    is left.

    On whom: `server` and `client` are targets, as the options `--server` and `--client` take them. `patience` has the
    timeouts of remote targets. `history` names a history dialect, which the histories room plays instead of
    ThreadProtocol.

    How: `versions` are the versions of the protocol, None for all. `compare` says how threads are compared, None as the
    scenario does. With `faults` every scenario is played with each of them, and not without one; a profile plays some
    scenarios with faults as well. `order` None plays by id; with an order one case is played at a time, so that the
    same order is the same run. `jobs` is the number of worker processes; `cluster` names the Dask workers that play
    instead (`local`, `local:N`, `tcp://HOST:PORT`). `maxfail` is the number of failed cases after which the run ends, 0
    for no limit. `baseline` is a file of known failures; None means the built-in ones for built-in scenarios, and none
    for others. `trace` says which results come with what a trace needs; no verdict depends on it. `wire` is the name of
    what the streams are, or all.
    """

    ids: tuple[str, ...] = ()
    roots: tuple[Path, ...] = ()
    follow_links: bool = False
    profiles: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    keyword: Keyword | None = None
    last_failed: frozenset[str] = frozenset()
    only: tuple[str, ...] = ()
    shard: Shard | None = None
    server: str = "reference"
    client: str = "reference"
    patience: Patience = field(default_factory=Patience)
    history: str = ""
    versions: tuple[Version, ...] | None = None
    compare: Compare | None = None
    faults: tuple[str, ...] = ()
    order: Order | None = None
    jobs: int = 1
    cluster: str = ""
    maxfail: int = 0
    baseline: Path | None = None
    trace: Traced = Traced.NONE
    wire: str = "vsp"

    @property
    def whole_suite(self) -> bool:
        """Whether all built-in scenarios are played, so that every clause must be exercised."""
        return not (self.roots or self.versions or self.faults or self.restricted or self.wire != DEFAULT_WIRE)

    @property
    def restricted(self) -> bool:
        """Whether only some of the scenarios below the roots are played."""
        return bool(self.ids or self.profiles or self.clauses or self.keyword or self.last_failed or self.only)

    @property
    def target_words(self) -> tuple[str, ...]:
        """The options of a command that plays on the same targets in the same way, without tokens."""
        compare = () if self.compare is None else ("--compare", self.compare.value)
        return (*side_options(self.server, self.client, self.wire), *compare)


def side_options(server: str, client: str, wire: str = DEFAULT_WIRE) -> tuple[str, ...]:
    """Return the options that name these targets and their wire, for suggested commands; the defaults need none.

    They have no token, so that they may be shown and saved: TPHARNESS_TOKEN gives it.
    """
    named = (("--server", server, "reference"), ("--client", client, "reference"), ("--wire", wire, DEFAULT_WIRE))
    return tuple(word for name, value, usual in named if value != usual for word in (name, without_credentials(value)))
