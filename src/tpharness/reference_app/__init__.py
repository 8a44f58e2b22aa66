"""The reference server and client over HTTP: the control contract on Starlette, for `tpharness serve`."""

from tpharness.reference_app.app import ReferenceApp, declared_capabilities
from tpharness.reference_app.server import run_server
from tpharness.reference_app.settings import Settings

__all__ = ["ReferenceApp", "Settings", "declared_capabilities", "run_server"]
