"""Check the data of the suite against its schemas: clauses, findings, bad documents, scenarios, recordings."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml

TOP = Path(__file__).resolve().parent.parent
SCHEMAS = TOP / "conformance" / "schemas"


class StringsStay(yaml.SafeLoader):
    """YAML 1.2 scalars, as the scenario language has them: dates, `yes` and `0.0.4` stay text."""


StringsStay.yaml_implicit_resolvers = {
    first: [
        (tag, rule)
        for tag, rule in rules
        if not tag.endswith(":timestamp") and not (tag.endswith(":bool") and first not in "tf")
    ]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    """Return the validator of a published schema; schemas refer to each other by their `$id`."""
    schemas = {file.name: json.loads(file.read_text("utf-8")) for file in sorted(SCHEMAS.glob("*.schema.json"))}
    registry = jsonschema_rs.Registry([(s["$id"], s) for s in schemas.values() if "$id" in s])
    return jsonschema_rs.Draft202012Validator(schemas[f"{name}.schema.json"], registry=registry)


def main() -> int:
    """Print each file that does not fit its schema; return the exit code."""
    problems: list[str] = []

    def check(name: str, value: Any, where: Path) -> None:
        found = validator(name).iter_errors(value)
        problems.extend(f"{where.relative_to(TOP)}: {e.message} at {list(e.instance_path)}" for e in found)

    for name in ("clauses", "findings", "app-clauses", "profiles", "schema-places"):
        file = TOP / "conformance" / f"{name}.yaml"
        check(name, yaml.safe_load(file.read_text("utf-8")), file)
    for name, stem in (
        *(("thread-protocol-statements", "thread-protocol"), ("ag-ui-statements", "ag-ui-1.0")),
        *(("ag-ui-streams",) * 2, ("ag-ui-folds",) * 2, ("thread-log-statements", "thread-log-0.0.7")),
    ):
        file = TOP / "conformance" / "statements" / f"{stem}.yaml"
        check(name, yaml.safe_load(file.read_text("utf-8")), file)
    suites = TOP / "conformance" / "suites.yaml"
    check("suites", yaml.safe_load(suites.read_text("utf-8")), suites)
    for file in sorted((TOP / "conformance" / "requirements").glob("*.yaml")):
        check("requirements", yaml.safe_load(file.read_text("utf-8")), file)
    file = TOP / "conformance" / "violations.json"
    check("violations", json.loads(file.read_text("utf-8")), file)
    for file in sorted((TOP / "conformance" / "documents" / "bad").glob("*.yaml")):
        check("bad-documents", yaml.safe_load(file.read_text("utf-8")), file)
    for file in sorted((TOP / "conformance" / "documents").glob("*.yaml")):
        kind = file.stem
        if kind == "good":
            continue
        check("vectors", {kind: yaml.safe_load(file.read_text("utf-8"))}, file)
    scenarios = sorted((TOP / "scenarios").rglob("*.yaml"))
    for file in scenarios:
        check("scenario", yaml.load(file.read_text("utf-8"), Loader=StringsStay), file)  # noqa: S506  # a safe loader
    streams = sorted((TOP / "scenarios").rglob("*.sse"))
    chunks = 0
    for file in streams:
        for line in file.read_bytes().split(b"\n"):
            if line.startswith(b"data: {"):
                chunks += 1
                check("vsp-chunk", json.loads(line[6:]), file)
    events = 0
    for file in sorted((TOP / "scenarios").rglob("*.events.jsonl")):
        for line in file.read_bytes().splitlines():
            events += 1
            check("server-event", json.loads(line), file)
    for problem in problems:
        print(problem)
    data = f"{len(scenarios)} scenarios, {chunks} recorded chunks and {events} recorded server events"
    print(f"{data} checked, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
