"""Would a model API accept this payload: every rule applied to a payload in the API's own format.

In: the API, its input as JSON values of any form, options. Out: findings. No payload makes this raise.
"""

from __future__ import annotations

from typing import Any

from tpharness.findings import Finding, Level
from tpharness.model_apis.registry import ApiName, find_api
from tpharness.model_apis.rule import Options

__all__ = ["check_payload", "is_refused"]


def check_payload(name: ApiName, payload: Any, *, options: Options | None = None) -> list[Finding]:
    """Return what the API would reject (MUST) or might reject (SHOULD), with JSON pointers into the payload.

    The payload is a body in the API's format, or its list of messages, items or contents alone. UsageError for another
    API.
    """
    api = find_api(name)
    chosen = options or Options()
    not_applied = api.servers.get(chosen.server, ())
    entries, found = api.acceptance.open_payload(payload)
    for rule in api.acceptance.RULES:
        if rule.id not in not_applied and (rule.kind.level is not Level.MAY or chosen.observations):
            found.extend(rule.findings(entries, chosen))
    return found


def is_refused(finding: Finding, name: ApiName, server: str | None) -> bool:
    """Whether what was found is surely refused: by the API, or by the other server of it that was named."""
    api = find_api(name)
    surely = api.refusals.get(server or "", ())
    return finding.level is Level.MUST or any(
        r.id in surely and r.kind.code == finding.code for r in api.acceptance.RULES
    )
