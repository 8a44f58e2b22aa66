"""npm packages of a peer: installed once, told what is missing, and nothing half installed is taken for whole.

`node` and `npm` are small programs here; that the real ones do it is what `tests/peers` shows.
"""

from __future__ import annotations

import stat
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tpharness.errors import TargetError
from tpharness.targets import node_packages
from tpharness.targets.node_packages import CACHE_VARIABLE, cache_folder, node_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs are POSIX scripts here")

Tools = Callable[..., None]
NPM = """
    import os, pathlib, sys
    with open(os.environ["NPM_LOG"], "a") as log:
        log.write(" ".join(sys.argv[1:]) + "\\n")
    pathlib.Path("node_modules", ".bin").mkdir(parents=True)
    pathlib.Path("node_modules", ".bin", "node").touch()
"""


@pytest.fixture
def peer(tmp_path: Path) -> Path:
    """Return the folder of a peer."""
    folder = tmp_path / "a_peer"
    folder.mkdir()
    for name in ("package.json", "package-lock.json", ".npmrc", "server.mjs"):
        (folder / name).write_text(f"// {name}")
    return folder


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    """Return what puts programs on the PATH, and nothing else there; the cache is empty."""
    path = tmp_path / "bin"
    path.mkdir()
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("NPM_LOG", str(tmp_path / "npm.log"))

    def put(**programs: str) -> None:
        for name, code in programs.items():
            program = path / name
            program.write_text(f"#!{sys.executable}\n{textwrap.dedent(code)}")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)

    return put


def test_packages_are_installed_once(peer: Path, tools: Tools, tmp_path: Path) -> None:
    """The second time nothing is asked of npm; the scripts lie where Node finds the packages."""
    tools(node="print('v22.1.0')", npm=NPM)
    first, second = node_program(peer), node_program(peer)
    assert first == second
    assert (tmp_path / "npm.log").read_text().splitlines() == [
        "ci --no-audit --no-fund --loglevel=error --ignore-scripts"
    ]
    assert (first.scripts / "server.mjs").read_text() == "// server.mjs"
    assert (first.scripts.parent / "node_modules").is_dir()
    assert first.node.name == "node"


def test_an_older_node_gets_the_one_of_npm(peer: Path, tools: Tools, tmp_path: Path) -> None:
    """Node 20 installs; the packages run on the Node that comes with them."""
    tools(node="print('v20.20.2')", npm=NPM)
    program = node_program(peer)
    assert program.node.is_relative_to(tmp_path / "cache")
    assert "--ignore-scripts" not in (tmp_path / "npm.log").read_text()


def test_other_scripts_need_no_other_packages(peer: Path, tools: Tools, tmp_path: Path) -> None:
    """A changed script has a folder of its own; a changed lock is another installation."""
    tools(node="print('v22.1.0')", npm=NPM)
    before = node_program(peer)
    (peer / "server.mjs").write_text("// changed")
    after = node_program(peer)
    assert before.scripts.parent == after.scripts.parent
    assert before.scripts != after.scripts
    assert len((tmp_path / "npm.log").read_text().splitlines()) == 1
    (peer / "package-lock.json").write_text("// changed")
    assert node_program(peer).scripts.parent != after.scripts.parent


def test_what_npm_leaves_half_done_is_not_taken(peer: Path, tools: Tools, tmp_path: Path) -> None:
    """A failure is told with npm's words, leaves nothing, and the next try starts anew."""
    broken = NPM + "    sys.exit('npm error network request failed')\n"
    tools(node="print('v22.1.0')", npm=broken)
    with pytest.raises(TargetError, match="npm ci exits with 1: npm error network request failed") as told:
        node_program(peer)
    assert "needs the network once" in told.value.hint
    assert list((tmp_path / "cache").iterdir()) == []
    tools(npm=NPM)
    assert node_program(peer).scripts.is_dir()


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        ({}, "Node.js is not installed"),
        ({"node": "print('v18.0.0')"}, "is Node v18.0.0"),
        ({"node": "raise SystemExit(3)"}, "of no version"),
        ({"node": "print('v22.1.0')"}, "npm is not installed"),
    ],
)
def test_what_is_missing_is_said(peer: Path, tools: Tools, programs: dict[str, str], said: str) -> None:
    """With what to install; the cases of such a peer could not run."""
    tools(**programs)
    with pytest.raises(TargetError, match=said) as told:
        node_program(peer)
    assert told.value.hint


def test_an_npm_that_hangs_is_given_up(peer: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation has an end."""
    monkeypatch.setattr(node_packages, "_SECONDS", 0.2)
    tools(node="print('v22.1.0')", npm="import time; time.sleep(30)")
    with pytest.raises(TargetError, match="takes longer than"):
        node_program(peer)


def test_the_cache_lies_where_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variable first, then the user's cache folder."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "tpharness"
