"""Each rule of a model's API is broken by a mistake that it finds, and it alone."""

from __future__ import annotations

import re

import pytest
from tests.seeded_defects.payloads import PAYLOAD_DEFECTS, PayloadDefect

from tpharness.model_apis.check import check_payload
from tpharness.model_apis.rules import RULES


@pytest.mark.parametrize("defect", PAYLOAD_DEFECTS, ids=lambda defect: defect.rule)
def test_a_mistake_is_found_by_its_rule_alone(defect: PayloadDefect) -> None:
    """The request as it should be is taken; the mistake in it is one finding, of the rule."""
    assert check_payload(defect.provider, defect.right(), options=defect.options) == []
    (finding,) = check_payload(defect.provider, defect.wrong(), options=defect.options)
    assert finding.message.startswith(f"{defect.rule}: ")
    assert re.fullmatch(r"[A-Z][^\n]{10,150}\.", defect.sentence)


def test_each_rule_has_a_mistake() -> None:
    """A new rule that nothing was seen to break is noticed here."""
    assert [defect.rule for defect in PAYLOAD_DEFECTS] == [rule.id for rule in RULES]
