"""What the applications of examples/apps survive: plays them, and writes conformance/apps.json and docs/APPS.md.

python scripts/apps_page.py                        # play every application, then write both
python scripts/apps_page.py --app NAME --case ID   # play some, and keep what is known of the others
python scripts/apps_page.py --missing              # play the cases that are newer than a row
python scripts/apps_page.py --check --app NAME     # play, write nothing, and say where a row is not what came of it
python scripts/apps_page.py --render               # write the page again from what was played

An application that is not installed (examples/apps/FOLDER/README.md says how) keeps the results that it has.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from tpharness.apps.cases.basic import basic_cases
from tpharness.apps.cases.case import CaseTool
from tpharness.apps.cases.catalogue import all_cases
from tpharness.apps.config import LEDGER, AppConfig, load_config
from tpharness.apps.engine import AppOptions, run_app
from tpharness.errors import TpharnessError
from tpharness.findings import Kind, Level
from tpharness.verdict import Outcome, Result, ResultReady, RunStarted

ROOT = Path(__file__).parent.parent
APPS = ROOT / "examples" / "apps"
CONFIG = APPS / "tpharness.toml"
BASELINES = APPS / "baselines"
INSTALLED = ("node_modules", ".venv", ".mastra")
REPRODUCTIONS = ROOT / "docs" / "reproductions"
DATA = ROOT / "conformance" / "apps.json"
PAGE = ROOT / "docs" / "APPS.md"
TEMPLATE = ROOT / "scripts" / "apps_page.md"
_API_NAMES = {
    "openai-chat": "Chat Completions",
    "openai-responses": "Responses",
    "anthropic": "Anthropic Messages",
    "gemini": "Gemini",
    "bedrock": "Bedrock Converse",
}
_FINE = ("ok", "policy", "flaw", "flaw, policy")
_WORDS: dict[str, tuple[tuple[str, ...], str]] = {
    "ok": ((), "told its model just what had happened"),
    "policy": ((), "told its model more, or less, than the user had seen: shown, not judged"),
    "flaw": ((), "kept every MUST, and broke a SHOULD: see *What should be better*"),
    "bricked": (("chat-bricked",), "lets no later message reach the model: the chat is lost"),
    "turn failed": (("next-turn-failed",), "failed the next message, and lived on after it"),
    "unanswered": (
        ("answer-unseen", "run-broken-off"),
        "did not show its user the answer to the next message, or ended a run with its tool",
    ),
    "refused": ((), "sent a history that the real API of its model answers with an error status"),
    "invented": (
        ("text-invented", "arguments-invented", "call-invented"),
        "told the model that it said what it never said",
    ),
    "doubled": (("answer-doubled", "call-doubled"), "told the model twice what it had said once"),
    "seen twice": (("answer-shown-twice",), "showed its user twice what the model had said once"),
    "user's turn": (
        ("user-turn-lost", "user-turn-doubled", "user-turn-misplaced", "answer-misplaced"),
        "lost, doubled or moved a message of the user, or put an answer behind a later one",
    ),
    "old branch": (("replaced-told",), "told the model what its user had replaced by an edit, or by another answer"),
    "lost": (("cycle-lost", "answer-lost"), "lost a call with its result, or an answer, that was complete"),
    "swapped": (("result-misplaced",), "told the model the result of one call as that of another"),
    "effect": (
        ("effect-forgotten",),
        "ran a tool, and the next request to the model does not mention it: it will be called again",
    ),
    "denied": (("effect-denied",), "ran a tool, and told its model neither its result nor that nobody knows"),
    "ran half": (("half-call-ran",), "ran a tool for a call whose arguments were cut"),
    "ran twice": (("tool-ran-twice",), "ran a tool twice for one call"),
    "unapproved": (
        ("tool-ran-unapproved",),
        "ran a tool that its user had been asked to approve, and had not approved",
    ),
    "hidden": (("failure-as-finish",), "showed a failure of the model as an ordinary end"),
    "stream": (("stream-refused",), "sent a stream that its own kind of client refuses"),
    "other chat": (("other-chat-ended",), "ended the answer in one chat when its user stopped or left another"),
    "tool unused": (("tool-not-run",), "did not run a tool any more after an interruption"),
    "in vain": (("approved-not-run",), "did not run a tool that its user had approved"),
    "exited": (("app-exited",), "ended its process"),
    "not judged": ((), "could not be judged in this case"),
    "n/a": ((), "cannot be brought into this case"),
}
_LEVELS = {Level.MUST: "must", Level.SHOULD: "should", Level.MAY: "may"}
_PACKAGES = {
    "adk-server": ("google-adk", "google-genai"),
    "ag-ui-langgraph": ("ag-ui-langgraph", "langgraph"),
    "agent-framework": ("agent-framework-ag-ui", "agent-framework-core"),
    "agents-js": ("@openai/agents", "@openai/agents-extensions"),
    "ai-sdk": ("ai", "@ai-sdk/openai", "@ai-sdk/anthropic", "@ai-sdk/google"),
    "copilotkit": ("@copilotkit/runtime",),
    "langgraph": ("@langchain/langgraph", "@ai-sdk/langchain"),
    "langgraph-server": ("langgraph-api", "langgraph", "langchain"),
    "mastra": ("@mastra/core", "@mastra/memory", "@mastra/ai-sdk"),
    "mastra-server": ("@mastra/core", "@mastra/ai-sdk"),
    "pydantic-ai": ("pydantic-ai-slim",),
    "pydantic-ai-web": ("pydantic-ai-slim",),
    "strands": ("ag_ui_strands", "strands-agents"),
}


def basic_ids() -> list[str]:
    """Return the ids of the nine basic cases, in their order."""
    return [case.id for case in basic_cases(CaseTool(name="tool"), "call_0")]


def tables() -> dict[str, dict[str, Any]]:
    """Return the tables of the applications, in the order of the file."""
    found: dict[str, dict[str, Any]] = tomllib.loads(CONFIG.read_text("utf-8"))["apps"]
    return found


def folder_of(table: dict[str, Any]) -> str:
    """Return the folder of an application, such as `ai-sdk`: the first of its command that is one."""
    parts = [Path(word).parts for word in table["command"]]
    return next(name for words in parts for name in words if name in _PACKAGES)


def versions_of(folder: str) -> str:
    """Return the packages of a folder with the versions that its lock file has."""
    lock = APPS / folder / "package-lock.json"
    if lock.is_file():
        packages = json.loads(lock.read_text("utf-8"))["packages"]
        known = {name: packages[f"node_modules/{name}"]["version"] for name in _PACKAGES[folder]}
    else:
        pins = (APPS / folder / "requirements.txt").read_text("utf-8")
        known = {
            name: re.findall(rf"^{name}(?:\[[^]]*\])?==(\S+)", pins, re.MULTILINE)[0] for name in _PACKAGES[folder]
        }
    return ", ".join(f"{name} {version}" for name, version in known.items())


def copy_application(name: str, to: Path) -> Path:
    """Copy the folder of an application without its packages; return it."""
    copied = to / folder_of(tables()[name])
    shutil.copytree(APPS / copied.name, copied, ignore=shutil.ignore_patterns(*INSTALLED))
    return copied


def play(name: str, cases: tuple[str, ...], log: Path | None = None, config: AppConfig | None = None) -> dict[str, Any]:
    """Play an application without its baseline; return its model API, its packages and what came of each case.

    `config` is that of a copy of the application, its table for None.
    """
    config = config or load_config(name, CONFIG)
    config.run_folder.mkdir(parents=True, exist_ok=True)
    patient = replace(config, quiet=0.1, ready=300.0, baseline=None)  # a busy machine is late with both
    api, results = "", {}
    for event in run_app(AppOptions(config=patient, ids=cases)):
        if isinstance(event, RunStarted):
            api = event.server.removeprefix(f"{name} (").removesuffix(")")
        elif isinstance(event, ResultReady):
            results[event.result.id] = _summary(event.result)
            if log is not None:
                with log.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(_whole(name, event.result), ensure_ascii=False) + "\n")
    return {"api": api, "versions": versions_of(folder_of(tables()[name])), "cases": results}


def _summary(result: Result) -> dict[str, Any]:
    """Return what does not change from run to run: the outcome, the codes by level, why a case was not played."""
    found: dict[str, Any] = {"outcome": result.outcome.value}
    for level, word in _LEVELS.items():
        codes = sorted({finding.code for finding in result.findings if finding.level is level})
        if codes:
            found[word] = codes
    if result.outcome is Outcome.NOT_APPLICABLE:
        found["reason"] = result.reason
    return found


def _whole(name: str, result: Result) -> dict[str, Any]:
    findings = [
        {"code": f.code, "level": f.level.value, "at": f.place.side, "got": f.got, "expected": f.expected}
        for f in result.findings
    ]
    return {
        "app": name,
        "case": result.id,
        "outcome": result.outcome.value,
        "reason": result.reason,
        "seconds": round(result.seconds, 2),
        "findings": findings,
    }


def all_ids(name: str) -> set[str]:
    """Return the cases that an application has today, those for which it lacks something among them."""
    config = load_config(name, CONFIG)
    tool = CaseTool(name=config.allow[0], args={}, other_args={})
    ledger, other_user = config.effects == LEDGER, bool(config.other_headers)
    return {case.id for case in all_cases(tool, ledger=ledger, other_user=other_user, sweep=False)}


def differences(row: dict[str, Any], played: dict[str, Any]) -> list[str]:
    """Return where a row is not what came of the cases that were played, a line for each.

    Policies (MAY) are not compared: how much of an answer its user saw before a cut depends on how busy a machine is.
    """

    def judged(summary: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in summary.items() if key != _LEVELS[Level.MAY]}

    return [
        f"{case}: {json.dumps(row['cases'].get(case))} in conformance/apps.json, {json.dumps(summary)} now"
        for case, summary in played["cases"].items()
        if judged(summary) != judged(row["cases"].get(case, {}))
    ]


def departures() -> dict[str, dict[str, Any]]:
    """Return the departures of all baselines by name, each with the cases of every application that has it."""
    found: dict[str, dict[str, Any]] = {}
    for name in tables():
        file = BASELINES / f"{name}.yaml"
        for item in yaml.safe_load(file.read_text("utf-8")) or () if file.is_file() else ():
            one = found.setdefault(item["departure"], {**item, "cases": {}})
            if (one["title"], one["reason"]) != (item["title"], item["reason"]):
                raise SystemExit(f"{file}: {item['departure']} has another title or reason than elsewhere")
            one["cases"][name] = sorted(case for ids in item["cases"].values() for case in ids)
    return found


def reproductions() -> list[dict[str, Any]]:
    """Return the scripts that show a departure without tpharness."""
    found: list[dict[str, Any]] = yaml.safe_load((REPRODUCTIONS / "applications.yaml").read_text("utf-8"))
    return found


def verdict(summary: dict[str, Any]) -> str:
    """Return the words of a cell for what came of a case."""
    if summary["outcome"] == Outcome.NOT_APPLICABLE.value:
        return "n/a"
    if summary["outcome"] == Outcome.ERRORED.value:
        return "not judged"
    words = [_word(code) for code in summary.get("must", ())]
    if words:
        return ", ".join(sorted(set(words), key=list(_WORDS).index))
    words = [*(["flaw"] if summary.get("should") else ()), *(["policy"] if summary.get("may") else ())]
    return ", ".join(words) or "ok"


def _word(code: str) -> str:
    return next((word for word, (codes, _) in _WORDS.items() if code in codes), "refused")


def render(data: dict[str, Any]) -> str:
    """Return the page."""
    page = TEMPLATE.read_text("utf-8")
    places = {
        "words": "\n".join(
            f"| {word} | {meaning} | {', '.join(f'`{code}`' for code in codes)} |"
            for word, (codes, meaning) in _WORDS.items()
        ),
        "matrix": _matrix(data),
        "others": _others(data),
        "departures": "\n\n".join(_departure(name, one) for name, one in departures().items()),
        "should": _should(data),
        "played": _played(data),
    }
    for name, text in places.items():
        page = page.replace(f"{{{name}}}", text)
    return page


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _matrix(data: dict[str, Any]) -> str:
    basic = basic_ids()
    head = [case.replace("/", ": ").replace("-", " ") for case in basic]
    rows = [
        [f"`{name}`", *(verdict(one["cases"][case]) if case in one["cases"] else "not played" for case in basic)]
        for name, one in data.items()
    ]
    return _table(["application", *head], rows)


def _others(data: dict[str, Any]) -> str:
    rows = []
    for name, one in data.items():
        words: dict[str, list[str]] = {}
        for case, summary in one["cases"].items():
            if case not in basic_ids():
                words.setdefault(verdict(summary), []).append(case)
        fine = sum(len(cases) for word, cases in words.items() if word in _FINE)
        unplayed = len(words.get("n/a", ()))
        told = [
            f"**{word}**: {', '.join(f'`{case}`' for case in cases)}"
            for word, cases in sorted(words.items())
            if word not in (*_FINE, "n/a")
        ]
        rows.append([f"`{name}`", str(fine), str(unplayed), "; ".join(told) or "nothing"])
    return _table(["application", "fine", "n/a", "departs"], rows)


def _departure(name: str, one: dict[str, Any]) -> str:
    cases = [(app, case) for app, ids in one["cases"].items() for case in ids]
    first = min(cases, key=lambda pair: (pair[1] not in basic_ids(), list(one["cases"]).index(pair[0])))
    where = "\n".join(f"- `{app}`: {', '.join(f'`{case}`' for case in ids)}" for app, ids in one["cases"].items())
    lines = [f"### {one['title']}", "", f"{one['reason'][0].upper()}{one['reason'][1:]}.", "", where, ""]
    lines.append(f"See it: `tpharness app {first[0]} {first[1]} --baseline /dev/null`")
    scripts = [report for report in reproductions() if report["departure"] == name]
    lines += [f"or, without tpharness: [{r['file']}](reproductions/{r['file']}) ({r['versions']})" for r in scripts]
    return "\n".join(lines)


def _should(data: dict[str, Any]) -> str:
    places: dict[str, dict[str, list[str]]] = {}
    for name, one in data.items():
        for case, summary in one["cases"].items():
            for code in (*summary.get("should", ()), *summary.get("may", ())):
                places.setdefault(code, {}).setdefault(name, []).append(case)
    rows = []
    for code, apps in sorted(places.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        told = ", ".join(f"`{app}` {len(cases)}" for app, cases in apps.items())
        rows.append([f"`{code}`", Kind(code).title, told])
    return _table(["finding", "what it says", "applications, with the number of cases"], rows)


def _played(data: dict[str, Any]) -> str:
    rows = []
    for name, one in data.items():
        folder = folder_of(tables()[name])
        readme = f"[{folder}](../examples/apps/{folder}/README.md)"
        played = sum(summary["outcome"] != Outcome.NOT_APPLICABLE.value for summary in one["cases"].values())
        count = f"{played} of {len(one['cases'])}"
        history = tables()[name]["history"]
        rows.append([f"`{name}`", readme, one["versions"], _API_NAMES[one["api"]], history, count])
    return _table(["application", "folder", "packages", "model API", "request profile", "cases played"], rows)


def main() -> None:
    """Play, unless there is only something to write; write, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--app", action="append", choices=tuple(tables()), metavar="NAME")
    parser.add_argument("--folder", choices=tuple(_PACKAGES), help="the applications of a folder of examples/apps")
    parser.add_argument("--case", action="append", metavar="ID")
    parser.add_argument("--log", type=Path, help="append each result with all its findings, a line of JSON each")
    options = parser.parse_args()
    data = json.loads(DATA.read_text("utf-8")) if DATA.is_file() else {}
    names = options.app or [n for n, one in tables().items() if options.folder in (None, folder_of(one))]
    wrong = 0
    for name in () if options.render else names:
        before = data.get(name, {}).get("cases", {})
        cases = tuple(sorted(all_ids(name) - set(before)) if options.missing else options.case or ())
        if options.missing and not cases:
            continue
        try:
            played = play(name, cases, options.log)
        except TpharnessError as error:
            print(f"{name}: {error}", file=sys.stderr)
            wrong += 1
            continue
        if options.check:
            found = differences(data.get(name, {"cases": {}}), played)
            wrong += len(found)
            print(*found or [f"{name}: {len(played['cases'])} cases as in conformance/apps.json"], sep="\n", flush=True)
            continue
        played["cases"] = {**before, **played["cases"]} if cases else played["cases"]
        data[name] = played
        data = {known: data[known] for known in tables() if known in data}
        DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(name, played["api"], len(played["cases"]), flush=True)
    if options.check:
        sys.exit(1 if wrong else 0)
    PAGE.write_text(render(data), encoding="utf-8")


if __name__ == "__main__":
    main()
