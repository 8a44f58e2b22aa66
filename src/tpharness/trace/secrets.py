"""What must not be in a trace or a report: values of headers, tokens and what looks like one, wherever it stands.

A trace is handed on, and a report has the last lines that an application or a target has printed. Of headers only those
are shown that are known to say nothing about who sends them; of all others the name alone. The tokens of the targets
are known and are looked for in everything that is written, bytes of streams included, where as many `*` take their
place, so that offsets stay true.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tpharness.printable import without_credentials
from tpharness.trace.format import decode_line, encode_line

__all__ = ["LEFT_OUT", "Secrets", "secrets_of", "secrets_of_process", "shown_headers"]

LEFT_OUT = "(left out)"

_HARMLESS = frozenset(
    (
        *("accept", "accept-encoding", "accept-ranges", "age", "cache-control", "connection", "content-encoding"),
        *("content-language", "content-length", "content-type", "date", "expires", "keep-alive", "last-event-id"),
        *("retry-after", "server", "trailer", "transfer-encoding", "vary", "via", "x-accel-buffering", "x-powered-by"),
        *("x-content-type-options", "x-vercel-ai-ui-message-stream", "x-vercel-ai-data-stream"),
    )
)
_LIKE_SECRETS = re.compile(
    r"""(?ix)
    (\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:[a-z]+\s+)?) [^\s"',;]+
    | (\b(?:set-)?cookie["']?\s*[:=]\s*["']?) [^\r\n"']+
    | (\bbearer\s+) [\w.~+/=-]{6,}
    | ((?:\b|_)(?:x-)?(?:api[-_]?key|(?:access|auth|refresh|id|api)[-_]?token|secret(?:[-_]?key)?|password|passwd)
      ["']?\s*[:=]\s*["']?) [^\s"',;&]+
    | ()\b(?:sk|pk|ghp|gho|ghs|xox[abp])[-_][\w-]{16,}
    """
)
_NAMES_A_SECRET = re.compile(r"(?i)key|token|secret|password|credential|cookie")
_LONGEST = 4096
"""Bytes of a printed line that are looked at, which is more than anybody shows of one."""
_SHORTEST = 6
"""Characters of a token that is looked for: a shorter one stands everywhere by chance."""


def shown_headers(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return headers as a trace shows them: names in lower case, and the values of harmless ones."""
    return tuple((name.lower(), value if name.lower() in _HARMLESS else LEFT_OUT) for name, value in headers.items())


def secrets_of(headers: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """Return what is secret in headers that are sent, and in variables whose name says that they are."""
    sent = [value for name, value in headers.items() if name.lower() not in _HARMLESS]
    words = [value.rpartition(" ")[2] for value in sent]  # `Bearer TOKEN`
    return [*sent, *words, *(value for name, value in environment.items() if _NAMES_A_SECRET.search(name))]


def secrets_of_process(environment: Mapping[str, str]) -> Secrets:
    """Return what a process must not show of its environment in the lines of its output that reports have."""
    return Secrets(secrets_of({}, environment))


class Secrets:
    """The secrets of a run, and what leaves them out."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = sorted({one for one in known if len(one) >= _SHORTEST}, key=len, reverse=True)

    def text(self, text: str) -> str:
        """Return a free text, such as a line of standard error, without what is or looks like a secret."""
        text = _LIKE_SECRETS.sub(lambda found: next((g for g in found.groups() if g), "") + LEFT_OUT, text)
        return self._without_known(without_credentials(text))

    def line(self, line: bytes, most: int) -> str:
        """Return the first characters of a line that somebody's program has printed, with at most so many of them."""
        return self.text(line[:_LONGEST].decode("utf-8", "replace"))[:most]

    def value(self, value: Any) -> Any:
        """Return a JSON value without the known secrets in its texts. Names of fields stay."""
        if not self._known:
            return value
        if isinstance(value, str):
            return self._without_known(value)
        if isinstance(value, Mapping):
            return {key: self.value(one) for key, one in value.items()}
        return [self.value(one) for one in value] if isinstance(value, list | tuple) else value

    def lines(self, lines: bytes) -> bytes:
        """Return JSON lines without the known secrets in their texts."""
        if not self._known:
            return lines
        return b"".join(encode_line(self.value(decode_line(line))) for line in lines.splitlines())

    def wire(self, data: bytes) -> bytes:
        """Return bytes of a stream with as many `*` where the known secrets stand."""
        for one in self._known:
            word = one.encode("utf-8", "surrogatepass")
            data = data.replace(word, b"*" * len(word))
        return data

    def _without_known(self, text: str) -> str:
        for one in self._known:
            text = text.replace(one, LEFT_OUT)
        return text
