"""What people look at: the certificate as Markdown, and two badges. Pure.

In: the predicate of a certificate. Out: Markdown, an SVG that needs nothing else, and shields.io's endpoint as JSON.
What a target says of itself is shown as text only.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.certificate.claims import CONFORMS, IN_PART, claim_extent
from tpharness.findings import shorten
from tpharness.printable import counted, make_printable
from tpharness.profiles import load_profiles
from tpharness.wires.registry import DEFAULT_WIRE

__all__ = [
    "badge_endpoint",
    "badge_markdown",
    "badge_picture",
    "badge_svg",
    "certificate_markdown",
    "claim_lines",
    "verdict_line",
    "wires_of",
]

_COLOURS = {"brightgreen": "#3a7d0a", "yellow": "#8a6500", "red": "#b3261e"}
"""Shields.io's names, and for our own badge a tone of each on which white text has a contrast of at least 4.5."""

_MOST_NAMES = 3
"""How many profiles a badge names."""

_WIDTH = 7
"""Pixels of a character, on average, in the badge's font; `textLength` fits the text to it in any font."""


def verdict_line(predicate: Mapping[str, Any]) -> str:
    """Return what is claimed in one line, such as `9 of 11 profiles of 0.0.4 (set 2026-11), 160 of 177 clauses`."""
    wanted = predicate["requirements"]
    clauses = sum(len(wanted[key]) for key in ("passed", "failed", "not_judged"))
    return (
        f"{_conforming(predicate)} of {wanted['version']} (set {wanted['set']}), "
        f"{len(wanted['passed'])} of {clauses} clauses{_over(predicate)}"
    )


def wires_of(predicate: Mapping[str, Any]) -> list[str]:
    """Return the names of the wires that were played, each once."""
    return list(dict.fromkeys(playing.get("wire", DEFAULT_WIRE) for playing in predicate["playings"]))


def _over(predicate: Mapping[str, Any]) -> str:
    """Return the wires as the end of a sentence; nothing for the one that is meant where none is named."""
    wires = wires_of(predicate)
    return "" if wires == [DEFAULT_WIRE] else f", over {' and '.join(wires)}"


def badge_endpoint(predicate: Mapping[str, Any]) -> dict[str, Any]:
    """Return what shields.io's endpoint badge reads."""
    kept, part = _claimed(predicate, CONFORMS), _claimed(predicate, IN_PART)
    colour = "brightgreen" if len(kept) == len(predicate["claims"]) else "yellow" if kept or part else "red"
    label = f"ThreadProtocol {predicate['requirements']['version']}"
    return {"schemaVersion": 1, "label": label, "message": _conforming(predicate) + _over(predicate), "color": colour}


def badge_svg(predicate: Mapping[str, Any]) -> str:
    """Return the badge of a certificate as an SVG."""
    return badge_picture(badge_endpoint(predicate))


def badge_picture(badge: Mapping[str, Any]) -> str:
    """Return what shields.io's endpoint badge reads as an SVG that has no font, script or address of anybody else's."""
    label, message = html.escape(badge["label"]), html.escape(badge["message"])
    left, right = (len(badge[key]) * _WIDTH + 12 for key in ("label", "message"))
    text = '<text x="{x}" y="14" textLength="{length}">{text}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{label}: {message}"><title>{label}: {message}</title>'
        f'<rect width="{left + right}" height="20" rx="3" fill="#444"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{left}z" fill="{_COLOURS[badge["color"]]}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{text.format(x=6, length=left - 12, text=label)}{text.format(x=left + 6, length=right - 12, text=message)}"
        "</g></svg>\n"
    )


def badge_markdown(predicate: Mapping[str, Any]) -> str:
    """Return the line of Markdown that shows the badge beside the certificate, and links to it."""
    badge = badge_endpoint(predicate)
    return f"[![{badge['label']}: {badge['message']}](badge.svg)](certificate.md)"


def certificate_markdown(predicate: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]) -> str:
    """Return the certificate for people; the reports, as JSON values, say by what cause cases failed."""
    wanted, suite = predicate["requirements"], predicate["suite"]
    causes = _causes(reports)
    cited = {name for cause in causes.values() for name in cause.clauses}
    lines = [
        f"# {_escape(verdict_line(predicate))}",
        "",
        "Made by `tpharness certify`; `tpharness verify certificate.json` checks it against the reports beside it.",
        "",
        *_table(("", ""), list(_facts(predicate))),
        "",
        "## Profiles",
        "",
        *_table(
            ("profile", "verdict", "judged", "why", "passed", "departing", "failed", "not judged"),
            [row for claim in predicate["claims"] for row in _profile_rows(predicate, claim)],
        ),
        "",
        *_what_failed(causes),
        "## Requirements",
        "",
        _requirements(wanted, cited),
        *_named("New since the set was frozen", wanted["new"]),
    ]
    departures = [one for playing in predicate["playings"] for one in playing["departures"]]
    if departures:
        rows = [(one["id"], ", ".join(one["findings"]), one["reason"]) for one in departures]
        lines += ["", "## Known differences", "", *_table(("case", "findings", "reason"), rows)]
    unstable = sorted({case for playing in predicate["playings"] for case in playing["unstable"]})
    lines += _named("Not the same verdict in every order", unstable)
    lines += ["", f"Suite: tpharness {_escape(suite['version'])}, SHA-256 `{suite['digest']}`."]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cause:
    """A cause as the certificate shows it; `clauses` and `rulings` are those that its findings cite."""

    name: str
    cases: int
    smallest: str
    clauses: Sequence[str]
    rulings: Sequence[str]
    remedy: str


def _causes(reports: Sequence[Mapping[str, Any]]) -> Mapping[str, _Cause]:
    """Return why cases failed, each cause once.

    A case is about several clauses, and its findings cite those of them that are broken.
    """
    causes: dict[str, _Cause] = {}
    for report in reports:
        results = {result["id"]: result for result in report["results"]}
        for cause in report["causes"]:
            found = _of_cause(results, cause)
            cites = (
                dict.fromkeys(name for one in found for name in one.get(key, ())) for key in ("clauses", "rulings")
            )
            clauses, rulings = map(list, cites)
            remedy = next((one["remedy"] for one in found if one.get("remedy")), "")
            one = _Cause(
                name=cause["cause"],
                cases=cause["cases"],
                smallest=cause["smallest"],
                clauses=clauses,
                rulings=rulings,
                remedy=remedy,
            )
            causes.setdefault(one.name, one)
    return causes


def _what_failed(causes: Mapping[str, _Cause]) -> list[str]:
    """Return the causes with what decides and what to change; nothing if no case failed."""
    if not causes:
        return []
    head = ("cause", "cases", "smallest case", "what decides", "what to change")
    rows = [
        (one.name, str(one.cases), one.smallest, ", ".join((*one.clauses, *one.rulings)), one.remedy)
        for one in causes.values()
    ]
    return ["## What failed", "", *_table(head, rows), ""]


def _of_cause(results: Mapping[str, Mapping[str, Any]], cause: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the findings of a cause's smallest case that have one of its codes."""
    return [one for one in results[cause["smallest"]]["findings"] if one["code"] in cause["codes"]]


def claim_lines(predicate: Mapping[str, Any]) -> list[str]:
    """Return a line for each claim: the verdict, of how much, and why it is not another one."""
    lines = []
    for claim in predicate["claims"]:
        said = "; ".join(filter(None, (claim["why"], claim_extent(claim))))
        lines.append(f"  {claim['profile']:<14} {claim['status']}{': ' if said else ''}{said}")
    return lines


def _requirements(wanted: Mapping[str, Any], cited: Collection[str]) -> str:
    passed, failed, rest = (len(wanted[key]) for key in ("passed", "failed", "not_judged"))
    broken = [name for name in wanted["failed"] if name in cited]
    about = failed - len(broken)
    named = f" ({', '.join(f'`{name}`' for name in broken)})" if broken else ""
    said = [f"{passed} passed", *([f"findings cite {len(broken)} as broken{named}"] if broken else [])]
    said += [f"{about} belong to cases that failed or are known differences"] if about else []
    clauses = f"Of the {passed + failed + rest} clauses of the set {wanted['set']}"
    return f"{clauses}, {', '.join(said)}, and {rest} were not judged."


def _facts(predicate: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = []
    for playing in predicate["playings"]:
        for side in ("server", "client"):
            one = playing[side]
            facts.append((side, f"{one['reported_as']}, {one['address']}"))
    if "revision" in predicate:
        facts.append(("revision", predicate["revision"]))
    facts.append(("wires", ", ".join(wires_of(predicate))))
    machine = predicate["platform"]
    facts.append(("played", f"{predicate['time']}, {machine['python']} on {machine['system']} {machine['machine']}"))
    return list(dict.fromkeys(facts))


def _profile_rows(predicate: Mapping[str, Any], claim: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows = []
    for playing in predicate["playings"]:
        counts = playing["profiles"].get(claim["profile"], {})
        name = claim["profile"] + (f" over {playing['wire']}" if "wire" in playing else "")
        numbers = [str(counts.get(key, 0)) for key in ("passed", "departing", "failed", "not_judged")]
        rows.append((name, claim["status"], claim_extent(claim), claim["why"], *numbers))
    return rows


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [head, ["---"] * len(head), *([_escape(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(row)} |" for row in cells]


def _named(title: str, names: Sequence[str]) -> list[str]:
    return ["", f"{title}: {', '.join(f'`{name}`' for name in names)}."] if names else []


def _escape(text: str) -> str:
    """Return text of somebody else's that Markdown shows as it is, in one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|!&])", r"\\\1", make_printable(shorten(text, 300)))


def _claimed(predicate: Mapping[str, Any], status: str) -> list[str]:
    return [claim["profile"] for claim in predicate["claims"] if claim["status"] == status]


def _conforming(predicate: Mapping[str, Any]) -> str:
    """Return which of the profiles that were asked for conform: by their names if these are few and all do."""
    names, part, of = _claimed(predicate, CONFORMS), len(_claimed(predicate, IN_PART)), len(predicate["claims"])
    if len(names) == of:
        return "all profiles" if of == len(load_profiles()) else _listed(names)
    return f"{len(names) or 'none'} of {counted(of, 'profile')}{f' and {part} in part' if part else ''}"


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMES:
        return f"{len(names)} profiles"
    return f"profile{'s' if len(names) > 1 else ''} {', '.join(names)}"
