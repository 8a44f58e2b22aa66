"""Freeze a requirement set: the clauses at MUST that a version of ThreadProtocol has now.

python scripts/requirements.py 2027-05            # of the newest version; a set that exists is never changed
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml

from tpharness.certificate.requirements import required_now
from tpharness.protocol.versions import Version, newest_version

FOLDER = Path(__file__).parent.parent / "conformance" / "requirements"
HEAD = """\
# Requirement sets of ThreadProtocol {version}: what "conforms to {version} (set {name})" means. Schema:
# schemas/requirements.schema.json. Written by `python scripts/requirements.py NAME`; a set never changes.
"""


def main(name: str) -> int:
    """Add the set `name` to the file of the newest version; return the exit code."""
    version = newest_version(tuple(Version)).value
    file = FOLDER / f"{version}.yaml"
    sets = yaml.safe_load(file.read_text("utf-8"))["sets"] if file.exists() else []
    if any(one["set"] == name for one in sets):
        sys.stderr.write(f"{file.name} has a set {name}, and a set is never changed\n")
        return 1
    sets.append({"set": name, "clauses": list(required_now(version))})
    body = yaml.safe_dump({"version": version, "sets": sets}, sort_keys=False)
    file.write_text(HEAD.format(version=version, name=sets[-1]["set"]) + body, "utf-8")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="the name of the new set, such as 2027-05")
    sys.exit(main(parser.parse_args().name))
