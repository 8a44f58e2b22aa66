"""The chat of the AI SDK on a page in a real browser: somebody presses stop, loads the page anew, loses the network."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.distribution import ChosenScenarios
from tests.patience import SLOW
from tests.prerequisites import PEERS

from tpharness.run import RunOptions, run_suite
from tpharness.targets.browser import BROWSER_VARIABLE, browser_environment
from tpharness.targets.node_packages import node_program
from tpharness.verdict import Outcome, ResultReady

pytestmark = pytest.mark.browser
FIRST_HALF = [
    {"type": "start", "messageId": "answer-1"},
    {"type": "start-step"},
    {"type": "text-start", "id": "t"},
    {"type": "text-delta", "id": "t", "delta": "Hello"},
]
SECOND_HALF = [
    {"type": "text-delta", "id": "t", "delta": " you"},
    {"type": "text-end", "id": "t"},
    {"type": "finish-step"},
    {"type": "finish"},
]

SCENES: dict[str, list[list[Any]]] = {
    "stop": [
        ["open", ""],
        ["send", "Hi"],
        ["chunks", FIRST_HALF],
        ["look", "before"],
        ["stop"],
        ["look", "after"],
    ],
    "reload": [
        ["open", "?resume"],
        ["resumed", "nothing"],
        ["send", "Hi"],
        ["chunks", FIRST_HALF],
        ["reload"],
        ["resumed", "stream"],
        ["look", "reloaded"],
        ["chunks", FIRST_HALF + SECOND_HALF],
        ["end"],
        ["look", "after"],
    ],
    "offline": [
        ["open", ""],
        ["send", "Hi"],
        ["chunks", FIRST_HALF],
        ["offline", True],
        ["break"],
        ["look", "broken"],
        ["lost", "Are you there?"],
        ["look", "lost"],
        ["offline", False],
        ["resume"],
        ["resumed", "stream"],
        ["chunks", FIRST_HALF + SECOND_HALF],
        ["end"],
        ["look", "back"],
    ],
}


def seen(scenes: dict[str, list[list[Any]]], folder: Path) -> dict[str, Any]:
    """Play scenes in one browser and return what was seen in each at each `look`."""
    program = node_program(PEERS / "ai_sdk_browser", [PEERS / "ai_sdk"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = subprocess.run(
        [program.node, program.scripts / "scenes.mjs", "--port", str(port)],
        input=json.dumps(scenes),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
        env=os.environ | browser_environment(),
    )
    assert done.returncode == 0, done.stderr
    looks: dict[str, Any] = json.loads(done.stdout)
    return looks


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what was seen in all scenes."""
    return seen(SCENES, tmp_path_factory.mktemp("scenes"))


def test_stop_ends_the_stream_and_leaves_no_trace_in_the_message(played: dict[str, Any]) -> None:
    """The button's click reaches the server as a closed connection; the message itself cannot tell it from a pause."""
    looks = played["stop"]
    before, after = looks["before"], looks["after"]
    assert (before["status"], before["connected"]) == ("streaming", True)
    assert (after["status"], after["connected"]) == ("ready", False)
    assert after["finish"]["isAbort"]
    assert after["text"] == ["Hi", "Hello"]
    assert after["messages"] == before["messages"]  # R20: what was cut has to be known by other means


def test_a_page_that_is_loaded_anew_has_what_the_server_tells_again(played: dict[str, Any]) -> None:
    """A stream that is resumed from its beginning gives the whole answer; the prompt has to come from storage."""
    looks = played["reload"]
    assert looks["reloaded"]["messages"] == []
    assert looks["after"]["text"] == ["Hello you"]
    assert [part["type"] for part in looks["after"]["messages"][0]["parts"]] == ["step-start", "text"]
    assert looks["after"]["status"] == "ready"


def test_offline_breaks_the_stream_and_the_next_prompt_and_resuming_goes_on(played: dict[str, Any]) -> None:
    """A lost network is a disconnect for the chat, not an abort, and what had come stays."""
    looks = played["offline"]
    for label in ("broken", "lost"):
        assert looks[label]["status"] == "error"
        assert looks[label]["finish"] == {"isAbort": False, "isDisconnect": True, "isError": True}
    assert looks["broken"]["text"] == ["Hi", "Hello"]
    assert looks["lost"]["text"] == ["Hi", "Hello", "Are you there?"]
    assert looks["back"]["status"] == "ready"
    # The answer that is resumed has the id of the one that broke off, so it takes its place, before the lost prompt.
    assert looks["back"]["text"] == ["Hi", "Hello you", "Are you there?"]


def test_a_step_that_cannot_be_done_is_told(tmp_path: Path) -> None:
    """A mistake in a scene is no scene in which nothing was seen."""
    with pytest.raises(AssertionError, match="scene: no step is called jump"):
        seen({"scene": [["open", ""], ["jump", 1]]}, tmp_path)


@pytest.mark.sampled
def test_plays_scenarios_with_the_departures_of_its_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen_scenarios: ChosenScenarios
) -> None:
    """A browser changes what is on the screen, not what the package makes of a stream: the same cases depart."""
    screenshot = tmp_path / "screen.png"
    monkeypatch.setenv("TPHARNESS_SCREENSHOT", str(screenshot))
    ids = chosen_scenarios(0, "basics", "tools")
    results = [
        event.result
        for event in run_suite(RunOptions(client="peer:ai-sdk-browser", ids=ids, patience=SLOW))
        if isinstance(event, ResultReady)
    ]
    assert any(result.outcome is Outcome.PASSED for result in results)
    assert [f"{result.id}: {result.outcome.value}" for result in results if not result.outcome.green] == []
    assert screenshot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({}, "Playwright has none at "),
        ({BROWSER_VARIABLE: "/nowhere/chromium"}, "TPHARNESS_CHROMIUM: /nowhere/chromium is not a program"),
    ],
)
def test_says_what_to_install_when_there_is_no_browser(named: dict[str, str], why: str, tmp_path: Path) -> None:
    """The peer ends with one line that helps."""
    program = node_program(PEERS / "ai_sdk_browser", [PEERS / "ai_sdk"])
    done = subprocess.run(
        [program.node, program.scripts / "browser.mjs", "--port", "1"],
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)} | named,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"there is no browser: {why}")
    assert "name it with TPHARNESS_CHROMIUM" in done.stderr
    assert re.search(r"type: npx playwright-core@\d+\.\d+\.\d+ install chromium\n\Z", done.stderr)
