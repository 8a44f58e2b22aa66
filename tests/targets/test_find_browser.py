"""Which browser is used: the one that is named, one on the PATH, the one of the npm package, or Playwright's."""

from __future__ import annotations

import platform
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tpharness.errors import TargetError
from tpharness.targets import browser
from tpharness.targets.browser import BROWSER_VARIABLE, browser_environment, find_browser

posix = pytest.mark.skipif(sys.platform == "win32", reason="programs are POSIX scripts here")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder on the PATH, empty; no browser is named, and none can be installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(BROWSER_VARIABLE, raising=False)
    monkeypatch.setattr(browser, "installed_packages", lambda *_: Path("/packages"))
    put_on(monkeypatch, "linux", "x86_64", ("glibc", "2.36"))
    return tmp_path


def put_on(monkeypatch: pytest.MonkeyPatch, system: str, machine: str, library: tuple[str, str]) -> None:
    """Have the module under test, and nothing else, believe that it runs on a system."""
    monkeypatch.setattr("tpharness.targets.browser.sys", SimpleNamespace(platform=system))
    platform = SimpleNamespace(machine=lambda: machine, libc_ver=lambda: library)
    monkeypatch.setattr("tpharness.targets.browser.platform", platform)


def program(file: Path) -> Path:
    """Make a file that can be run."""
    file.write_text("#!/bin/sh\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


@posix
def test_the_one_that_is_named_is_used_before_all_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it lies."""
    program(folder / "chromium")
    monkeypatch.setenv(BROWSER_VARIABLE, str(program(folder / "mine")))
    assert find_browser() == folder / "mine"


def test_a_name_that_is_no_program_is_not_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another browser than the one that is named would be a surprise."""
    monkeypatch.setenv(BROWSER_VARIABLE, str(folder / "mine"))
    with pytest.raises(TargetError, match="mine is not a program") as told:
        find_browser()
    assert "unset" in told.value.hint


@posix
@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
def test_an_installed_one_is_used(name: str, folder: Path) -> None:
    """Nothing is fetched then."""
    program(folder / name)
    assert find_browser() == folder / name
    assert browser_environment() == {BROWSER_VARIABLE: str(folder / name)}


def test_otherwise_the_one_of_the_package_is(folder: Path) -> None:
    """On Linux with the C library and the processor that it is made for."""
    assert not list(folder.iterdir())
    assert find_browser() == Path("/packages/browser/chromium")


@pytest.mark.parametrize(
    ("system", "machine", "library"),
    [
        ("linux", "aarch64", ("glibc", "2.36")),
        ("linux", "x86_64", ("", "")),
        ("darwin", "arm64", ("", "")),
        ("darwin", "x86_64", ("", "")),
        ("win32", "AMD64", ("", "")),
    ],
    ids=["arm", "musl", "mac", "intel mac", "windows"],
)
@pytest.mark.usefixtures("folder")
def test_elsewhere_only_playwright_can_know(
    system: str, machine: str, library: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package is not installed where it cannot run."""
    put_on(monkeypatch, system, machine, library)
    assert find_browser() is None
    assert browser_environment() == {}


@pytest.mark.browser
@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="the package is for Linux x86-64")
def test_the_one_of_the_package_brings_its_libraries_and_its_font(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its libraries are not those of the system, which may have none; it starts with nothing in the environment."""
    monkeypatch.delenv(BROWSER_VARIABLE, raising=False)
    monkeypatch.setattr(browser, "_NAMES", ())
    found = find_browser()
    assert found is not None
    shown = subprocess.run(
        [found, "--version"], env={"LD_DEBUG": "libs"}, capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout.startswith("Chromium ")
    ours = {line.rpartition("/")[2] for line in shown.stderr.splitlines() if f"calling init: {found.parent}" in line}
    assert {"libnss3.so", "libnssutil3.so", "libnspr4.so", "libexpat.so.1"} <= ours
    assert list((found.parent / "fonts").rglob("*.ttf"))
