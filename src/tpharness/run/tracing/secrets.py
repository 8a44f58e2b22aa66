"""Which secrets the targets of a run have, so that nothing that is written shows them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import unquote

from tpharness.targets.endpoint import TOKEN_VARIABLE
from tpharness.trace.secrets import Secrets

__all__ = ["find_secrets"]


def find_secrets(specs: Iterable[str], others: Iterable[str] = ()) -> Secrets:
    """Return the tokens of targets that are named like this, that of TPHARNESS_TOKEN, and others that are known."""
    known = [os.environ.get(TOKEN_VARIABLE, ""), *others]
    for spec in specs:
        for login in re.findall(r"://([^/@\s]+)@", spec):
            known += [login, *login.split(":"), unquote(login)]
    return Secrets(known)
