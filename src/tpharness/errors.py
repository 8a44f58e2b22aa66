"""What can go wrong on *our* side: the caller, the files, the environment.

A wrong document or a wrong peer is a `Finding` (see `findings`), collected and never raised. An exception here means
that tpharness could not do what it was asked::

    TpharnessError                 base; never raised itself
    ├── InputError                 a file or standard input that cannot be read or decoded at all   (exit code 2)
    ├── UsageError                 the question itself is wrong: unknown id, bad option, bad version (exit code 2)
    ├── ScenarioError              a scenario file that cannot be loaded; carries its findings       (exit code 2)
    ├── ThreadError                a thread that cannot be used as asked; carries its findings       (exit code 2)
    └── TargetError                a target broke its contract, or could not be reached
        └── ItemEndsWorkersError   one thing to play has ended every worker that played it

Every exception has a one-line message (`str(error)`) that names what and where, and a `hint` that says what to do. What
stands before the `@` of a URL is left out of the message: errors are logged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tpharness.printable import without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tpharness.findings import Finding

__all__ = [
    "InputError",
    "ItemEndsWorkersError",
    "ScenarioError",
    "TargetError",
    "ThreadError",
    "TpharnessError",
    "UsageError",
    "did_you_mean",
]


class TpharnessError(Exception):
    """Base of every exception that tpharness raises on purpose.

    `detail` is what the message ends with, and what differs from one time to another; `symptom` is the message without.
    `findings` is what is wrong with a document that cannot be used, where that is known.
    """

    findings: tuple[Finding, ...] = ()

    def __init__(self, message: str, *, hint: str = "", detail: str = "") -> None:
        super().__init__(without_credentials(f"{message}; {detail}" if detail else message))
        self.symptom = without_credentials(message)
        self.hint = hint
        if hint:  # a traceback, such as in somebody's own test, shows it too
            self.add_note(hint)

    @property
    def line(self) -> str:
        """What is wrong and what to do about it, in one line."""
        return f"{self}; {self.hint}" if self.hint else str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with all attributes, whatever the signature of the subclass's constructor."""
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(kind: type[TpharnessError], args: tuple[Any, ...], state: dict[str, Any]) -> TpharnessError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InputError(TpharnessError):
    """A file or standard input cannot be read, is too large, or is not text of the expected kind."""


class UsageError(TpharnessError):
    """The caller asked for something that does not exist or does not make sense."""


class ScenarioError(TpharnessError):
    """A scenario file cannot be loaded; `findings` says why, each with file, line and column."""

    def __init__(self, message: str, *, findings: tuple[Finding, ...], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.findings = findings


class ThreadError(TpharnessError):
    """A thread breaks rules that it has to keep for what was asked; `findings` says which, each with its place."""

    def __init__(self, message: str, *, findings: tuple[Finding, ...], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.findings = findings


class TargetError(TpharnessError):
    """A target could not be reached or did not keep its contract."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str, *, prefix: str = "") -> str:
    """Return the hint for an unknown name: the known one that is most like it, after `prefix`, else `otherwise`."""
    from difflib import get_close_matches  # noqa: PLC0415  # nothing needs it as long as names are right

    near = get_close_matches(name, known, n=1)
    return f"did you mean {prefix}{near[0]}?" if near else otherwise


class ItemEndsWorkersError(TargetError):
    """One item has ended every worker that played it. Workers that are started again can play the items after it."""
