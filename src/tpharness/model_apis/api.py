"""What a model API is to the rest of tpharness: one record, which its folder makes and the registry lists.

The record holds what every command may ask; it is small. The three larger parts are modules of the folder that are
imported when one of them is first used, so that `tpharness explain` does not load a server:

- `rules`: whether the API takes a payload (`Acceptance`),
- `history`: messages as a payload (`HistoryWriter`), and `server_history` for its `servers` (`ServerHistoryWriter`),
- `server`: the API as an application meets it (`Served`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

if TYPE_CHECKING:  # what a part needs is loaded with the part
    from tpharness.findings import Finding
    from tpharness.model_apis.rule import ApiRule
    from tpharness.model_apis.server import ApiServer, ServerOptions
    from tpharness.model_apis.shape import PayloadEntry

__all__ = ["Acceptance", "Decision", "HistoryWriter", "ModelApi", "SdkTypes", "Served", "ServerHistoryWriter"]

Decision: TypeAlias = tuple[str, str, Any]
"""What a request itself decides about its rules: in words, the name of the option, its value."""


class Acceptance(Protocol):
    """The module `rules` of an API."""

    RULES: Sequence[ApiRule]
    """Every rule of the API, in the order of its number."""
    open_payload: Callable[[Any], tuple[list[PayloadEntry], list[Finding]]]
    """Take a payload of any form apart; return its entries, and findings about values of unknown types."""


class HistoryWriter(Protocol):
    """The module `history` of an API."""

    write_payload: Callable[[list[dict[str, Any]]], Any]
    """Write joined messages in the format of Pydantic AI as the API's input."""
    additions: Callable[[list[dict[str, Any]]], Iterator[tuple[str, str, str]]]
    """Yield what is written and not in the messages: its place in what is written, what, and why."""


class ServerHistoryWriter(Protocol):
    """The module `server_history` of an API that has `servers`."""

    write_for: Callable[[str, list[dict[str, Any]]], Any]
    """Write joined messages in the format of Pydantic AI as a server of this name takes them."""
    changes_for: Callable[[str, list[dict[str, Any]]], Iterator[tuple[str, str, str]]]
    """Yield what is in these messages otherwise than for the API's own server: its place in them, what, and why."""


class Served(Protocol):
    """The module `server` of an API."""

    make_server: Callable[[ServerOptions], ApiServer]
    """Return the API as one run of an application meets it."""
    asks_for_thoughts: Callable[[Any], bool]
    """Whether a body asks the model to think in a way that the API shows: else no answer may begin with thoughts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkTypes:
    """Where the official SDK has the type of one entry: package, module, name."""

    package: str
    module: str
    name: str


def _never(*_: Any) -> bool:
    return False


def _undecided(*_: Any) -> Iterator[Decision]:
    return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelApi:
    """One model API. `package` is the name of its folder's package.

    A request is recognised by what no other API has. `owns` says so at once, of
    a body (empty for a list alone) and its entries; `has_entry` of one entry
    and `has_options` of the fields beside them each give a sign, and the API with the only signs is the one. `entries`
    holds the entries of a body, each of which is called an `entry`. `decide` yields what a body and the name of its
    model decide about the rules. `issuers` are the providers whose signatures the API takes: its own. `environment`
    points SDKs and frameworks at another server; `{base}` and `{key}` stand for its address and a key, and `shown` are
    the two that a person needs to see. `sdk` is None where there is no official SDK with types.
    `servers` are other servers of the API, by the names that `Options.server` takes: rules that each does not apply.
    `names_model` is the field with the model; `required` are fields of a body beside its messages and the model,
    without which every request is refused.
    `refusals` are the SHOULD rules of their own for which each surely refuses a request. Applications are played on
    every API, histories on those that are `played`.
    """

    name: str
    title: str
    package: str
    entries: str
    entry: str = "message"
    owns: Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], bool] = _never
    has_entry: Callable[[Mapping[str, Any]], bool] = _never
    has_options: Callable[[Mapping[str, Any]], bool] = _never
    decide: Callable[[Mapping[str, Any], str], Iterator[Decision]] = _undecided
    issuers: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    sdk: SdkTypes | None = None
    servers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    refusals: Mapping[str, frozenset[str]] = field(default_factory=dict)
    names_model: str = "model"
    required: tuple[str, ...] = ()
    played: bool = True

    @property
    def acceptance(self) -> Acceptance:
        """The rules of the API."""
        return cast("Acceptance", import_module(f"{self.package}.rules"))

    @property
    def history(self) -> HistoryWriter:
        """What writes messages for the API."""
        return cast("HistoryWriter", import_module(f"{self.package}.history"))

    @property
    def server_history(self) -> ServerHistoryWriter:
        """What writes messages for another server of the API."""
        return cast("ServerHistoryWriter", import_module(f"{self.package}.server_history"))

    @property
    def served(self) -> Served:
        """The API as a server."""
        return cast("Served", import_module(f"{self.package}.server"))
