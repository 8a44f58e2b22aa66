"""A client is asked for contents if it declares integrity, once in a case, and says why if it is not (R56)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.scenarios import load_builtin

from tpharness.errors import TargetError
from tpharness.protocol.versions import Version
from tpharness.run.contents import resolve_contents
from tpharness.run.plan import base_case
from tpharness.run.play import Players, play
from tpharness.targets import Capabilities, Reference

pytestmark = pytest.mark.asyncio

STORED, NOTHING = "tools/content-ref", "basics/tool-call-and-answer"


class Named(Reference):
    """The reference under the capabilities that a test declares; it keeps what it was asked."""

    def __init__(self, *, integrity: bool) -> None:
        super().__init__()
        self._capabilities = Capabilities(name="named", integrity=integrity)
        self.asked: list[tuple[Mapping[str, Any], bytes]] = []

    async def resolve(self, reference: Mapping[str, Any], data: bytes) -> bytes | None:
        """Resolve as the reference does."""
        self.asked.append((reference, data))
        return await super().resolve(reference, data)


class Unable:
    """A client that declares integrity and cannot resolve."""

    capabilities = Capabilities(name="unable", integrity=True)


@pytest.mark.parametrize(
    ("scenario", "integrity", "thorough", "why"),
    [
        (STORED, False, True, "the client does not declare integrity"),
        (NOTHING, True, True, "no thread of the client refers to a content"),
        (STORED, True, False, "contents are asked for once in a scenario, without a cut and without a fault"),
    ],
)
async def test_what_is_not_asked_for_has_its_reason(scenario: str, integrity: bool, thorough: bool, why: str) -> None:
    """No client is held to what it does not declare."""
    client = Named(integrity=integrity)
    case = base_case(load_builtin(scenario))
    pieces = await play(case, Players(server=Reference(), client=client), thorough=thorough)
    assert client.asked == []
    assert {(piece.resolutions, piece.unresolved) for piece in pieces} == {((), why)}


async def test_right_and_tampered_contents_are_asked_for() -> None:
    """The reference is that of the thread; of ten contents two are right, and no tampered one is equal to them."""
    client = Named(integrity=True)
    pieces = await play(base_case(load_builtin(STORED)), Players(server=Reference(), client=client))
    assert {named["uri"] for named, _ in client.asked} == {"https://store.example/1"}
    (resolutions,) = {piece.resolutions for piece in pieces}
    assert [one.right is None for one in resolutions] == [False] * 2 + [True] * 8
    assert all(one.given == one.right for one in resolutions)
    named_right = client.asked[0]
    assert named_right not in client.asked[1:]


async def test_a_client_that_lacks_what_it_declares_is_an_error() -> None:
    """The hint says what is missing."""
    with pytest.raises(TargetError, match="unable declares integrity and lacks resolve"):
        await resolve_contents(Unable(), {Version.V0_0_4: {"turns": []}}, thorough=True)  # type: ignore[arg-type]
