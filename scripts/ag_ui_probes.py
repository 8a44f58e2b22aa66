"""What AG-UI's own client makes of scripted streams: plays them, writes conformance/probes/ag-ui-client-1.0.0.json.

python scripts/ag_ui_probes.py           # play, then write
python scripts/ag_ui_probes.py --check   # play; fails where the client does something else than the file says

The scenes are those of `tests/apps/client/ag_ui_scenes.py`; the client comes from npm by the lock file beside them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.apps.client.ag_ui_real import TABLE, play_with_the_real_client  # noqa: E402
from tests.apps.client.ag_ui_scenes import SCENES  # noqa: E402


def main() -> int:
    """Play and write, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    played = play_with_the_real_client(SCENES)
    if check:
        recorded = json.loads(TABLE.read_text("utf-8"))
        differing = [name for name in {*played, *recorded} if played.get(name) != recorded.get(name)]
        print("\n".join(sorted(differing)) or f"{len(played)} scenes, as recorded")
        return 1 if differing else 0
    lines = [f"{json.dumps(name)}: {json.dumps(runs, ensure_ascii=False)}" for name, runs in played.items()]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"wrote {len(played)} scenes to {TABLE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
