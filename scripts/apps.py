"""Every application of examples/apps in the nine basic cases: writes conformance/apps.json and docs/APPS.md.

python scripts/apps.py               # play all that are installed, then write both
python scripts/apps.py NAME …        # play these, keep the others
python scripts/apps.py --render      # write the page again from what was played
"""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from tpharness.apps.config import load_config
from tpharness.apps.engine import AppOptions, run_app
from tpharness.errors import TpharnessError
from tpharness.findings import load_kinds
from tpharness.report import Report, as_json

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "apps"
DATA = ROOT / "conformance" / "apps.json"
PAGE = ROOT / "docs" / "APPS.md"
TEMPLATE = ROOT / "scripts" / "apps.md"
REPRODUCTIONS = ROOT / "docs" / "reproductions"
BASIC = (
    ("uncut/tool-call", "uncut"),
    ("model-fails/error-status", "error status"),
    ("user-leaves/in-text", "user: text"),
    ("user-leaves/in-arguments", "user: arguments"),
    ("user-leaves/while-tool-runs", "user: tool"),
    ("user-leaves/in-answer", "user: answer"),
    ("model-drops/in-text", "model: text"),
    ("model-drops/in-arguments", "model: arguments"),
    ("model-drops/in-answer", "model: answer"),
)
PACKAGES = {  # the packages whose versions matter, by folder
    "ai-sdk": ("ai", "@ai-sdk/openai", "@ai-sdk/anthropic", "@ai-sdk/google"),
    "langgraph": ("@langchain/langgraph", "@ai-sdk/langchain"),
    "mastra": ("@mastra/core", "@mastra/memory", "@mastra/ai-sdk"),
    "copilotkit": ("@copilotkit/runtime",),
    "pydantic-ai": ("pydantic-ai-slim",),
}


def names() -> list[str]:
    """Return the applications in the order of their file."""
    return list(tomllib.loads((EXAMPLES / "tpharness.toml").read_text("utf-8"))["apps"])


def play(name: str) -> dict[str, Any]:
    """Play the basic cases on one application, and return what is kept of the report."""
    report = Report()
    config = load_config(name, EXAMPLES / "tpharness.toml")
    for event in run_app(AppOptions(config=config, ids=("basic",))):
        report.feed(event)
    return reduced(name, as_json(report))


def reduced(name: str, report: dict[str, Any]) -> dict[str, Any]:
    """Return what the page needs of a report: the model API, and for each case its outcome and codes by level."""
    api = re.search(r"\((.+)\)$", report["server"])
    cases = {
        result["id"]: {
            "outcome": result["outcome"],
            "codes": {finding["code"]: finding["level"] for finding in result["findings"]},
        }
        for result in report["results"]
    }
    return {"name": name, "api": api[1] if api else "", "cases": cases}


def render(data: list[dict[str, Any]]) -> str:
    """Return the page."""
    page = TEMPLATE.read_text("utf-8")
    places = {
        "table": _table(data),
        "versions": _versions(),
        "findings": _findings(data),
        "reproductions": ", ".join(f"`{one['file']}`" for one in _reproductions()),
    }
    for name, text in places.items():
        page = page.replace(f"{{{name}}}", text)
    return page


def _table(data: list[dict[str, Any]]) -> str:
    head = ["application", "model API", *(title for _, title in BASIC)]
    rows = [[f"`{one['name']}`", one["api"], *(_cell(one["cases"].get(case)) for case, _ in BASIC)] for one in data]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def _cell(case: dict[str, Any] | None) -> str:
    """Return what a case came to: codes at MUST in bold, at SHOULD plain, a word where there is neither."""
    if case is None:
        return "not played"
    if case["outcome"] == "not-applicable":
        return "n/a"
    shown = [f"**{code}**" if level == "must" else code for code, level in case["codes"].items() if level != "may"]
    return ", ".join(shown) or ("policy" if case["codes"] else "ok")


def _versions() -> str:
    found = []
    for folder, packages in PACKAGES.items():
        lock = EXAMPLES / folder / "package-lock.json"
        if lock.is_file():
            known = json.loads(lock.read_text("utf-8"))["packages"]
            found += [f"{package} {known[f'node_modules/{package}']['version']}" for package in packages]
        else:
            text = (EXAMPLES / folder / "requirements.txt").read_text("utf-8")
            pins = dict(re.findall(r"^([\w.-]+)(?:\[.*?\])?==(\S+)", text, re.MULTILINE))
            found += [f"{package} {pins[package]}" for package in packages]
    return ", ".join(found)


def _findings(data: list[dict[str, Any]]) -> str:
    """Return a line for each code at MUST or SHOULD: what it is, and in how many applications."""
    where: dict[str, set[str]] = {}
    for one in data:
        for case in one["cases"].values():
            for code, level in case["codes"].items():
                if level != "may":
                    where.setdefault(code, set()).add(one["name"])
    kinds = load_kinds()
    ranked = sorted(where, key=lambda code: (kinds[code].level.rank, -len(where[code]), code))
    lines = []
    for code in ranked:
        share = f"{len(where[code])} of {len(data)}"
        lines.append(f"- `{code}` ({kinds[code].level.name}, {share}): {kinds[code].title}.")
    return "\n".join(lines)


def _reproductions() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((REPRODUCTIONS / "applications.yaml").read_text("utf-8"))
    return found


def main() -> None:
    """Play what is named, unless told to write only, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--render", action="store_true")
    given = parser.parse_args()
    known = {one["name"]: one for one in json.loads(DATA.read_text("utf-8"))} if DATA.is_file() else {}
    for name in () if given.render else given.names or names():
        try:
            known[name] = play(name)
        except TpharnessError as error:
            print(f"{name} was not played: {error}")
    data = [known[name] for name in names() if name in known]
    DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(render(data), encoding="utf-8")


if __name__ == "__main__":
    main()
