"""`peer:NAME@RELEASE`: which release of a framework is meant, and where its packages are or come from.

In: the name of a peer and what stands behind its `@`. Out: the exact release, and then the program that runs it, its
packages installed into the cache folder if they are not there yet. `peers/releases.toml` has the frameworks, so that
the beginning of a number means the same release on every machine. UsageError for a release that cannot be meant,
TargetError for one that cannot be installed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tpharness.errors import TargetError, UsageError
from tpharness.findings import quote
from tpharness.targets.node_packages import cache_folder

__all__ = [
    "Release",
    "ReleasedFramework",
    "default_release",
    "framework_of",
    "is_tested_release",
    "npm_source",
    "resolve_release",
]

_FILE = Path(__file__).parent.parent / "peers" / "releases.toml"
_EXACT = re.compile(r"\d+\.\d+\.\d+(?:[-.]?[0-9A-Za-z][0-9A-Za-z.-]*)?")
_BEGINNING = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedFramework:
    """A package that peers play, as `releases.toml` has it.

    `registry` is `npm` or `pypi`; `peers` are their names with their roles; in `requirements` `{release}` stands for
    the release; `releases` are the known ones, the oldest first, each with the folder below `peers` that locks its
    packages, or "".
    """

    package: str
    registry: str
    peers: Mapping[str, str]
    requirements: tuple[str, ...]
    releases: Mapping[str, str]

    def role_of(self, peer: str) -> str:
        """Return what one of its peers plays: `server` or `client`."""
        return self.peers[peer]

    @property
    def newest(self) -> str:
        """The newest known release: the one that tpharness is tested with."""
        return list(self.releases)[-1]

    def resolve(self, text: str, where: str) -> Release:
        """Return the release that a text means: one written out, or the newest known one that begins so."""
        if _EXACT.fullmatch(text):
            return Release(framework=self, number=text)
        if _BEGINNING.fullmatch(text):
            found = [number for number in self.releases if number.startswith(f"{text}.")]
            if found:
                return Release(framework=self, number=found[-1])
        raise UsageError(
            f"{where}: {quote(text, 40)} is not a release of {self.package}",
            hint=f"write one out, such as {self.newest}, or the beginning of a known one: {', '.join(self.releases)}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release of a framework."""

    framework: ReleasedFramework
    number: str

    @property
    def is_tested(self) -> bool:
        """Whether it is the release that the peer is tested with, whose departures its baseline has."""
        return self.number == self.framework.newest

    @property
    def lock(self) -> str:
        """The folder below `peers` that locks its packages, "" if there is none."""
        return self.framework.releases.get(self.number, "")

    @property
    def requirements(self) -> tuple[str, ...]:
        """What has to be installed, as pip takes it."""
        return tuple(one.replace("{release}", self.number) for one in self.framework.requirements)

    def __str__(self) -> str:
        return f"{self.framework.package}@{self.number}"


@cache
def _frameworks() -> tuple[ReleasedFramework, ...]:
    table = tomllib.loads(_FILE.read_text("utf-8"))
    return tuple(
        ReleasedFramework(
            package=package,
            registry=one["registry"],
            peers=one["peers"],
            requirements=tuple(one["requirements"]),
            releases=one["releases"],
        )
        for package, one in table.items()
    )


def framework_of(peer: str) -> ReleasedFramework | None:
    """Return the framework that a peer of ours plays, None if it can be played in one release only."""
    return next((one for one in _frameworks() if peer in one.peers), None)


def resolve_release(peer: str, text: str) -> Release:
    """Return the release of a peer of ours that a text means. UsageError if the peer has one release only."""
    framework = framework_of(peer)
    if framework is None:
        names = ", ".join(name for one in _frameworks() for name in one.peers)
        raise UsageError(
            f"peer:{peer} cannot be played at another release",
            hint=f"{names} can; a peer of tpharness.toml can if its command has {{release}}",
        )
    return framework.resolve(text, f"peer:{peer}@{text}")


def default_release(peer: str) -> Release | None:
    """Return the release that a peer of ours is tested with, None if it can be played in one release only."""
    framework = framework_of(peer)
    return None if framework is None else Release(framework=framework, number=framework.newest)


def is_tested_release(peer: str, text: str) -> bool:
    """Return whether what stands behind the `@` of a peer means the release that the peer is tested with."""
    framework = framework_of(peer)
    return framework is not None and framework.resolve(text, f"peer:{peer}@{text}").is_tested


def npm_source(release: Release, peers: Path) -> Path:
    """Return the folder with the package.json of an npm release: one of `peers` with a lock, or one made for it.

    One without a lock gets the newest packages that the release itself allows.
    """
    if release.lock:
        return peers / release.lock
    folder = cache_folder() / "releases" / str(release)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in _package_files(release).items():
            if not (folder / name).is_file():
                (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise TargetError(
            f"cannot write to {folder}: {error.strerror}", hint="TPHARNESS_CACHE names a folder"
        ) from error
    return folder


def _package_files(release: Release) -> dict[str, str]:
    wanted = dict(one.split("==") for one in release.requirements)
    document = {"name": "tpharness-peer-release", "version": "0.0.0", "private": True, "dependencies": wanted}
    return {"package.json": json.dumps(document, indent=1) + "\n", ".npmrc": "fund=false\naudit=false\n"}
