"""JSON text that stops anywhere: `histories/test_ai_sdk_history.py` holds it to the package itself."""

from __future__ import annotations

from typing import Any

import pytest

from tpharness.wires.vsp.partial_json import NOTHING, parse_partial_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"city":"Par', {"city": "Par"}),
        ('{"city"', {}),
        ('{"city":', {}),
        ('{"a":1,"b', {"a": 1}),
        ('{"a":[1,2', {"a": [1, 2]}),
        ('{"a":[{"b":"c\\', {"a": [{"b": "c"}]}),
        ('{"a":"\\u00e', {"a": ""}),
        ('{"a":tr', {"a": True}),
        ('{"a":n', {"a": None}),
        ('{"a":1.', {"a": 1}),
        ('{"a":12e', {"a": 12}),
        ('{"a":{"b":1}, "c":{', {"a": {"b": 1}, "c": {}}),
        ("[1,", [1]),
        ("", NOTHING),
        ("-", NOTHING),
        ("nonsense", NOTHING),
        ('{"a":"\\q', NOTHING),
        ("01", NOTHING),
        ("NaN", NOTHING),
    ],
)
def test_a_cut_json_text_has_the_value_of_what_has_come(text: str, value: Any) -> None:
    """What is open is closed, what is not usable yet is left out (values by `fixJson` of `ai` 7)."""
    assert parse_partial_json(text) == value
