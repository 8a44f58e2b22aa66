"""A browser for what is played on a page: one that is installed, or one that comes as an npm package.

Out: the program to start. The order is: `$TPHARNESS_CHROMIUM`; Chromium or Chrome on the PATH; on Linux x86-64 the
npm package `@sparticuz/chromium`, which has the browser, its libraries and a font inside and needs no rights, installed
on first use (`peers/chromium`). On other systems only Playwright's own is left, which the peer looks for.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

from tpharness.errors import TargetError
from tpharness.findings import shorten
from tpharness.targets.node_packages import installed_packages
from tpharness.targets.nodejs import find_node

__all__ = ["BROWSER_VARIABLE", "browser_environment", "find_browser", "installed_browser"]

BROWSER_VARIABLE = "TPHARNESS_CHROMIUM"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PACKAGE = Path(__file__).parent.parent / "peers" / "chromium"


def find_browser() -> Path | None:
    """Return the browser to start, None where only Playwright can know of one.

    TargetError when the variable names something that cannot be started, and when the package cannot be installed.
    """
    found, packaged = installed_browser()
    return installed_packages(_PACKAGE, find_node()) / "browser" / "chromium" if packaged else found


def installed_browser() -> tuple[Path | None, bool]:
    """Return the browser that is installed, and whether there is none but a package with one for this system.

    TargetError when the variable names something that cannot be started.
    """
    configured = os.environ.get(BROWSER_VARIABLE)
    if configured:
        found = shutil.which(configured)
        if found is None:
            raise TargetError(
                f"{BROWSER_VARIABLE}: {shorten(configured, 200)} is not a program",
                hint="name the file of Chromium or Chrome, or unset it",
            )
        return Path(found), False
    for name in _NAMES:
        found = shutil.which(name)
        if found is not None:
            return Path(found), False
    has_package = sys.platform == "linux" and platform.machine() in {"x86_64", "AMD64"}
    return None, has_package and platform.libc_ver()[0] == "glibc"


def browser_environment() -> dict[str, str]:
    """Return what the environment of a peer needs, so that it starts the browser that was found."""
    found = find_browser()
    return {} if found is None else {BROWSER_VARIABLE: str(found)}
