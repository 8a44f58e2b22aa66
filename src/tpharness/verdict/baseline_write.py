"""The failures of a run as the text of a baseline, for `--write-baseline`: who adopts it fills in the reasons.

In: results, and the baseline that the run has read. Out: YAML with an entry for each new cause, its reason empty, so
that reading it back is refused until somebody has said why. What is known already stays as somebody has written it,
with its comments, but for the entries that the run has reported as outdated: what it does not play it cannot judge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from tpharness.errors import UsageError
from tpharness.findings import Finding
from tpharness.output import check_writable
from tpharness.verdict.baseline import OUTDATED
from tpharness.verdict.baseline_read import parse_item, read_items
from tpharness.verdict.grouping import group_failures
from tpharness.verdict.result import Outcome, Result

__all__ = ["baseline_text", "check_new_baseline"]

_HEAD = """\
# Known failures, an entry for each cause. Write into each reason why it is known to fail, and who corrects it when:
# a baseline with an empty reason is refused. An entry that does not fail any more fails the run.
"""


def check_new_baseline(path: Path, known: Path | None) -> None:
    """Check before a run that a baseline can be written. UsageError for a file other than the baseline it reads."""
    check_writable(path, "the baseline")
    if path.exists() and (known is None or known.resolve() != path.resolve()):
        raise UsageError(
            f"{path} exists, and may have reasons that somebody wrote",
            hint=f"read it as well, so that its reasons are kept: --baseline {path}; or name another file",
        )


def baseline_text(results: Iterable[Result], problems: Iterable[Finding] = (), known: Path | None = None) -> str:
    """Return the baseline after a run: what has failed in it, and what was known and is not outdated.

    A case that fails otherwise than its entry says has a new one in place of it. `problems` are those of the run,
    `known` is the file that it has read. Without one, what was expected has been explained by a built-in baseline, and
    is written with its reason.
    """
    results = list(results)
    entries = [
        {
            "departure": group.cause.slug,
            "title": str(group.cause),
            "reason": "",
            **({"clauses": list(group.cause.clauses)} if group.cause.clauses else {}),
            "cases": _by_findings(group.results),
        }
        for group in group_failures(result for result in results if result.fails_now)
    ]
    if known is None:
        return "\n".join([_HEAD, *map(_dump, [*entries, *_list_expected(results)])])
    found = (*problems, *(finding for result in results for finding in result.findings))
    outdated = {str(finding.place.case) for finding in found if finding.kind in OUTDATED}
    head, kept, gap = _kept(outdated, known)
    new = gap.join(map(_dump, entries))
    return _HEAD + ("\n" + head if head else "") + ("\n" + new + (gap if kept else "") if new else "\n") + kept


def _dump(entry: Any) -> str:
    return yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, width=110)


def _list_expected(results: Iterable[Result]) -> list[dict[str, Any]]:
    known: dict[str, list[Result]] = {}
    for result in results:
        if result.outcome is Outcome.EXPECTED:
            known.setdefault(result.reason, []).append(result)
    return [{"reason": reason, "cases": _by_findings(found)} for reason, found in known.items()]


def _kept(outdated: Collection[str], known: Path) -> tuple[str, str, str]:
    """Return a baseline file without the entries of these names, as somebody wrote it: head, items, and their gap.

    The comments right above an item belong to it, those that an empty line separates from it stay whatever becomes of
    it. An item that loses a part of its cases is written anew, below its comments. The gap is what stands between two
    items: "" where no two have an empty line between them.
    """
    items = read_items(known)
    lines = known.read_text("utf-8-sig").splitlines(keepends=True)
    starts = [line - 1 for *_, line in items]
    head = ""
    parts: list[tuple[str, str]] = []
    gaps: list[str] = []
    end = 0
    for (where, item, _), start, following in zip(items, starts, [*starts[1:], len(lines)], strict=True):
        own = start
        while own > end and lines[own - 1].startswith("#"):
            own -= 1
        before = lines[end:own]
        if end == 0:
            head = _comments(before)
        else:
            gaps.append(_gap(before[-1:]))
            parts.append((_gap(before[:1]), _comments(before)))
        end = following
        while end > start + 1 and _is_beside(lines[end - 1]):
            end -= 1
        names = {entry.name for entry in parse_item(item, where)}
        left = names.difference(outdated)
        written = "".join(lines[start:end]).rstrip("\n") + "\n"
        text = written if left == names and _says(written, item) else _dump(_without(item, left))
        parts.append((gaps[-1] if gaps else "", _comments(lines[own:start]) + text if left else ""))
    parts.append((_gap(lines[end : end + 1]), _comments(lines[end:])))
    kept = "".join(gap + text for gap, text in parts if text)
    return head, kept.removeprefix("\n"), "\n" if "\n" in gaps or not gaps else ""


def _gap(lines: Sequence[str]) -> str:
    """Return an empty line if one is there."""
    return "" if all(line.strip() for line in lines) else "\n"


def _is_beside(line: str) -> bool:
    """Whether a line is empty, or a comment at the left margin: it does not belong to the item above it."""
    return not line.strip() or line.startswith("#")


def _comments(lines: Sequence[str]) -> str:
    """Return the comments among lines, without those that stand at the head of every baseline that is written."""
    ours = _HEAD.splitlines()
    return "".join(line.rstrip() + "\n" for line in lines if line.startswith("#") and line.rstrip() not in ours)


def _says(written: str, item: Any) -> bool:
    """Whether the lines of an item say what was read of it."""
    if not written.startswith("- "):
        return False
    try:
        return bool(yaml.safe_load(written) == [item])
    except yaml.YAMLError:
        return False


def _without(item: dict[str, Any], left: Collection[str]) -> dict[str, Any]:
    """Return an item with only the cases that are left."""
    if "cases" not in item:
        return item
    cases = {codes: [case for case in ids if case in left] for codes, ids in item["cases"].items()}
    return {**item, "cases": {codes: ids for codes, ids in cases.items() if ids}}


def _by_findings(results: Sequence[Result]) -> dict[str, Any]:
    cases: dict[str, list[str]] = {}
    for result in results:
        codes = result.failing_codes.difference(kind.code for kind in OUTDATED)  # of the entry that this one replaces
        cases.setdefault(" ".join(sorted(codes)), []).append(result.id)
    return cases
