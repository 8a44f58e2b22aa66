"""npm packages of a peer: installed once, told what is missing, and nothing half installed is taken for whole.

`node` and `npm` are small programs here; that the real ones do it is what `tests/peers` shows.
"""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tpharness.errors import TargetError
from tpharness.targets import node_packages, nodejs
from tpharness.targets.node_packages import CACHE_VARIABLE, cache_folder, node_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs are POSIX scripts here")

Tools = Callable[..., None]
NODE = "print('v22.1.0')"
NPM = """
    import os, pathlib, sys
    with open(os.environ["NPM_LOG"], "a") as log:
        log.write(" ".join(sys.argv[1:]) + "\\n")
    pathlib.Path("node_modules").mkdir()
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
    monkeypatch.setattr(nodejs, "_wheel", lambda: None)
    monkeypatch.setattr(logging.getLogger("tpharness.install"), "handlers", [])  # nothing is really fetched

    def put(**programs: str) -> None:
        for name, code in programs.items():
            program = path / name
            program.write_text(f"#!{sys.executable}\n{textwrap.dedent(code)}")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)

    return put


def test_packages_are_installed_once(peer: Path, tools: Tools, tmp_path: Path) -> None:
    """The second time nothing is asked of npm; the scripts lie where Node finds the packages."""
    tools(node=NODE, npm=NPM)
    first, second = node_program(peer), node_program(peer)
    assert first == second
    assert (tmp_path / "npm.log").read_text().splitlines() == [
        "ci --no-audit --no-fund --loglevel=error --ignore-scripts"
    ]
    assert (first.scripts / "server.mjs").read_text() == "// server.mjs"
    assert (first.scripts.parent / "node_modules").is_dir()
    assert first.node == tmp_path / "bin" / "node"


def test_of_several_processes_one_installs(peer: Path, tools: Tools, tmp_path: Path) -> None:
    """The others wait for it, and find what they need."""
    tools(node=NODE, npm=f"import time; time.sleep(0.5)\n{textwrap.dedent(NPM)}")
    code = "import sys; from pathlib import Path; from tpharness.targets.node_packages import node_program as program"
    command = [sys.executable, "-c", f"{code}; print(program(Path(sys.argv[1])).scripts)", str(peer)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    found = {process.communicate(timeout=60)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert found == {f"{node_program(peer).scripts}\n"}
    assert len((tmp_path / "npm.log").read_text().splitlines()) == 1


def test_what_a_peer_has_to_do_itself_is_done_before_it_counts_as_installed(peer: Path, tools: Tools) -> None:
    """`install.mjs` runs in the folder that becomes the installed one; when it fails, nothing is installed."""
    tools(node="import sys; print('v22.1.0') if sys.argv[1] == '--version' else sys.exit('no room')", npm=NPM)
    (peer / "install.mjs").write_text("// install.mjs")
    with pytest.raises(TargetError, match=r"install\.mjs exits with 1: no room"):
        node_program(peer)
    tools(
        node="import sys, pathlib; print('v22.1.0') if sys.argv[1] == '--version' else pathlib.Path('made').touch()",
        npm=NPM,
    )
    assert (node_program(peer).scripts.parent / "made").is_file()


def test_what_is_fetched_is_logged_with_its_size(
    peer: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Before, while and after; the second time nothing is."""
    tools(
        node=NODE, npm=f"{textwrap.dedent(NPM)}\nopen('big', 'wb').write(bytes(3_000_000))\nimport time; time.sleep(1)"
    )
    (peer / "package.json").write_text('{"tpharness": {"megabytes": 71}}')
    monkeypatch.setattr(node_packages, "_PROGRESS_SECONDS", 0.2)
    node_program(peer)
    first, *progress, last = [record.getMessage() for record in caplog.records]
    assert first == "tpharness: fetching the npm packages of a_peer (71 MB, once)"
    assert "tpharness: … 3 MB are there" in progress
    assert last.startswith("tpharness: installed into ")
    caplog.clear()
    node_program(peer)
    assert not caplog.records


def test_other_scripts_need_no_other_packages(peer: Path, tools: Tools, tmp_path: Path) -> None:
    """A changed script has a folder of its own; a changed lock is another installation."""
    tools(node=NODE, npm=NPM)
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
    tools(node=NODE, npm=broken)
    with pytest.raises(TargetError, match="npm ci exits with 1: npm error network request failed") as told:
        node_program(peer)
    assert "needs the network once" in told.value.hint
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["install.lock"]
    tools(npm=NPM)
    assert node_program(peer).scripts.is_dir()


def test_an_npm_that_hangs_is_given_up(peer: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation has an end."""
    monkeypatch.setattr(node_packages, "_SECONDS", 0.2)
    tools(node=NODE, npm="import time; time.sleep(30)")
    with pytest.raises(TargetError, match="takes longer than"):
        node_program(peer)


def test_the_cache_lies_where_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variable first, then the user's cache folder."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "tpharness"


@pytest.mark.skipif(os.name != "posix", reason="there files do not have an owner like this")
@pytest.mark.parametrize("poison", ["owner", "mode"])
@pytest.mark.parametrize("installed", [True, False])
def test_packages_that_others_may_have_changed_are_not_run(
    peer: Path, tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, poison: str, *, installed: bool
) -> None:
    """Npm compares packages with the lock only when it installs them; whoever owns them may put in what they like."""
    cache = tmp_path / "cache"
    tools(node=NODE, npm=NPM)
    monkeypatch.setenv(CACHE_VARIABLE, str(cache))
    if installed:
        node_program(peer)
    else:
        cache.mkdir()
    folder = next((one for one in cache.iterdir() if one.is_dir()), cache)
    if poison == "mode":
        folder.chmod(0o777)
    elif os.geteuid() == 0:
        os.chown(folder, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(TargetError, match="is of another user, or everybody may write into it"):
        node_program(peer)
