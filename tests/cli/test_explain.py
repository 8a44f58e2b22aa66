"""`explain` says about a finding what the catalogue says."""

from __future__ import annotations

import pytest
from tests.cli.conftest import Call

from tpharness.findings import load_kinds


@pytest.mark.parametrize("code", ["stream-unfinished", "identity-differs", "json-too-deep", "chat-call-unanswered"])
def test_explain_shows_what_the_catalogue_says(code: str, call: Call) -> None:
    """Title, meaning, remedy, and the clauses in words."""
    called = call("explain", code)
    assert called.code == 0
    assert called.out.startswith(f"{code} (")
    kind = load_kinds()[code]
    assert kind.title in called.out
    assert kind.meaning in called.out
    assert kind.remedy in called.out
