"""What `tpharness record ag-ui+http://…` posts: what a page on AG-UI's own client posts, and to which address."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from tpharness.apps.ag_ui.options import PREFIX, PROMPT, PostOptions, address_of
from tpharness.apps.ag_ui.page import ChatPage

__all__ = ["PREFIX", "page_address", "page_input"]


def page_address(source: str) -> tuple[str, Mapping[str, str]]:
    """Return the address in `ag-ui+http://…`, and the header for its token. UsageError for another text."""
    return address_of(source, os.environ)


def page_input(url: str, prompts: Sequence[str]) -> Any:
    """Return the input that a page posts whose user has written these prompts, `Hello` without any."""
    page = ChatPage(PostOptions(url=url, owned=urlsplit(url).hostname))
    for prompt in prompts or (PROMPT,):
        page.say(prompt)
    return page.post()
