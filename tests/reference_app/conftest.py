"""The fixture of these tests; `peer` has what it gives."""

from __future__ import annotations

import pytest
from tests.reference_app.peer import Serve, serving


@pytest.fixture
def serve() -> Serve:
    """What serves for as long as a test needs it, to be used with `async with`."""
    return serving
