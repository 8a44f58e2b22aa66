"""Peers at a release: which one is meant, and where its packages come from."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import tpharness.peers
from tpharness.errors import TargetError, UsageError
from tpharness.run.baselines import load_baseline
from tpharness.targets.node_packages import CACHE_VARIABLE
from tpharness.targets.peers import PeerServer
from tpharness.targets.python_packages import python_command, released_python
from tpharness.targets.releases import framework_of, npm_source, resolve_release
from tpharness.targets.spec import resolve_client, resolve_server

PEERS = Path(tpharness.peers.__file__).parent
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "number"),
    [("5.0.0", "5.0.0"), ("5", "5.0.277"), ("7.0", "7.0.173"), ("6.1.9", "6.1.9"), ("7.0.0-beta.3", "7.0.0-beta.3")],
)
def test_a_release_is_written_out_or_begins_a_known_one(text: str, number: str) -> None:
    """The beginning of a number is the newest known release that begins so."""
    assert resolve_release("ai-sdk-client", text).number == number


@pytest.mark.parametrize("text", ["", "8", "v5", "latest", "5.0.0; rm", "../5.0.0", "^5.0.0", "5.0.0 || 6"])
def test_what_is_not_a_release_is_refused_with_those_that_are_known(text: str) -> None:
    """What npm or pip would read as a range, a tag or a path never gets to them."""
    with pytest.raises(UsageError, match="is not a release of ai") as raised:
        resolve_client(f"peer:ai-sdk-client@{text}")
    assert "5.0.0, 5.0.277, 6.0.0" in raised.value.hint


def test_a_peer_of_one_release_says_which_have_several() -> None:
    """The reference is as new as tpharness, and a browser has more in it than one package."""
    with pytest.raises(UsageError, match="peer:ai-sdk-browser cannot be played at another release") as raised:
        resolve_client("peer:ai-sdk-browser@6")
    assert (
        "ai-sdk-client, pydantic-ai, langgraph, pydantic-ai-ag-ui, langgraph-ag-ui, strands-ag-ui, ag-ui-client"
        in raised.value.hint
    )


def test_the_newest_known_releases_are_those_that_are_tested() -> None:
    """Those of the lock files and of constraints.txt; each lock holds the release that names it."""
    pins = (ROOT / "constraints.txt").read_text("utf-8")
    for peer, package in (("pydantic-ai", "pydantic-ai-slim"), ("langgraph", "langgraph")):
        framework = framework_of(peer)
        assert framework is not None
        assert re.search(rf"^{package}==(\S+)", pins, re.MULTILINE)[1] == framework.newest  # type: ignore[index]
    framework = framework_of("ai-sdk-server")
    assert framework is not None
    assert json.loads((PEERS / "ai_sdk" / "package.json").read_text("utf-8"))["dependencies"]["ai"] == framework.newest
    for number, folder in framework.releases.items():
        if folder:
            assert json.loads((PEERS / folder / "package.json").read_text("utf-8"))["dependencies"]["ai"] == number
    for table in tomllib.loads((PEERS / "releases.toml").read_text("utf-8")).values():
        numbers = [[int(part) for part in number.split(".")] for number in table["releases"]]
        assert numbers == sorted(numbers), "the newest is the last"


def test_a_release_without_a_lock_gets_a_package_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which names the release and nothing else; one with a lock is installed by the lock."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    folder = npm_source(resolve_release("ai-sdk-client", "5.0.0"), PEERS)
    assert folder == tmp_path / "releases" / "ai@5.0.0"
    assert json.loads((folder / "package.json").read_text("utf-8"))["dependencies"] == {"ai": "5.0.0"}
    assert npm_source(resolve_release("ai-sdk-client", "6"), PEERS) == PEERS / "ai_sdk_6"


def test_a_baseline_is_for_the_release_that_is_tested() -> None:
    """Another release departs otherwise, and shows it."""
    tested = load_baseline(client="peer:ai-sdk-client")
    assert load_baseline(client="peer:ai-sdk-client@7").entries == tested.entries
    older = load_baseline(client="peer:ai-sdk-client@5.0.0").entries
    assert older
    assert all(name.startswith("recorded/") for name in older)


def test_a_peer_of_a_file_has_its_release_in_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for one, and a release that could be an option is refused."""
    (tmp_path / "tpharness.toml").write_text("[peers.mine]\ncommand = ['serve', '{port}', 'mine-{release}']", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert PeerServer("peer:mine@1.4")._process._command[2] == "mine-1.4"
    with pytest.raises(UsageError, match="peer:mine needs a release"):
        resolve_server("peer:mine")
    with pytest.raises(UsageError, match="does not name a release"):
        resolve_server("peer:mine@--all")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip find the releases 1.0 and 2.0 of a package `thing` on the disk, and nothing else; the cache is empty."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for release in ("1.0", "2.0"):
        info = f"thing-{release}.dist-info"
        with zipfile.ZipFile(packages / f"thing-{release}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("thing.py", f"import tpharness, sys; print({release!r}, tpharness.__name__, sys.argv[1:])")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: thing\nVersion: {release}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(packages))
    (tmp_path / "constraints.txt").write_text("thing==2.0\n", "utf-8")
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "constraints.txt"))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(logging.getLogger("tpharness.install"), "handlers", [])  # nothing is really fetched


@pytest.mark.usefixtures("shop")
def test_a_release_of_a_python_package_has_an_environment_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    """Made once, and announced; tpharness is found from it, and no constraint for this environment holds there."""
    python = released_python(["thing==1.0"])
    first = "tpharness: fetching thing==1.0 and what it needs with pip, once"
    assert caplog.records[0].getMessage() == first
    done = subprocess.run([*python_command(python, "thing"), "--port", "7"], capture_output=True, text=True, check=True)
    assert done.stdout == "1.0 tpharness ['--port', '7']\n"
    caplog.clear()
    assert released_python(["thing==1.0"]) == python
    assert not caplog.records
    assert sys.prefix not in str(python)


@pytest.mark.usefixtures("shop")
def test_a_release_that_nobody_has_leaves_nothing_behind(tmp_path: Path) -> None:
    """What pip says is said, in one line, and nothing counts as installed."""
    with pytest.raises(TargetError, match=r"pip cannot install thing==3\.0: ERROR: .*thing==3\.0"):
        released_python(["thing==3.0"])
    assert not list((tmp_path / "cache").glob("python-*"))
