"""The base of the histories whose document is a list in JSON, such as the messages or items of a session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["ListHistory"]


class ListHistory:
    """A history whose document is a list: its codec, and what a page shows that shows each entry."""

    __slots__ = ()

    def dumps(self, document: Any) -> str:
        """Return the list as JSON."""
        return json.dumps(document, ensure_ascii=False)

    def loads(self, text: str) -> Any:
        """Return the list of a JSON text."""
        return json.loads(text)

    def replay(self, document: Any) -> list[Mapping[str, Any]]:
        """Return each entry, as a page shows it that reads the document."""
        return list(document)
