"""Small traces of the applications of examples/apps, which the site shows: plays the nine basic cases of some.

python scripts/app_traces.py NAME [NAME]...    # those that are installed; examples/apps/FOLDER/README.md says how
python scripts/app_traces.py --folder PATH NAME...    # installed in a copy of examples/apps

The folder that an application stands in is replaced by one of the same length: places in a trace are counted in bytes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from pathlib import Path

APPS = Path(__file__).parent.parent / "examples" / "apps"
_DAY = (2026, 1, 1, 0, 0, 0)


def other_folder(folder: Path) -> bytes:
    """Return the name of a folder that nobody has, as long as this one's."""
    wanted = len(str(folder).encode())
    start = "/app" if wanted % 2 == 0 else "/apps"
    return (start + "/." * ((wanted - len(start)) // 2)).encode()


def write_neutral(source: Path, target: Path, folder: Path) -> None:
    """Copy a trace without the name of the folder, and without the times of its files."""
    with zipfile.ZipFile(source) as packed, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name in packed.namelist():
            entry = zipfile.ZipInfo(name, _DAY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(entry, packed.read(name).replace(str(folder).encode(), other_folder(folder)))


def main() -> None:
    """Record what is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--folder", type=Path, default=APPS, help="where they are installed")
    options = parser.parse_args()
    folder = options.folder.absolute()
    for name in options.names:
        (folder / "runs" / name).mkdir(parents=True, exist_ok=True)
        made = folder / "tpharness-trace.zip"
        made.unlink(missing_ok=True)
        command = ["tpharness", "app", name, "basic", "--baseline", "/dev/null", "--trace", "all"]
        ended = subprocess.run(command, cwd=folder, check=False)  # noqa: S603  # our own command
        if ended.returncode > 1 or not made.is_file():
            sys.exit(f"{name} could not be recorded")
        write_neutral(made, APPS / "traces" / f"{name}.zip", folder)


if __name__ == "__main__":
    main()
