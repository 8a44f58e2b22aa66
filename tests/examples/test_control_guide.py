"""The implementer's guide: every message in it fits the contract, and the example answers as it is printed there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.examples.stdio import asked

from tpharness.reference_app.openapi import openapi_document
from tpharness.targets.forms import problems

HERE = Path(__file__).parents[2]
GUIDE = (HERE / "docs" / "CONTROL.md").read_text(encoding="utf-8")
MESSAGES = [
    (block[1], json.loads(line))
    for block in re.finditer(r"^```json (\w+)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    for line in block[2].splitlines()
]


@pytest.mark.parametrize(("name", "message"), MESSAGES, ids=[f"{i}-{name}" for i, (name, _) in enumerate(MESSAGES)])
def test_every_message_of_the_guide_fits_the_contract(name: str, message: Any) -> None:
    """The name after `json` is its definition in the schema."""
    assert problems(name, message) == []


def test_the_guide_shows_what_a_server_is_sent_over_http() -> None:
    """The body of each request of the contract. Those of a client are the messages of stdio."""
    paths = openapi_document()["paths"].values()
    asked = [path["post"] for path in paths if "server" in path.get("post", {}).get("tags", ())]
    bodies = [one["requestBody"]["content"]["application/json"]["schema"]["$ref"] for one in asked]
    assert len(bodies) == 3
    assert {body.rpartition("/")[2] for body in bodies} <= {name for name, _ in MESSAGES}


def test_the_example_answers_as_the_guide_prints_it() -> None:
    """Requests go in, the printed answers come out; the capabilities are each implementation's own."""
    requests = [message for name, message in MESSAGES if name == "stdioRequest"]
    printed = {m["id"]: m for name, m in MESSAGES if name == "stdioAnswer" and "error" not in m}
    assert len(requests) == 12
    undeclared = [request for request in requests if request["op"] in ("import", "keep")]
    requests = [request for request in requests if request not in undeclared]
    requests.sort(key=lambda request: bool(request["op"] == "stop"))  # the guide has it before what is optional
    assert ["imported" in printed.pop(undeclared[0]["id"]), "kept" in printed[undeclared[1]["id"]]] == [True, True]
    with asked(sys.executable, HERE / "examples" / "plain_history.py") as ask:
        assert ask(undeclared[1]) == printed.pop(undeclared[1]["id"])
    done = subprocess.run(
        [sys.executable, str(HERE / "examples" / "plain_python.py"), "--stdio"],
        input="".join(json.dumps(request) + "\n" for request in requests),
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    for answer in map(json.loads, done.stdout.splitlines()):
        expected = printed.pop(answer["id"])
        if "capabilities" in expected:
            assert problems("stdioAnswer", answer) == []
        else:
            assert answer == expected
    assert not printed
