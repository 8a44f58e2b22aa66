"""Every server against every client: plays all pairs, and writes conformance/interop.json and docs/INTEROP.md.

python scripts/interop.py            # play, then write both
python scripts/interop.py --client peer:ai-sdk-client   # only its pairs; others stay as they were played
python scripts/interop.py --wire ag-ui   # only the pairs over AG-UI
python scripts/interop.py --server peer:langgraph-ag-ui   # only those of this server
python scripts/interop.py --render   # write the page again from what was played
"""

from __future__ import annotations

import argparse
import collections
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tpharness.resources import conformance_dir, scenarios_dir
from tpharness.run import RunOptions, run_suite
from tpharness.run.baselines import load_baseline
from tpharness.scenario import load_scenario
from tpharness.targets.peers import wire_of_peer
from tpharness.targets.remote import Patience
from tpharness.verdict import Outcome, ResultReady, RunStarted

ROOT = Path(__file__).parent.parent
DATA = ROOT / "conformance" / "interop.json"
PAGE = ROOT / "docs" / "INTEROP.md"
SERVERS = ("reference", "peer:pydantic-ai", "peer:ai-sdk-server", "peer:langgraph")
CLIENTS = ("reference", "peer:ai-sdk-client", "peer:ai-sdk-browser")
PAIRS = [(server, client) for server in SERVERS for client in CLIENTS]
AG_UI_PAIRS = [
    ("reference", "peer:ag-ui-client"),
    ("reference", "peer:ag-ui-client-one-read"),
    ("reference", "peer:ag-ui-browser"),
    ("reference", "peer:ag-ui-browser-one-read"),
    ("peer:pydantic-ai-ag-ui", "reference"),
    ("peer:langgraph-ag-ui", "reference"),
    ("peer:strands-ag-ui", "reference"),
    ("peer:tanstack-ai-server", "reference"),
    ("reference", "peer:tanstack-ai-client"),
]
"""What is played over AG-UI: each peer with the reference."""
THEMES = {
    "peer:langgraph-ag-ui": ("basics", "cycles", "histories"),
    "peer:strands-ag-ui": ("basics", "cycles", "histories"),
    "peer:tanstack-ai-server": ("basics", "cycles", "documents", "histories", "interruptions"),
    "peer:tanstack-ai-client": ("basics", "documents", "histories"),
    "peer:ag-ui-browser": ("basics", "documents", "histories"),
    "peer:ag-ui-browser-one-read": ("basics", "documents", "histories"),
}
"""Of which themes a peer plays the scenarios, where it does not play all."""
PATIENCE = Patience(answer=30.0, silence=30.0, settle=10.0, limit=1.0)
"""A peer on a busy machine is slow, which says nothing of it."""
TEMPLATE = ROOT / "scripts" / "interop.md"
_LONG = 70
"""Lines of a script beyond which the page names it and shows what it prints alone."""
REPRODUCTIONS = ROOT / "docs" / "reproductions"


def play(chosen: Sequence[tuple[str, str]], before: dict[str, Any]) -> dict[str, Any]:
    """Play these pairs; return the results, those of the others as they were `before`."""
    names: dict[str, str] = dict(before["names"])
    kept = {(pair["server"], pair["client"]): pair for pair in before["pairs"]}
    pairs = []
    unplayable: dict[str, collections.Counter[str]] = {}
    for server, client in (*PAIRS, *AG_UI_PAIRS):
        if (server, client) not in chosen:
            pairs += [kept[server, client]] if (server, client) in kept else []
            continue
        wire = wire_of_peer(server) or wire_of_peer(client) or "vsp"
        scenarios = 0
        baseline = load_baseline(server=server, client=client)
        counts: collections.Counter[str] = collections.Counter()
        departures: collections.Counter[str] = collections.Counter()
        wrong = []
        ids = THEMES.get(server, THEMES.get(client, ()))
        for event in run_suite(RunOptions(server=server, client=client, wire=wire, ids=ids, patience=PATIENCE)):
            if isinstance(event, RunStarted):
                names[server], names[client] = event.server, event.client
                scenarios = event.scenarios
            if not isinstance(event, ResultReady):
                continue
            result = event.result
            counts[result.outcome.value] += result.cases
            if result.outcome is Outcome.EXPECTED:
                departures[baseline.entries[result.id].departure or "recorded"] += result.cases
            elif result.outcome in (Outcome.NOT_APPLICABLE, Outcome.NO_PART) and client == "reference":
                unplayable.setdefault(server, collections.Counter())[result.reason] += 1
            elif not result.outcome.green:
                wrong.append(result.id)
        print(server, client, dict(counts), wrong)
        pairs.append(
            {
                "server": server,
                "client": client,
                "scenarios": scenarios,
                "counts": dict(sorted(counts.items())),
                "departures": dict(sorted(departures.items())),
            }
        )
    reasons = {
        **before["not_applicable"],
        **{server: dict(found.most_common()) for server, found in unplayable.items()},
    }
    return {"names": names, "pairs": pairs, "not_applicable": reasons}


def departures() -> list[dict[str, Any]]:
    """Return the departures of all peers as the baselines have them, with the target that has each."""
    found = []
    for file in sorted((conformance_dir() / "baselines" / "peers").glob("*.yaml")):
        role, _, name = file.stem.partition("-")
        items = yaml.safe_load(file.read_text("utf-8"))
        found += [{**item, "role": role, "target": f"peer:{name}"} for item in items]
    return found


def smallest(departure: dict[str, Any]) -> str:
    """Return the case of a departure with the fewest events: the one to look at first."""
    ids: list[str] = [case for cases in departure["cases"].values() for case in cases]

    def size(case: str) -> tuple[int, int, str]:
        path = scenarios_dir() / f"{case.partition('@')[0]}.yaml"
        scenario = load_scenario(path, root=scenarios_dir())
        return ("@" in case, sum(len(run.events or ()) or 99 for _, run in scenario.runs), case)

    return min(ids, key=size)


def reports() -> list[dict[str, Any]]:
    """Return the reports: a file, what it shows by peer, its title, versions, what is expected, and what it prints."""
    found: list[dict[str, Any]] = yaml.safe_load((REPRODUCTIONS / "reports.yaml").read_text("utf-8"))
    return found


def render(data: dict[str, Any]) -> str:
    """Return the page."""
    page = TEMPLATE.read_text("utf-8")
    places = {
        **data["names"],
        "matrix": _matrix(data),
        "ag_ui": _over_ag_ui(data),
        "departures": _departures(),
        "reasons": "\n".join(f"- **{one['title']}** (`{one['target']}`): {one['reason']}." for one in departures()),
        "reports": "\n".join(map(_report, reports())),
        "not_applicable": "\n\n".join(
            _unplayable(server, reasons) for server, reasons in data["not_applicable"].items() if server != "reference"
        ),
    }
    for name, text in places.items():
        page = page.replace(f"{{{name}}}", text)
    return page


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _matrix(data: dict[str, Any]) -> str:
    rows = [[f"`{server}`", *(_sums(data, server, client) for client in CLIENTS)] for server in SERVERS]
    return _table(["server", *(f"`{client}`" for client in CLIENTS)], rows)


def _over_ag_ui(data: dict[str, Any]) -> str:
    rows = [[f"`{server}`", f"`{client}`", _sums(data, server, client)] for server, client in AG_UI_PAIRS]
    return _table(["server", "client", "passed / depart / do not apply"], rows)


def _sums(data: dict[str, Any], server: str, client: str) -> str:
    """Return the cases of a pair that passed, that depart as a baseline says, and that do not apply."""
    pair = next((one for one in data["pairs"] if (one["server"], one["client"]) == (server, client)), None)
    if pair is None:
        return "not played"
    shown = (("passed",), ("expected",), ("not-applicable", "no-part"))
    text = " / ".join(str(sum(pair["counts"].get(key, 0) for key in keys)) for keys in shown)
    few = pair["scenarios"] < 0.9 * max(one["scenarios"] for one in data["pairs"])  # over AG-UI there are some more
    return f"{text} (of {pair['scenarios']} scenarios)" if few else text


def files_without_us() -> dict[tuple[str, str], str]:
    """Return for the target and the name of a departure the file that shows it without tpharness."""
    shown = [(report["file"], *of_target) for report in reports() for of_target in report["shows"].items()]
    return {(target, name): file for file, target, names in shown for name in names}


def _departures() -> str:
    rows, alone = [], files_without_us()
    for one in departures():
        clauses = ", ".join(f"`{clause}`" for clause in one["clauses"])
        count = str(sum(map(len, one["cases"].values())))
        file = alone[one["target"], one["departure"]]
        seen = f"[{file}](reproductions/{file})"
        rulings = ", ".join(one["rulings"])
        rows.append([f"`{one['target']}`", one["title"], count, clauses, rulings, f"`{smallest(one)}`", seen])
    head = ["target", "departure", "cases", "clauses", "rulings", "the smallest scenario", "without tpharness"]
    return _table(head, rows)


def _report(report: dict[str, Any]) -> str:
    language = "python" if report["file"].endswith(".py") else "js"
    code = (REPRODUCTIONS / report["file"]).read_text("utf-8").rstrip()
    long = len(code.splitlines()) > _LONG
    shown = [f"It is [{report['file']}](reproductions/{report['file']})."] if long else [f"```{language}", code, "```"]
    lines = [
        "",
        f"### {report['title']}",
        "",
        f"Versions: {report['versions']}.",
        "",
        *shown,
        "",
    ]
    lines += [f"Expected: {report['expected']}", "", "Got:", "", "```", report["got"].rstrip(), "```"]
    return "\n".join(lines)


def _unplayable(server: str, reasons: dict[str, int]) -> str:
    rows = [[str(count), reason] for reason, count in sorted(reasons.items(), key=lambda x: (-x[1], x[0]))]
    return f"### `{server}`\n\n{_table(['cases', 'reason'], rows)}"


def main() -> None:
    """Play, unless told to write only, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--client", action="append", choices=sorted({client for _, client in (*PAIRS, *AG_UI_PAIRS)}))
    parser.add_argument("--server", action="append", choices=sorted({server for server, _ in (*PAIRS, *AG_UI_PAIRS)}))
    parser.add_argument("--wire", choices=("vsp", "ag-ui"))
    options = parser.parse_args()
    if not options.render:
        pairs = {"vsp": PAIRS, "ag-ui": AG_UI_PAIRS}.get(options.wire, PAIRS + AG_UI_PAIRS)
        chosen = [pair for pair in pairs if pair[1] in (options.client or pair) and pair[0] in (options.server or pair)]
        data = play(chosen, json.loads(DATA.read_text("utf-8")))
        DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(render(json.loads(DATA.read_text("utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
