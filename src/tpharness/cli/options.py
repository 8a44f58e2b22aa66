"""Commands are functions with types: what the command line gives is what mypy has checked.

In: a function whose parameters are `Annotated[TYPE, Argument(…)]` or `Annotated[TYPE, Option(…)]`, with a default where
one may be left out. Out: the click command. TYPE is `str`, `int`, `float`, `bool`, `Path`, an Enum or a Literal;
`TYPE | None`; or `list[TYPE]` for what may be given again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource
from click.exceptions import Exit
from click.shell_completion import CompletionItem

from tpharness.cli.help import ReadableCommand, option_metavar

__all__ = ["Argument", "Exit", "FollowLinksOption", "Option", "given_options", "make_command"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """What is given by its position."""

    help: str
    metavar: str | None = None


class Option:
    """What is given by name: `--parameter-name`, or the names that are given here.

    `metavar` is what the help shows of its value; `min` and `max` are bounds of a number, which are allowed themselves;
    `envvar` names the variable of the environment that says it where the command line does not.
    """

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002  # as click says
        metavar: str | None = None,
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
        envvar: str | None = None,
        hidden: bool = False,
        show_default: bool = True,
    ) -> None:
        self.names = names
        self.metavar = metavar
        self.bounds = {"min": min, "max": max}
        self.options = {"help": help, "envvar": envvar, "hidden": hidden, "show_default": show_default}


class _EnumValue(click.Choice[str]):
    """The members of an Enum by their values."""

    def __init__(self, members: type[Enum]) -> None:
        super().__init__([str(member.value) for member in members])
        self.members = members

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.members(super().convert(value, param, ctx))


class _Integer(click.IntRange):
    """An integer with bounds, which a message calls so: click's would say "'x' is not a valid integer range"."""

    name = "integer"


class _Number(click.FloatRange):
    """A number with bounds."""

    name = "float"


FollowLinksOption = Annotated[
    bool, Option("--follow-links", help="Read what links in these folders lead to outside of them, too.")
]


def make_command(name: str, function: Callable[..., None]) -> click.Command:
    """Return the command that calls a function."""
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    params = [_param(one, hints[one.name]) for one in parameters]
    repeated = [one.name for one in params if one.multiple or one.nargs == -1]

    @wraps(function)
    def call(**given: Any) -> None:
        for one in repeated:  # what is not given is left to the function's default
            if given[one]:
                given[one] = list(given[one])
            else:
                del given[one]
        function(**given)

    return ReadableCommand(name, callback=call, params=params, help=inspect.getdoc(function))


def given_options(*, but: Collection[str]) -> list[str]:
    """Return the options of the running command as they were given, for one that is suggested; `but` are left out.

    `but` are names of parameters. An option whose value is an Enum has to be among them.
    """
    context = click.get_current_context()
    words = []
    for one in context.command.params:
        name = str(one.name)
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if isinstance(one, click.Option) and given and name not in but:
            value = context.params[name]
            values = value if one.multiple else [value]
            words += [one.opts[0]] if one.is_flag else [word for item in values for word in (one.opts[0], str(item))]
    return words


def _param(one: inspect.Parameter, hint: Any) -> click.Parameter:
    annotated, declared = get_args(hint)[:2]
    kinds = get_args(annotated) if get_origin(annotated) in (Union, UnionType) else (annotated,)
    (kind,) = [kind for kind in kinds if kind is not type(None)]
    repeated = get_origin(kind) is list
    kind = get_args(kind)[0] if repeated else kind
    facts: dict[str, Any] = {"required": one.default is inspect.Parameter.empty}
    if not facts["required"]:
        facts["default"] = one.default.value if isinstance(one.default, Enum) else one.default
    if isinstance(declared, Argument):
        facts |= {"nargs": -1} if repeated else {}
        shown = "required" if facts["required"] else f"default: {one.default}" if one.default else ""
        text = f"{declared.help}  [{shown}]" if shown else declared.help
        given = _type(kind, {})
        return click.Argument(
            [one.name], type=given, metavar=declared.metavar, help=text, shell_complete=_completed(given), **facts
        )
    names = declared.names or (f"--{one.name.replace('_', '-')}",)
    facts |= {**declared.options, "show_default": declared.options["show_default"] and one.default != ""}
    if kind is bool:
        return click.Option([one.name, *names], is_flag=True, **facts)
    type_ = _type(kind, declared.bounds)
    metavar = declared.metavar or option_metavar(names, type_)
    facts |= {"multiple": repeated, "show_envvar": True, "shell_complete": _completed(type_)}
    return click.Option([one.name, *names], type=type_, metavar=metavar, **facts)


def _completed(type_: click.ParamType[Any]) -> Callable[..., list[CompletionItem]] | None:
    """Return what completes a value; None where the type itself does, as a choice and a path do."""
    return _complete_value if type_ is click.STRING else None


def _complete_value(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from tpharness.cli.completed_values import complete_value  # noqa: PLC0415

    return complete_value(ctx, param, incomplete)


def _type(kind: Any, bounds: dict[str, Any]) -> click.ParamType[Any]:
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if issubclass(kind, Enum):
        return _EnumValue(kind)
    bounded = any(bound is not None for bound in bounds.values())
    types: dict[Any, Callable[[], click.ParamType[Any]]] = {
        str: lambda: click.STRING,
        int: lambda: _Integer(**bounds) if bounded else click.INT,
        float: lambda: _Number(**bounds) if bounded else click.FLOAT,
        Path: lambda: click.Path(path_type=Path),
    }
    return types[kind]()
