"""Types the two commands of the README as on a machine that has Python and coreutils, and nothing else.

    python scripts/fresh_machine.py                          both, to their end: a clone each, at the last commit
    python scripts/fresh_machine.py user                     the first: `pip install . && tpharness run`
    python scripts/fresh_machine.py install                  of the second what stands before its tests
    python scripts/fresh_machine.py --keep SSL_CERT_FILE     with a variable that this machine's network needs

Nothing of this machine is left but what `--keep` names: no variable (as with `env -i`), no home, no cache, no program
but those of coreutils, a shell, and Python in a new environment. `--keep NAME=VALUE` sets a variable. Settings of pip
or npm that are not in the home are still read. The exit code is that of the first command that fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterable
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
BEGINNINGS = {"user": "pip install . ", "tests": "pip install -c "}
COREUTILS = """
arch b2sum base32 base64 basename cat chgrp chmod chown cksum comm cp csplit cut date dd df dir dirname du echo env
expand expr factor false fmt fold groups head hostid id install join link ln logname ls md5sum mkdir mkfifo mknod mktemp
mv nice nl nohup nproc numfmt od paste pathchk pinky pr printenv printf ptx pwd readlink realpath rm rmdir seq sha1sum
sha224sum sha256sum sha384sum sha512sum shred shuf sleep sort split stat stdbuf stty sum sync tac tail tee test timeout
touch tr true truncate tsort tty uname unexpand uniq unlink uptime users vdir wc who whoami yes
"""


def command(name: str) -> str:
    """Return a command of the README, whose line begins as `BEGINNINGS` says."""
    (found,) = re.findall(
        rf"^    ({re.escape(BEGINNINGS[name])}.*)$", (TOP / "README.md").read_text("utf-8"), re.MULTILINE
    )
    return str(found)


def variables(kept: Iterable[str]) -> dict[str, str]:
    """Return the variables that are kept or set, each named by NAME or NAME=VALUE; one that is not set is not kept."""
    pairs = (one.partition("=") for one in kept)
    values = {name: value if sign else os.environ.get(name) for name, sign, value in pairs}
    return {name: value for name, value in values.items() if value is not None}


def programs(folder: Path) -> Path:
    """Fill a folder with the programs that such a machine has; return it."""
    folder.mkdir()
    for name in (*COREUTILS.split(), "sh", "bash"):
        found = shutil.which(name)
        if found is not None:
            (folder / name).symlink_to(found)
    return folder


def new_machine(folder: Path, *, with_pip: bool = True) -> None:
    """Make what the machine has: an environment of Python, programs, an empty home. A clone comes beside them."""
    folder.mkdir()
    venv.create(folder / "environment", with_pip=with_pip)
    programs(folder / "bin")
    (folder / "home").mkdir()


def type_in(line: str, folder: Path, kept: dict[str, str]) -> int:
    """Type a command in the clone on a machine; return its exit code."""
    environment = folder / "environment"
    path = f"{environment / 'bin'}{os.pathsep}{folder / 'bin'}"
    known = {**kept, "PATH": path, "VIRTUAL_ENV": str(environment), "HOME": str(folder / "home")}
    print(f"== {line}", flush=True)
    begun = time.monotonic()
    done = subprocess.run(  # noqa: S603
        ["bash", "-c", line],  # noqa: S607
        cwd=folder / "tpharness",
        env=known,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    print(f"== ended with {done.returncode} after {time.monotonic() - begun:.0f} s", flush=True)
    return done.returncode


def main() -> int:
    """Type what the options say; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=["both", "user", "tests", "install"], default="both")
    parser.add_argument("--keep", action="append", default=[], metavar="NAME[=VALUE]", help="a variable that is left")
    options = parser.parse_args()
    names = ["user", "tests"] if options.part == "both" else ["user" if options.part == "user" else "tests"]
    kept = variables(options.keep)
    print("variables beside PATH, VIRTUAL_ENV and HOME:", ", ".join(sorted(kept)) or "none", flush=True)
    with tempfile.TemporaryDirectory(prefix="tpharness-fresh-") as folder:
        for name in names:
            machine, line = Path(folder) / name, command(name)
            new_machine(machine)
            subprocess.run(["git", "clone", "-q", str(TOP), str(machine / "tpharness")], check=True)  # noqa: S603, S607
            code = type_in(line.partition(" && ")[0] if options.part == "install" else line, machine, kept)
            if code:
                return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
