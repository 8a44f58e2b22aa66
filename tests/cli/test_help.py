"""The help of a command: names that people read, whole sentences, and examples that work as they are."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tpharness.cli.app import COMMANDS, app
from tpharness.cli.examples import EXAMPLES
from tpharness.errors import UsageError

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENTED = "\n".join(page.read_text("utf-8") for page in sorted(DOCS.glob("*.md")))


def shown(name: str) -> str:
    """Return the help of a command."""
    result = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    return result.output


def commands(name: str) -> list[str]:
    """Return the examples of a command without what they say about it."""
    return [re.split(r"\s{2,}", line.strip())[0] for line in EXAMPLES[name].strip().splitlines()]


def test_every_command_has_examples() -> None:
    """And there are no others."""
    assert set(EXAMPLES) == set(COMMANDS)


@pytest.mark.parametrize("name", ["app", "run"])
def test_json_of_a_command_with_reports_is_a_report(name: str) -> None:
    """Other commands have --json, so it is asked for here too."""
    result = CliRunner().invoke(app, [name, "--json"])
    assert (result.exit_code, "No such option '--json': --report json:- prints JSON." in result.output) == (2, True)


@pytest.mark.parametrize("name", COMMANDS)
def test_what_an_option_takes_is_a_word(name: str) -> None:
    """No type of Python; the examples stand as they are written."""
    text = shown(name)
    assert not re.search(r"<[a-z]", text.partition("Examples:")[0])
    for line in EXAMPLES[name].strip().splitlines():
        assert f"\n  {line.strip()}\n" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_are_documented_and_parse(name: str) -> None:
    """Each begins a line of a page in docs/, and has no option that the command does not know."""
    for line in commands(name):
        assert f"\n    {line}" in DOCUMENTED
        words = shlex.split(line.partition(">")[0].rpartition("| ")[2])
        assert words[:2] == ["tpharness", name]
        result = CliRunner().invoke(app, [name, *words[2:], "--help"])
        assert result.exit_code == 0
        options = {word for word in words[2:] if re.match(r"--?[a-z]", word)}
        assert all(re.search(rf"(^|[\s,]){option}[\s,]", result.output) for option in options), line


@pytest.mark.parametrize(
    ("line", "offered"),
    [("tpharness conv", "convert"), ("tpharness run --maxf", "--maxfail"), ("tpharness init --language n", "node")],
    ids=["command", "option", "value"],
)
def test_the_shell_completes(line: str, offered: str) -> None:
    """As the script of `--install-completion` asks for it."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_TPHARNESS_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from tpharness.cli import app; app(prog_name='tpharness')"],
        env={**os.environ, **words},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.split() == [f"plain,{offered}"], done.stderr


@pytest.mark.parametrize(
    ("shell", "file", "told", "line"),
    [
        ("bash", ".bash_completions/tpharness.sh", ".bashrc", "source '{file}'"),
        ("zsh", ".zfunc/_tpharness", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
        ("fish", ".config/fish/completions/tpharness.fish", "", ""),
    ],
)
def test_completion_is_installed_where_the_shell_reads_it(
    shell: str, file: str, told: str, line: str, tmp_path: Path
) -> None:
    """The script that is shown is the one that is written; a second time changes nothing, and nothing is lost."""
    env = {"HOME": str(tmp_path), "SHELL": f"/usr/bin/{shell}"}
    if told:
        (tmp_path / told).write_text("mine")  # without an end of its line
    for _ in range(2):
        installed = CliRunner().invoke(app, ["--install-completion"], env=env)
        assert installed.exit_code == 0, installed.output
        assert f"{shell} completion installed in {tmp_path / file}" in installed.output
        shown_again = CliRunner().invoke(app, ["--show-completion", shell])
        assert (tmp_path / file).read_text().strip() == shown_again.output.strip()
        assert f"_TPHARNESS_COMPLETE={shell}_complete" in shown_again.output
        assert not told or (tmp_path / told).read_text() == f"mine\n{line.format(file=tmp_path / file)}\n"


@pytest.mark.parametrize(
    ("words", "env", "said"),
    [
        (["--install-completion"], {"SHELL": ""}, "the current shell is not known"),
        (["--install-completion", "nu"], {}, "there is no completion for 'nu'"),
        (["--install-completion", "powershell"], {}, "only PowerShell knows where its profile is"),
    ],
)
def test_a_shell_that_cannot_be_served_is_told(words: list[str], env: dict[str, str], said: str) -> None:
    """With what to type."""
    with pytest.raises(UsageError, match=said) as refused:
        CliRunner().invoke(app, words, env=env, catch_exceptions=False)
    assert "tpharness --" in refused.value.hint
    assert "Register-ArgumentCompleter" in CliRunner().invoke(app, ["--show-completion", "powershell"]).output
