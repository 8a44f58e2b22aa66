"""Cases that an application is put into: pure data, played by `tpharness.apps.play`."""

from tpharness.apps.cases.basic import basic_cases
from tpharness.apps.cases.case import AppCase, Cut, CutBy, Need, Tool, Turn

__all__ = ["AppCase", "Cut", "CutBy", "Need", "Tool", "Turn", "basic_cases"]
