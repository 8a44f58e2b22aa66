"""What is installed beside tpharness is known: versions, hashes, licences, and the bill of materials in the wheel."""

from __future__ import annotations

import json
import tomllib
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from scripts import dependencies

from tpharness.extras import EXTRAS

TOP = Path(__file__).parent.parent
BILL: dict[str, Any] = json.loads((TOP / "tpharness.cdx.json").read_text("utf-8"))
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
CONSTRAINTS = "aiohttp==3.14.5\nPyYAML==6.0.3\n"
HASH = "--hash=sha256:" + 64 * "0"
LOCK = f"aiohttp==3.14.5 \\\n    {HASH} \\\n    {HASH}\npyyaml==6.0.3 \\\n    {HASH}\n"


def bill_errors(bill: Any) -> list[str]:
    """Return what the published schema of CycloneDX says of a bill of materials."""
    folder = Path(__file__).parent / "cyclonedx"
    schemas = {file.name: json.loads(file.read_text("utf-8")) for file in folder.glob("*.json")}
    base = "http://cyclonedx.org/schema/"
    registry = jsonschema_rs.Registry([(base + name, schema) for name, schema in schemas.items()])
    validator = jsonschema_rs.Draft7Validator(schemas["bom-1.6.SNAPSHOT.schema.json"], registry=registry)
    return [error.message for error in validator.iter_errors(bill)]


def test_the_bill_of_materials_is_cyclonedx() -> None:
    """By the schema of CycloneDX; it refuses another format, a licence that SPDX does not have, and twins."""
    assert bill_errors(BILL) == []
    assert bill_errors({**BILL, "bomFormat": "SPDX"})
    first, *others = BILL["components"]
    assert bill_errors({**BILL, "components": [{**first, "licenses": [{"license": {"id": "Free"}}]}, *others]})
    assert bill_errors({**BILL, "components": [first, first]})


def test_the_bill_names_what_pip_brings() -> None:
    """The core's dependencies are required, those of the extras optional; each ref is there, each version is pinned."""
    scopes = {component["name"]: component["scope"] for component in BILL["components"]}
    assert {scopes[name] for name in ("aiohttp", "click", "mdurl", "orjson", "pyyaml", "yarl")} == {"required"}
    for extra in EXTRAS.values():
        assert {name.lower() for name in extra.distributions} <= scopes.keys()
    assert {scopes[name] for name in ("starlette", "hypothesis", "pytest", "pydantic-ai-slim")} == {"optional"}
    assert not {"mypy", "ruff", "apsw"} & scopes.keys(), "these are for working on tpharness"
    refs = {component["bom-ref"] for component in BILL["components"]}
    pins = dependencies.read_pins((TOP / "constraints.txt").read_text("utf-8"))
    assert all(component["version"] == pins[component["name"]] for component in BILL["components"])
    for node in BILL["dependencies"]:
        assert set(node["dependsOn"]) <= refs
    assert {node["ref"] for node in BILL["dependencies"]} == refs | {BILL["metadata"]["component"]["bom-ref"]}


def test_the_wheel_carries_it() -> None:
    """PEP 770: the backend puts it into `.dist-info/sboms`, from the first version that can."""
    assert PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["sbom-files"] == ["tpharness.cdx.json"]
    assert PROJECT["build-system"]["requires"] == ["hatchling>=1.28"]


def test_everything_is_in_step() -> None:
    """As `scripts/check` says it, for what is installed here."""
    assert list(dependencies.find_problems()) == []


@pytest.mark.parametrize(
    ("constraints", "lock", "problem"),
    [
        (CONSTRAINTS, LOCK, None),
        (CONSTRAINTS.replace("3.14.5", "3.14.6"), LOCK, "aiohttp is 3.14.5 in requirements.lock and 3.14.6"),
        (CONSTRAINTS + "rich==15.0.0\n", LOCK, "rich is not there in requirements.lock and 15.0.0"),
        (CONSTRAINTS.replace("PyYAML==6.0.3\n", ""), LOCK, "pyyaml is 6.0.3 in requirements.lock and not there"),
        (CONSTRAINTS, LOCK.replace(f"pyyaml==6.0.3 \\\n    {HASH}\n", "pyyaml==6.0.3\n"), "pyyaml has no hash"),
        (CONSTRAINTS, LOCK.replace("sha256:0", "md5:0"), "aiohttp has no hash"),
        (CONSTRAINTS, "--index-url=https://packages.example/simple\n" + LOCK, "an address stands in"),
    ],
)
def test_what_is_not_in_step_is_named(constraints: str, lock: str, problem: str | None) -> None:
    """A version that was raised in one file only, a hash that is missing, an index that somebody's machine wrote."""
    found = list(dependencies.find_lock_problems(constraints, lock))
    if problem is None:
        assert found == []
    else:
        assert found
        assert found[0].startswith(problem)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"License-Expression": "MIT"}, None),
        ({"License-Expression": "MPL-2.0 AND (Apache-2.0 OR MIT)"}, None),
        ({"License": "Apache 2.0"}, None),
        ({"Classifier": "License :: OSI Approved :: MIT License"}, None),
        ({"License-Expression": "AGPL-3.0-only", "License": "MIT"}, "odd has the licence AGPL-3.0-only"),
        ({"License-Expression": "MIT AND GPL-3.0-or-later"}, "odd has the licence GPL-3.0-or-later"),
        ({"License": "Use it for good, not evil"}, "odd does not state its licence"),
        ({"Classifier": "License :: OSI Approved :: GNU Affero General Public License v3"}, "odd does not state its"),
        ({}, "odd does not state its licence"),
    ],
)
def test_a_licence_is_on_the_list_or_named(
    fields: dict[str, str], problem: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a package states in SPDX decides; other words are read only if pyproject.toml says what they mean."""
    stated = Message()
    for name, value in fields.items():
        stated[name] = value
    monkeypatch.setattr(metadata, "metadata", lambda _: stated)
    found = list(dependencies.find_licence_problems(["odd"]))
    assert (found == []) if problem is None else found[0].startswith(problem)


def test_another_version_than_the_tested_one_is_named() -> None:
    """It is no mistake, since constraints are a choice; but what it needs is not what the bill says."""
    installed = metadata.version("pytest")
    assert list(dependencies.find_other_versions({"pytest": installed, "no-such-package": "1"})) == []
    assert list(dependencies.find_other_versions({"pytest": "0"})) == [
        f"pytest {installed} is installed, constraints.txt has 0"
    ]
