"""What is installed beside tpharness: its versions, hashes and licences, in step with each other.

`constraints.txt` has the versions, by hand. `requirements.lock` has the same with the hashes of every file of theirs,
`tpharness.cdx.json` is the bill of materials that the wheel carries. Without an option this compares the three with
each other; on Python 3.11 also the licences, and the bill with what is installed if that is what is tested. No network
is asked. `--update` writes the other two; for that `uv` has to be installed, which asks the package index for hashes.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOP = Path(__file__).resolve().parent.parent
PYPROJECT: dict[str, Any] = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
PROJECT: dict[str, Any] = PYPROJECT["project"]
LICENCES: dict[str, Any] = PYPROJECT["tool"]["tpharness"]["licences"]
OURS = ("test", "bench")
"""Extras for working on tpharness itself, which are not in the bill of materials."""

_PIN = re.compile(r"^([\w.-]+)==(\S+?)(?: \\)?$", re.MULTILINE)
_HASHES = re.compile(r"^([\w.-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)
_NOT_AN_ID = {"AND", "OR", "WITH"}
# Markers are read for one machine, so that the bill is the same wherever it is made.
_MACHINE = {"python_version": "3.11", "python_full_version": "3.11.9", "sys_platform": "linux", "os_name": "posix"}
_MACHINE |= {"platform_system": "Linux", "platform_machine": "x86_64", "platform_python_implementation": "CPython"}
_MACHINE |= {"implementation_name": "cpython", "implementation_version": "3.11.9"}


def read_pins(text: str) -> dict[str, str]:
    """Return the version of each package, by its normalized name."""
    return {str(canonicalize_name(name)): version for name, version in _PIN.findall(text)}


def find_lock_problems(constraints: str, lock: str) -> Iterator[str]:
    """Find where the lock does not say what the constraints say, lacks a hash, or names an index."""
    wanted, locked = read_pins(constraints), read_pins(lock)
    for name in sorted(wanted.keys() | locked.keys()):
        if wanted.get(name) != locked.get(name):
            is_, other = locked.get(name, "not there"), wanted.get(name, "not there")
            yield f"{name} is {is_} in requirements.lock and {other} in constraints.txt"
    hashed = {str(canonicalize_name(name)) for name, _, _ in _HASHES.findall(lock)}
    for name in sorted(locked.keys() - hashed):
        yield f"{name} has no hash in requirements.lock"
    if "://" in constraints or "://" in lock or "index-url" in lock:
        yield "an address stands in constraints.txt or requirements.lock: who installs chooses the index"


def licence_of(name: str) -> str:
    """Return the licence of a package as an SPDX expression; "" where neither it nor pyproject.toml says it."""
    by_hand = LICENCES["by-hand"].get(name)
    if by_hand is not None:
        return str(by_hand)
    try:
        stated = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    expression, licence = ((*(stated.get_all(field) or ()), "")[0] for field in ("License-Expression", "License"))
    if expression:
        return str(expression)
    classifiers = [c.rpartition(" :: ")[2] for c in stated.get_all("Classifier") or () if c.startswith("License :: ")]
    for words in (licence, " OR ".join(sorted(classifiers))):
        found = str(LICENCES["spellings"].get(words, words))
        if found in LICENCES["allowed"] or found in LICENCES["spellings"].values():
            return found
    return ""


def licence_ids(expression: str) -> list[str]:
    """Return the names in an SPDX expression."""
    return [word for word in re.findall(r"[\w.+-]+", expression) if word not in _NOT_AN_ID]


def find_licence_problems(names: list[str]) -> Iterator[str]:
    """Find packages whose licence is unknown or is not on the list of pyproject.toml."""
    for name in names:
        expression = licence_of(name)
        if not expression:
            yield f"{name} does not state its licence in SPDX: look, and add it to [tool.tpharness.licences.by-hand]"
        elif others := sorted(set(licence_ids(expression)) - set(LICENCES["allowed"])):
            yield f"{name} has the licence {', '.join(others)}, which is not allowed by [tool.tpharness.licences]"


def find_other_versions(pins: Mapping[str, str]) -> Iterator[str]:
    """Find packages that are installed in another version than the one that is tested, as without constraints."""
    for name, version in pins.items():
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # what builds the wheel is not installed beside the tests
        if installed != version:
            yield f"{name} {installed} is installed, constraints.txt has {version}"


def requirements_of(name: str, extras: frozenset[str]) -> list[Requirement]:
    """Return what an installed package needs on the machine of the bill, with these extras of it."""
    needed = [Requirement(line) for line in metadata.requires(name) or ()]
    return [need for need in needed if any(_holds(need, extra) for extra in ("", *extras))]


def _holds(need: Requirement, extra: str) -> bool:
    return need.marker is None or need.marker.evaluate({**_MACHINE, "extra": extra})


def closure(needs: list[Requirement]) -> dict[str, set[str]]:
    """Return all packages that come with these requirements, each with the packages that it needs itself."""
    found: dict[str, set[str]] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [need for need in needs if _holds(need, "")]
    while waiting:
        need = waiting.pop()
        name, extras = str(canonicalize_name(need.name)), frozenset(need.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        own = requirements_of(name, extras)
        found.setdefault(name, set()).update(str(canonicalize_name(other.name)) for other in own)
        waiting += own
    return found


def bill(pins: Mapping[str, str]) -> dict[str, Any]:
    """Return the bill of materials (CycloneDX 1.6): what the package needs, and what its extras bring (`optional`)."""
    core = [Requirement(line) for line in PROJECT["dependencies"]]
    lines = [line for name, lines in PROJECT["optional-dependencies"].items() if name not in OURS for line in lines]
    extras = [Requirement(line) for line in lines if not line.startswith("tpharness[")]
    required, everything = closure(core), closure([*core, *extras])
    own = f"pkg:pypi/{PROJECT['name']}@{PROJECT['version']}"
    refs = {name: f"pkg:pypi/{name}@{pins[name]}" for name in sorted(everything)}
    direct = {str(canonicalize_name(need.name)) for need in (*core, *extras)}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": PROJECT["name"],
                "version": PROJECT["version"],
                "licenses": [{"license": {"id": PROJECT["license"]}}],
                "purl": own,
            }
        },
        "components": [
            {
                "type": "library",
                "bom-ref": ref,
                "name": name,
                "version": pins[name],
                "scope": "required" if name in required else "optional",
                "licenses": [_licence(licence_of(name))],
                "purl": ref,
            }
            for name, ref in refs.items()
        ],
        "dependencies": [
            {"ref": own, "dependsOn": [refs[name] for name in sorted(direct)]},
            *({"ref": ref, "dependsOn": [refs[o] for o in sorted(everything[name])]} for name, ref in refs.items()),
        ],
    }


def _licence(expression: str) -> dict[str, Any]:
    return {"expression": expression} if " " in expression else {"license": {"id": expression}}


def bill_text(pins: Mapping[str, str]) -> str:
    """Return the bill of materials as it is written."""
    return json.dumps(bill(pins), indent=1) + "\n"


def find_problems() -> Iterator[str]:
    """Find everything that is not in step."""
    constraints = (TOP / "constraints.txt").read_text("utf-8")
    pins = read_pins(constraints)
    yield from find_lock_problems(constraints, (TOP / "requirements.lock").read_text("utf-8"))
    if not platform.python_version().startswith(f"{_MACHINE['python_version']}."):
        return  # another Python lacks what only that of the bill needs
    yield from find_licence_problems(list(pins))
    if not list(find_other_versions(pins)) and (TOP / "tpharness.cdx.json").read_text("utf-8") != bill_text(pins):
        yield "tpharness.cdx.json is not what is pinned and installed"


def update() -> None:
    """Write the lock and the bill from the constraints and what is installed."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-deps", "--generate-hashes", "--no-config"]
    command += ["--no-header", "--no-annotate", "--no-emit-index-url", str(TOP / "constraints.txt")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  # a fixed command
    head = "# The files of what constraints.txt names. Use: pip install --require-hashes -r requirements.lock\n"
    (TOP / "requirements.lock").write_text(head + done.stdout, "utf-8")
    pins = read_pins((TOP / "constraints.txt").read_text("utf-8"))
    (TOP / "tpharness.cdx.json").write_text(bill_text(pins), "utf-8")


def main() -> int:
    """Print what is not in step; return the exit code."""
    if "--update" in sys.argv[1:]:
        update()
    problems = list(find_problems())
    for other in find_other_versions(read_pins((TOP / "constraints.txt").read_text("utf-8"))):
        print(f"{other}: the bill of materials is not compared", file=sys.stderr)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print("pip install uv && python scripts/dependencies.py --update   writes lock and bill", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
