"""The rules as tables for `docs/ACCEPTANCE.md`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tpharness.model_apis.api import ModelApi
from tpharness.model_apis.registry import APIS
from tpharness.model_apis.rule import ApiRule

__all__ = ["rule_tables"]


def rule_tables(rules: Iterable[ApiRule]) -> str:
    """Return a Markdown section with a table for each API."""
    known = list(rules)
    return "\n".join(line for api in APIS.values() for line in _section(api, known))


def _section(api: ModelApi, rules: list[ApiRule]) -> Iterator[str]:
    yield f"### {api.title} (`{api.name}`)\n"
    yield "| rule | level | what is accepted | in the API's words | known from |"
    yield "|---|---|---|---|---|"
    for rule in rules:
        if rule.provider == api.name:
            says = rule.kind.entry.meaning + (f" (*{rule.only}*)" if rule.only else "")
            words = "<br>".join(f"“{text}”" for text in rule.texts()) or "–"
            known = f"{rule.confidence.value}: {_linked(rule)}"
            cells = (f"{rule.id} `{rule.kind.code}`", rule.kind.level.name, says, words, known)
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""


def _linked(rule: ApiRule) -> str:
    """Return the source with each report that it names as a link."""
    text, begin = "", 0
    for name, address in rule.links().items():
        at = rule.source.index(name, begin)
        text += f"{rule.source[begin:at]}[{name}]({address})"
        begin = at + len(name)
    return text + rule.source[begin:]
