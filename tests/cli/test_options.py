"""A function with types becomes a command: what it is called with is of these types."""

from __future__ import annotations

import inspect
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from click.testing import CliRunner, Result

from tpharness.cli.options import Argument, Exit, Option, make_command

GIVEN: list[dict[str, Any]] = []


class Size(Enum):
    """An Enum whose values are not its names."""

    SMALL = "s"
    LARGE = "l"


def everything(
    first: Annotated[str, Argument(help="The first.")],
    rest: Annotated[list[Path] | None, Argument(help="The others.")] = None,
    number: Annotated[int, Option(min=1, max=3, help="A number.")] = 2,
    whole: Annotated[int, Option(help="Another.")] = 0,
    seconds: Annotated[float | None, Option(min=0, help="A time.")] = None,
    size: Annotated[Size, Option(envvar="OPTIONS_SIZE", help="A size.")] = Size.SMALL,
    side: Annotated[Literal["left", "right"], Option(help="A side.")] = "left",
    again: Annotated[list[str] | None, Option("-a", "--again", metavar="WORD", help="Words.")] = None,
    quiet: Annotated[bool, Option("--quiet", help="Say nothing.")] = False,
    quilt: Annotated[str, Option(hidden=True, help="For ourselves.")] = "",
    empty: Annotated[str, Option(help="Nothing.")] = "",
    no_such_name: Annotated[Path, Option(help="A path.")] = Path("here"),
) -> None:
    """Take one of everything.

    And say so.
    """
    GIVEN.append(locals())
    raise Exit(3)


def call(*words: str, **env: str) -> Result:
    """Call the command with these words."""
    GIVEN.clear()
    return CliRunner().invoke(make_command("everything", everything), words, env=env)


def test_what_is_not_given_is_the_default_of_the_function() -> None:
    """Lists included, whose default is None."""
    assert call("one").exit_code == 3
    named = inspect.signature(everything).parameters.values()
    defaults = {one.name: one.default for one in named if one.name != "first"}
    assert [{"first": "one", **defaults}] == GIVEN
    assert GIVEN[0]["again"] is None


def test_what_is_given_has_the_type_of_the_parameter() -> None:
    """Members of an Enum by their values, paths as paths, what is given again as a list."""
    words = "one a b --number 3 --seconds 1.5 --size l --side right -a x --again y --quiet --no-such-name there"
    assert call(*words.split()).exit_code == 3
    paths = [Path("a"), Path("b")]
    (given,) = GIVEN
    assert (given["rest"], given["number"], given["seconds"]) == (paths, 3, 1.5)
    assert (given["size"], given["side"], given["again"]) == (Size.LARGE, "right", ["x", "y"])
    assert (given["quiet"], given["no_such_name"]) == (True, Path("there"))


def test_the_environment_says_what_the_command_line_does_not() -> None:
    """And the command line wins."""
    for words, size in (([], Size.LARGE), (["--size", "s"], Size.SMALL)):
        call("one", *words, OPTIONS_SIZE="l")
        assert [given["size"] for given in GIVEN] == [size]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Missing argument 'FIRST'."),
        (["x", "--number", "4"], "4 is not in the range 1<=x<=3."),
        (["x", "--number", "two"], "'two' is not a valid integer."),
        (["x", "--seconds", "soon"], "'soon' is not a valid float."),
        (["x", "--size", "SMALL"], "'SMALL' is not one of 's', 'l'."),
        (["x", "--side", "up"], "'up' is not one of 'left', 'right'."),
        (["x", "--quite"], "No such option '--quite'. (Did you mean one of: '--quiet', '--size'?)"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(words: list[str], said: str) -> None:
    """With the exit code of wrong usage, and the function is not called."""
    result = call(*words)
    assert (result.exit_code, GIVEN) == (2, [])
    assert said in result.output


def test_the_help_names_what_is_taken() -> None:
    """Defaults, bounds and the variable; an empty default is not shown."""
    lines = [" ".join(line.split()) for line in call("--help").output.splitlines()]
    assert lines[:5] == [
        "Usage: everything [OPTIONS] FIRST [REST]...",
        "",
        "Take one of everything.",
        "",
        "And say so.",
    ]
    for line in (
        "FIRST The first. [required]",
        "[REST]... The others.",
        "--number N A number. [default: 2; 1<=x<=3]",
        "--whole N Another. [default: 0]",
        "--seconds SECONDS A time. [x>=0]",
        "--size s|l A size. [env var: OPTIONS_SIZE; default: s]",
        "--side left|right A side. [default: left]",
        "-a, --again WORD Words.",
        "--quiet Say nothing.",
        "--empty EMPTY Nothing.",
        "--no-such-name FILE A path. [default: here]",
    ):
        assert line in lines
