"""Write conformance/violations.json: what violates each clause and is found, for `tpharness list clauses`.

python scripts/violations.py         # after a new defect, document, vector, broken application, or stream with findings
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.violations import PATH, collect, text

if __name__ == "__main__":
    found = collect()
    PATH.write_text(text(found), "utf-8")
    sys.stdout.write(
        f"{PATH.name}: {len(found)} violations of {len({c for one in found for c in one.clauses})} clauses\n"
    )
