"""The pages of the site in Markdown: start, matrix, applications, clauses, rulings, certificates, trends.

In: documents, scenarios, what the interop matrix has. Out: texts by path, and the navigation. What others wrote is
escaped text in tables of HTML; clauses and rulings are our own Markdown.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tpharness.certificate import claim_extent, verdict_line
from tpharness.clauses import Clause, Ruling, load_clauses, load_rulings, load_violations
from tpharness.picture import table_html, text_html
from tpharness.printable import make_printable
from tpharness.resources import conformance_dir
from tpharness.scenario import Scenario
from tpharness.site.anchors import anchor_name
from tpharness.site.applications import application_lines
from tpharness.site.documents import Documents
from tpharness.site.views import frame_link, scenarios_of_clause, scenarios_of_ruling, view_link
from tpharness.suite_yaml import load_suite_yaml
from tpharness.verdict import Outcome

__all__ = ["site_pages"]

_CODE = re.compile(r"`([a-z0-9.-]+)`")
_RULING = re.compile(r"\bR\d+\b")
_MOST_LINKS = 12
_SHOWN_CASES = 6
_SHOWN_KNOWN = 2


def site_pages(
    documents: Documents,
    scenarios: Sequence[Scenario],
    interop: Mapping[str, Any],
    apps: Mapping[str, Any],
    pictured: Mapping[str, Sequence[str]],
) -> tuple[dict[str, str], list[Mapping[str, Any]]]:
    """Return the texts of the pages by path, and the navigation without the documentation.

    `interop` and `apps` are what was played of pairs and of applications; `pictured` are the cases of each
    application that have a picture.
    """
    subjects = _by_subject()
    rulings = load_rulings()
    pages = {
        "index.md": (Path(__file__).parent / "start.md").read_text("utf-8")
        + f"\n{len(scenarios)} scenarios, {len(load_clauses())} clauses, {len(rulings)} rulings.\n",
        "matrix.md": "\n".join(_matrix(documents, interop, {one.id for one in scenarios})),
        "applications.md": "\n".join(application_lines(apps, pictured, _table)),
        "trends.md": "\n".join(_trends(documents, {one.id for one in scenarios})),
        "certificates.md": "\n".join(_certificates(documents)),
        "clauses/index.md": "\n".join(_clause_list(subjects)),
        "rulings/index.md": "\n".join(_ruling_list(rulings)),
    }
    pages |= {f"clauses/{name}.md": "\n".join(_subject(name, some, scenarios)) for name, some in subjects.items()}
    pages |= {f"rulings/{one.id}.md": "\n".join(_ruling(one, scenarios)) for one in rulings.values()}
    navigation: list[Mapping[str, Any]] = [
        {"Start": "index.md"},
        {"Matrix": "matrix.md"},
        {"Applications": "applications.md"},
        {"Trends": "trends.md"},
        {"Certificates": "certificates.md"},
        {"Clauses": ["clauses/index.md", *({name: f"clauses/{name}.md"} for name in subjects)]},
        {
            "Rulings": [
                "rulings/index.md",
                *({f"{one.id} {one.title}": f"rulings/{one.id}.md"} for one in rulings.values()),
            ]
        },
    ]
    return pages, navigation


# ----------------------------------------------------------------------------------------------- clauses, rulings


def _by_subject() -> dict[str, list[Clause]]:
    found: dict[str, list[Clause]] = defaultdict(list)
    for clause in load_clauses().values():
        found[clause.id.partition(".")[0]].append(clause)
    return dict(found)


def _clause_list(subjects: Mapping[str, Sequence[Clause]]) -> Iterator[str]:
    yield "# Clauses\n\nEvery normative statement of ThreadProtocol, by subject.\n"
    yield "| clause | level | statement |\n|---|---|---|"
    for name, some in subjects.items():
        for clause in some:
            yield f"| [{clause.id}]({name}.md#{clause.id}) | {clause.level} | {_cell(clause.text)} |"


def _subject(name: str, clauses: Sequence[Clause], scenarios: Sequence[Scenario]) -> Iterator[str]:
    yield f"# Clauses: {name}\n"
    for clause in clauses:
        yield f"## {clause.id} {{ #{clause.id} }}\n\n{clause.text}\n"
        yield f"{clause.level}, in {', '.join(clause.versions)}. Source: {clause.document}, {clause.section}.\n"
        if clause.rulings:
            yield f"Decided by {', '.join(f'[{one}](../rulings/{one}.md)' for one in clause.rulings)}.\n"
        cited = scenarios_of_clause(clause.id, scenarios)
        if cited:
            yield f"Tested by {_links(cited)}\n"
        elif clause.why:
            yield f"No scenario can test it: {clause.why}.\n"
        broken = load_violations().get(clause.id, ())
        if broken:
            yield f"Seen violated, and found: {len(broken)}, such as “{_cell(broken[0].sentence)}”\n"


def _ruling_list(rulings: Mapping[str, Ruling]) -> Iterator[str]:
    yield "# Rulings\n\nHow places where the documents disagree are read, and which other readings exist.\n"
    for ruling in rulings.values():
        yield f"- [{ruling.id}]({ruling.id}.md): {ruling.title}"


def _ruling(ruling: Ruling, scenarios: Sequence[Scenario]) -> Iterator[str]:
    yield f"# {ruling.id}: {ruling.title}\n"
    clauses, rulings = load_clauses(), load_rulings()

    def linked(found: re.Match[str]) -> str:
        name = found[1]
        return f"[{name}](../clauses/{name.partition('.')[0]}.md#{name})" if name in clauses else found[0]

    def other(found: re.Match[str]) -> str:
        known = found[0] in rulings and found[0] != ruling.id
        return f"[{found[0]}]({found[0]}.md)" if known else found[0]

    yield _CODE.sub(linked, _RULING.sub(other, ruling.text)) + "\n"
    shown = scenarios_of_ruling(ruling.id, scenarios)
    if not shown:
        return
    title = text_html(f"A picture of {ruling.id}, whose cut can be dragged")
    yield f"## See it\n\n[On a page of its own](../views/{ruling.id}.html). {shown[0].description}\n"
    yield f'<iframe class="picture" src="../{frame_link(ruling.id, shown)}" title="{title}" loading="lazy"></iframe>\n'
    yield f"## Scenarios\n\n{_links(shown)}\n"


def _links(scenarios: Sequence[Scenario]) -> str:
    return _some([f'<a href="../{view_link(one.id)}">{text_html(one.id)}</a>' for one in scenarios], _MOST_LINKS)


def _some(links: Sequence[str], most: int) -> str:
    """Return links, those beyond the first `most` in a fold that says how many there are."""
    first, others = ", ".join(links[:most]), links[most:]
    if not others:
        return first
    return f"{first} <details><summary>and {len(others)} more</summary>{', '.join(others)}</details>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of finished cells; with a class it is not wrapped by the theme, whose wrapper takes no focus."""
    return table_html(head, rows).replace("<table>", '<table class="data named">', 1)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


# ------------------------------------------------------------------------------------------------ matrix, trends


def _matrix(documents: Documents, interop: Mapping[str, Any], shown: set[str]) -> Iterator[str]:
    yield "# Servers and clients\n\nHow many of the cases that were judged passed; the others differ in a known way. "
    yield "A number leads to what differs between the two.\n"
    names = {spec: f"{spec} ({name})" if name != spec else spec for spec, name in interop["names"].items()}
    pairs = interop["pairs"]
    yield _pairs(
        [
            (
                names[one["server"]],
                names[one["client"]],
                one["counts"],
                None,
                _pair_anchor(one["server"], one["client"]),
            )
            for one in pairs
        ]
    )
    if documents.reports:
        yield "\n## Played besides\n"
        yield _pairs([(one["server"], one["client"], one["counts"], one["passed"], "") for one in documents.reports])
    yield "\n## What differs between two\n\nKnown differences, those of the most cases first.\n"
    titles = {one["departure"]: one["title"] for _, one in _departures()}
    for one in pairs:
        differing = sorted(one["departures"].items(), key=lambda item: -item[1])
        items = "".join(f"<li>{count} × {text_html(titles.get(name, name))}</li>" for name, count in differing)
        anchor = _pair_anchor(one["server"], one["client"])
        head = f"{text_html(names[one['server']])} with {text_html(names[one['client']])}"
        yield f'<div id="{anchor}"><p><strong>{head}</strong></p><ul>{items or "<li>nothing</li>"}</ul></div>\n'
    yield "\n## Known differences\n\nThe picture is the smallest case as the reference plays it: what to keep.\n"
    rows = []
    for target, one in _departures():
        cases = [case for some in one["cases"].values() for case in some]
        rulings = ", ".join(f'<a href="rulings/{name}.html">{name}</a>' for name in one["rulings"])
        found = _some([_case_link(case, shown) for case in sorted(cases, key=len)], _SHOWN_KNOWN)
        reason = text_html(" ".join(one["reason"].split()))
        rows.append((text_html(target), f"{text_html(one['title'])}: {reason}", str(len(cases)), rulings, found))
    yield _table(("target", "difference", "cases", "rulings", "look at"), rows)


def _departures() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for file in sorted((conformance_dir() / "baselines" / "peers").glob("*.yaml")):
        for one in load_suite_yaml(file):
            yield f"peer:{file.stem.partition('-')[2]}", one


def _pair_anchor(server: str, client: str) -> str:
    return anchor_name(f"pair {server} {client}")


def _pairs(pairs: Sequence[tuple[str, str, Mapping[str, int], bool | None, str]]) -> str:
    """Return the table of servers and clients in the order in which they come, with a verdict where there is one."""
    clients = list(dict.fromkeys(client for _, client, _, _, _ in pairs))
    cells = {(server, client): _counts(counts, passed, to) for server, client, counts, passed, to in pairs}
    rows = [
        (text_html(server), *(cells.get((server, client), "–") for client in clients))
        for server in dict.fromkeys(server for server, *_ in pairs)
    ]
    return _table(("server", *map(text_html, clients)), rows)


def _counts(counts: Mapping[str, int], passed: bool | None, anchor: str) -> str:
    """Return a cell: the share of the judged cases that passed, in colour, and how many were judged."""
    good, known = counts.get(Outcome.PASSED.value, 0), counts.get(Outcome.EXPECTED.value, 0)
    judged = good + known + sum(n for name, n in counts.items() if name in _WRONG)
    if passed is not None or not judged:
        words = ", ".join(_counted(name, count) for name, count in counts.items())
        if passed is None:
            return words
        return f'<span class="{"good" if passed else "bad"}">{"passed" if passed else "failed"}</span> {words}'
    share = f"{100 * good // judged} %"  # never 100 where something differs
    link = f'<a class="{"good" if good == judged else "part"}" href="#{anchor}">{share}</a>'
    return f"{link} of {judged:,}"


_WRONG = {outcome.value for outcome in Outcome if not outcome.green}


def _counted(name: str, count: int) -> str:
    """Return how many cases had an outcome, in words; a report may have another word."""
    known = name in {outcome.value for outcome in Outcome}
    return text_html(Outcome(name).counted(count) if known else f"{count} {name}")


def _case_link(case: str, shown: set[str]) -> str:
    name = case.partition("@")[0]
    return f'<a href="{view_link(name)}">{text_html(case)}</a>' if name in shown else text_html(case)


def _heading(text: str) -> str:
    """Return text for a heading in Markdown, where brackets would be links, and braces attributes of the heading."""
    return "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in make_printable(text))


def _how_to_add(noun: str, made: str, file: str) -> str:
    """Return what a page says that would list documents of which there are none."""
    return f"None yet. `{made}` writes a {noun}, and `tpharness site -o public/ {file}` shows it here.\n"


def _trends(documents: Documents, shown: set[str]) -> Iterator[str]:
    yield "# Trends\n\nFrameworks at several releases: which differences came and went (`tpharness trend`).\n"
    if not documents.trends:
        made = "tpharness trend peer:ai-sdk-client --releases 5.0.0,6.0.0,7.0.173 -o trend.json"
        yield _how_to_add("trend", made, "trend.json")
    for trend in documents.trends:
        yield f"\n## {_heading(trend['peer'])} {{ #{anchor_name(trend['peer'])} }}\n"
        head = ("release", "played", "passed", "differing", "causes")
        yield _table(head, [_trend_row(one) for one in trend["releases"]])
        for change in trend["changes"]:
            yield f"\n### {_heading(change['from'])} → {_heading(change['to'])}\n"
            rows = [
                (word, str(len(group["cases"])), text_html(group["cause"]), _cases(group["cases"], shown))
                for word in ("went", "came")
                for group in change[word]
            ]
            yield _table(("change", "cases", "cause", "look at"), rows) if rows else "Nothing came or went.\n"


def _trend_row(one: Mapping[str, Any]) -> tuple[str, ...]:
    if one["error"]:
        return (text_html(one["release"]), text_html(one["error"]), "–", "–", "–")
    numbers = (one["counts"].get("passed", 0), one["departing"], len(one["departures"]))
    return (text_html(one["release"]), text_html(one["target"]), *map(str, numbers))


def _cases(cases: Sequence[str], shown: set[str]) -> str:
    return _some([_case_link(case, shown) for case in cases], _SHOWN_CASES)


def _claim(claim: Mapping[str, Any]) -> str:
    extent = claim_extent(claim)
    return text_html(f"{claim['profile']}: {claim['status']}{f' ({extent})' if extent else ''}")


def _certificates(documents: Documents) -> Iterator[str]:
    yield "# Certificates\n\nWhat was claimed with `tpharness certify`. `tpharness verify` says whether one holds.\n"
    if not documents.certificates:
        made = "tpharness certify --server http://HOST:PORT -o cert/"
        yield _how_to_add("certificate", made, "cert/certificate.json")
    rows = []
    for one in documents.certificates:
        targets = ", ".join(
            f"{text_html(p['server']['name'])} with {text_html(p['client']['name'])}" for p in one["playings"]
        )
        claims = "<br>".join(map(_claim, one["claims"]))
        rows.append((targets, text_html(verdict_line(one)), text_html(one["time"]), claims))
    if rows:
        yield _table(("server and client", "claim", "made", "profiles"), rows)
