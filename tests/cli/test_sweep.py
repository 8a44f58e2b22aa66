"""`tpharness sweep`: what it prints, what its exit code is, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Call
from tests.scenarios import TWO_TOOLS
from tests.targets.servers import RawServer, in_thread
from tests.targets.test_cannot_play import Narrow

FEW = ("basics/parallel*", "basics/tool*", "numbers")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with one scenario, the current one."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "two.yaml").write_text(TWO_TOOLS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_everything_passed_is_said_in_a_line(call: Call, folder: Path) -> None:
    """The number of places tried, and that it is all of them."""
    told = call("sweep", "--scenarios", "mine", "--reasons", "all")
    assert told.code == 0
    assert told.out.startswith("PASSED 1 scenario, tried ")
    assert "not tried" not in told.out
    assert not (folder / "tpharness-failures").exists()


@pytest.mark.usefixtures("folder")
def test_a_sample_says_what_was_not_tried(call: Call) -> None:
    """The seed that drew it as well."""
    told = call("sweep", "--scenarios", "mine", "--budget", "3", "--seed", "7")
    assert told.code == 0
    assert "tried 3 of" in told.out
    assert "a sample of seed 7" in told.out


@pytest.mark.usefixtures("folder")
def test_a_failure_tells_its_cause_and_the_command_that_plays_it(call: Call) -> None:
    """The command is one that `tpharness` takes, and it fails as well."""
    target = "python:tests.explore.defects:reordered_returns"
    told = call("sweep", "--scenarios", "mine", "--client", target)
    assert told.code == 1
    assert "identity-differs" in told.out
    assert "  also      1 more place fails for the same cause\n" in told.out
    command = next(line.split("play it", 1)[1].split() for line in told.out.splitlines() if "play it" in line)
    assert command[:2] == ["tpharness", "run"]
    assert command[-2:] == ["--client", target]
    assert call(*command[1:]).code == 1
    assert call(*command[1:-2]).code == 0


def test_the_failures_of_two_scenarios_are_two_files(call: Call, folder: Path) -> None:
    """Also where they differ in a letter that ASCII does not have."""
    for name in ("über", "öber"):
        (folder / "mine" / f"{name}.yaml").write_text(TWO_TOOLS)
    call("sweep", "--scenarios", "mine", "über", "öber", "--client", "python:tests.explore.defects:reordered_returns")
    ends = {path.stem.rpartition("-")[2] for path in (folder / "tpharness-failures").iterdir()}
    assert ends == {"über", "öber"}


@pytest.mark.usefixtures("folder")
def test_json_has_the_numbers_and_the_failures(call: Call) -> None:
    """What the words say, for machines."""
    told = json.loads(call("sweep", "--scenarios", "mine", "--json").out)
    assert told["passed"] is True
    assert told["tried"] == told["total"] == told["scenarios"][0]["passed"]
    failing = call(
        *("sweep", "--scenarios", "mine", "--json", "--client", "python:tests.explore.defects:reordered_returns")
    )
    (failure,) = json.loads(failing.out)["scenarios"][0]["failures"]
    assert failing.code == 1
    assert failure["codes"] == ["identity-differs", "returns-out-of-order"]
    assert Path(failure["file"]).exists()


@pytest.mark.usefixtures("folder")
def test_orders_are_counted(call: Call) -> None:
    """Two results may come in either order."""
    told = json.loads(call("sweep", "--scenarios", "mine", "--orders", "--json").out)
    assert told["counts"] == "orders"
    assert told["passed"] is True
    assert told["tried"] == told["total"] > 0
    assert "orders" in told["scenarios"][0]["detail"]


def test_nothing_to_sweep_is_no_pass(call: Call, folder: Path) -> None:
    """A scenario without anything to reorder is named, and the command fails."""
    (folder / "mine" / "two.yaml").write_text(
        "description: A text.\nclauses: [sync.identity]\nturns: [{user: Hi}, {steps: [{response: [{text: Hi}]}]}]\n"
    )
    told = call("sweep", "--scenarios", "mine", "--orders")
    assert told.code == 1
    assert "not swept: two: no two of its events may swap" in told.out
    assert "nothing was tried" in told.out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--cuts", "chunks"), "--cuts takes events or bytes"),
        (("--side", "left"), "--side takes both, server, client, apart"),
        (("--reasons", "timeout,user_canceled"), "unknown reason 'user_canceled'\n  did you mean user_cancelled?"),
        (("--reasons", ","), "--reasons does not name a reason"),
        (("nothing/there",), "no scenario in mine is called"),
        (("two@event-1",), "takes scenarios, not places"),
        (("--client", "nobody"), "there is no target"),
        (("--cuts", "bytes", "--client", "python:tests.explore.defects:plain"), "add --side client"),
    ],
)
def test_wrong_usage_is_told(call: Call, options: tuple[str, ...], said: str) -> None:
    """Exit code 2, and a line that says what is taken."""
    told = call("sweep", "--scenarios", "mine", *options)
    assert told.code == 2
    assert said in told.err


def test_a_scenario_that_does_not_load_is_told(call: Call, folder: Path) -> None:
    """With its place, as every command does."""
    (folder / "mine" / "two.yaml").write_text("description: x\n")
    told = call("sweep", "--scenarios", "mine")
    assert told.code == 2
    assert "two.yaml:" in told.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "options",
    [("--cuts", "bytes", "--budget", "40"), ("--orders",), ("--orders", "--budget", "20"), ("--budget", "4")],
)
def test_workers_find_what_one_process_finds(call: Call, folder: Path, options: tuple[str, ...]) -> None:
    """The same document to the byte, and the same files of failures."""
    failing = ("--client", "python:tests.explore.defects:reordered_returns")
    told = []
    for who in ("1", "2"):
        done = call("sweep", "--scenarios", "mine", "--json", "--jobs", who, "--save", "here", *failing, *options)
        told.append((done.code, done.out, {path.name: path.read_bytes() for path in folder.glob("here/*")}))
    assert told[0][0] == 1
    assert told[0] == told[1]


@pytest.fixture
def shards(call: Call, tmp_path: Path) -> list[str]:
    """Sweep a few scenarios in two shards; return their documents."""
    names = []
    for index in ("1", "2"):
        names.append(str(tmp_path / f"{index}.json"))
        done = call("sweep", *FEW, "--shard", f"{index}/2", "--json")
        assert done.code == 0
        Path(names[-1]).write_text(done.out)
    return names


def test_shards_of_a_sweep_are_the_whole_sweep(call: Call, shards: list[str], tmp_path: Path) -> None:
    """The same scenarios and counts; the last line says that nothing is missing."""
    whole = json.loads(call("sweep", *FEW, "--json").out)
    done = call("merge", *reversed(shards), "-o", str(tmp_path / "all.json"))
    assert done.code == 0
    wanted = (
        f"PASSED 2 of 2 shards, {len(whole['scenarios'])} scenarios, tried {whole['tried']} of {whole['total']} places"
    )
    assert done.out == wanted + "\n"
    merged = json.loads((tmp_path / "all.json").read_text())
    for one in (whole, merged):
        one["scenarios"].sort(key=lambda scenario: scenario["id"])
    assert merged == whole


def test_places_that_cannot_be_played_are_counted_apart(call: Call, tmp_path: Path) -> None:
    """They are neither tried nor left out by a sample; the line, the document and merged shards count alike."""
    ids = ("threads/handoff-in-one-stream", "tools/metadata")
    with in_thread(RawServer(Narrow())) as server:
        sample = ("sweep", *ids, "--server", server.url, "--budget", "12")
        told, document = call(*sample), json.loads(call(*sample, "--json").out)
        shards = [tmp_path / "1.json", tmp_path / "2.json"]
        for index, shard in enumerate(shards, 1):
            found = call("sweep", *ids, "--server", server.url, "--shard", f"{index}/2", "--json")
            shard.write_text(found.out)
    total, tried, refused = (document[name] for name in ("total", "tried", "refused"))
    assert tried + refused == 12
    counts = (
        f"tried {tried} of {total} places, a sample of seed 0; {total - 12} were not tried; {refused} cannot be played"
    )
    assert counts in told.out
    merged = call("merge", *map(str, shards), "-o", str(tmp_path / "all.json"))
    whole = json.loads((tmp_path / "all.json").read_text())
    assert (whole["total"], whole["tried"]) == (total, total - whole["refused"])
    assert f"tried {whole['tried']} of {total} places; {whole['refused']} cannot be played\n" in merged.out


def test_a_gap_between_the_shards_of_a_sweep_is_refused(call: Call, shards: list[str], tmp_path: Path) -> None:
    """A missing shard, one of another sweep, one beside the report of a run, and one that lost a scenario."""
    assert "shard 2/2 is missing" in call("merge", shards[0]).err
    other = tmp_path / "other.json"
    other.write_text(call("sweep", *FEW, "--shard", "2/2", "--json", "--cuts", "bytes", "--budget", "9").out)
    assert "not shards of one run: cuts is bytes and events" in call("merge", shards[0], str(other)).err
    report = tmp_path / "report.json"
    call("run", "basics", "--shard", "2/2", "--report", f"json:{report}")
    assert f"{report} is not the report of a sweep" in call("merge", shards[0], str(report)).err
    less = json.loads(Path(shards[1]).read_text())
    del less["scenarios"][0]
    other.write_text(json.dumps(less))
    done = call("merge", shards[0], str(other))
    assert (done.code, "was a file cut off or changed?" in done.err) == (2, True)


def test_failures_of_shards_fail_the_whole(call: Call, tmp_path: Path) -> None:
    """With their causes and the commands that play them."""
    names = []
    for index in ("1", "2"):
        names.append(str(tmp_path / f"{index}.json"))
        failing = ("--client", "python:tests.explore.defects:reordered_returns", "--save", str(tmp_path / "here"))
        Path(names[-1]).write_text(call("sweep", *FEW, "--shard", f"{index}/2", "--json", *failing).out)
    done = call("merge", *names)
    assert done.code == 1
    assert "identity-differs" in done.out
    assert "  play it   tpharness run --scenarios " in done.out
    assert done.out.splitlines()[-1].startswith("FAILED 2 of 2 shards, ")


def test_a_reason_of_ones_own_is_said_to_be_one(call: Call) -> None:
    """It is allowed (R27), and could be a mistake."""
    done = call("sweep", "--scenarios", "mine", "--reasons", "moonlight,timeout")
    assert done.err.count("is a word of your own") == 1
    assert "moonlight is a word of your own, none of user_cancelled, " in done.err
