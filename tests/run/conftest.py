"""Lets the tests of the runner import what they share by its full name, however pytest was started."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
