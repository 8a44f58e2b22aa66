"""No command obeys what a target or a scenario says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.cli.conftest import Call
from tests.hostile import HOSTILE, HUGE, harmless
from tests.targets.servers import ALL, Connection, ContractServer, RawServer, Request, in_thread


@dataclass
class Liar:
    """A server whose every text is hostile: its name, its version, its problems."""

    text: str
    contract: ContractServer = field(
        default_factory=lambda: ContractServer(breaks=frozenset({"carriers"}), declares=dict(ALL))
    )
    refuses: str = ""

    async def __call__(self, request: Request, connection: Connection) -> None:
        """Answer one request."""
        self.contract.declares |= {"name": self.text, "version": self.text}
        if self.refuses and request.method == "POST":
            error = {"message": self.text, "hint": self.text, "code": self.text}
            await connection.json({"error": error}, self.refuses)
            return
        await self.contract(request, connection)


@pytest.fixture(params=[HOSTILE, HUGE], ids=["hostile", "huge"])
def text(request: pytest.FixtureRequest) -> str:
    """Return what the server says of itself."""
    said: str = request.param
    return said


@pytest.fixture(params=["", "501 Not Implemented", "500 Oops", "418 Teapot"])
def url(request: pytest.FixtureRequest, text: str) -> Iterator[str]:
    """Return the address of the server."""
    with in_thread(RawServer(Liar(text=text, refuses=request.param))) as server:
        yield server.url


def test_no_command_obeys_a_target(call: Call, url: str, tmp_path: Path) -> None:
    """Whatever it says of itself and of its errors, wherever that is printed or reported, in at most 100 kB."""
    (tmp_path / "live").mkdir()
    case = "interruptions/mid-tool-args"
    files = [tmp_path / name for name in ("run.json", "run.xml", "live/one.yaml")]
    given = ("--server", url)
    for command in (
        ("run", case, *given, "--report", "console", "--report", f"json:{files[0]}", "--report", f"junit:{files[1]}"),
        ("run", case, *given, "--server", "reference"),
        ("run", case, *given, "--fault", "close-clean"),
        ("replay", case, *given),
        ("sweep", case, *given, "--budget", "1"),
        ("record", url, "--play", case, "-o", str(files[2])),
    ):
        done = call(*command)
        harmless(done.out + done.err)
        assert len(done.out + done.err) < 100_000
    for file in filter(Path.exists, files[:2]):
        harmless(file.read_text())
        assert file.stat().st_size < 100_000


def test_no_command_obeys_a_scenario(call: Call, tmp_path: Path) -> None:
    """Descriptions, ids and files of somebody else's folder."""
    folder = tmp_path / "theirs" / "theme"
    folder.mkdir(parents=True)
    evil = "\x1b]0;owned\x07::x\x9b31m"
    said = json.dumps(f"::set-output name=x::y {evil}")
    (folder / f"{evil}.yaml").write_text(
        f"description: {said}\nclauses: [cycle.kept]\ntags: [a]\nturns:\n  - user: {said}\n"
        f"  - steps:\n      - response: [{{text: {said}}}]\nexpect:\n"
        f"  outline: [{json.dumps(f'agent interrupted ::set-output name=x::y {evil}')}]\n"
    )
    (folder / "broken.yaml").write_text(f"description: {said}\n{said}: 1\nclauses: [{said}]\n")
    roots = ("--scenarios", str(tmp_path / "theirs"))
    for command in (
        ("run", *roots),
        ("list", "scenarios", *roots),
        ("list", "clauses", *roots),
        ("explain", "theme/0-owned-:x-31m", *roots),
        ("explain", HOSTILE),
        ("replay", "theme/0-owned-:x-31m", *roots),
        ("replay", "theme/broken", *roots),
        ("check", str(folder / "broken.yaml"), str(folder / f"{evil}.yaml")),
        ("hash", str(folder / f"{evil}.yaml")),
        ("run", HOSTILE),
        ("run", "--server", HOSTILE),
        ("list", HOSTILE),
    ):
        done = call(*command)
        harmless(done.out + done.err)
        assert done.out + done.err
