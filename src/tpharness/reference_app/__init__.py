"""The reference server and client over HTTP: the control contract on Starlette, for `tpharness serve`."""

from tpharness.reference_app.app import ReferenceApp, capabilities_of
from tpharness.reference_app.server import run_server
from tpharness.reference_app.settings import Settings

__all__ = ["ReferenceApp", "Settings", "capabilities_of", "run_server"]
