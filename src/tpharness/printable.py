"""What other people wrote, made fit to be shown: on a terminal, in the log of a CI server, in a file that is shared."""

from __future__ import annotations

import re

__all__ = ["without_credentials"]

_CREDENTIALS = re.compile(r"\b([a-z][a-z0-9+.-]*:/+)[^\s/?#\"'<>]*@", re.IGNORECASE)


def without_credentials(text: str) -> str:
    """Return a text with the name, password or token before the `@` of its URLs left out.

    Everything that names a target goes through here before it is written: a report, a saved failure or a recording is
    shown to others, and a command that is printed finds the token in TPHARNESS_TOKEN.
    """
    return _CREDENTIALS.sub(r"\1", text)
