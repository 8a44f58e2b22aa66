"""Cases that an application is put into: pure data, played by `tpharness.apps.play`."""

from tpharness.apps.cases.basic import basic_cases
from tpharness.apps.cases.case import AppCase, CaseTool, Cut, CutBy, Need, Turn

__all__ = ["AppCase", "CaseTool", "Cut", "CutBy", "Need", "Turn", "basic_cases"]
