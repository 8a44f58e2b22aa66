"""Write the table of AG-UI's rules in docs/AG_UI.md from conformance/statements/ag-ui-1.0.yaml.

python scripts/ag_ui_page.py            # writes it
python scripts/ag_ui_page.py --check    # exit code 1 where the page has another one
"""

from __future__ import annotations

import sys
from pathlib import Path

from tpharness.clauses import WireRule, load_wire_rules

PAGE = Path(__file__).parent.parent / "docs" / "AG_UI.md"
BEGIN, END = "<!-- rules -->\n", "<!-- /rules -->"
BINDS = {"producer": "server", "consumer": "client", "both": "both", "none": "–"}
JUDGED = {"wire": "stream", "input": "stream and input", "posts": "posts"}
VERDICT = {"wire": "wire", "input": "wire and input", "model": "wire and model", "none": "–"}


def row_of(rule: WireRule) -> str:
    """Return a rule as a row: number, whom it binds, level, text, class of verdict, judged by, found as."""
    text = rule.text.replace("|", "\\|")
    level = "–" if rule.level == "none" else rule.level
    found = ", ".join(f"`{code}`" for code in rule.findings) or "–"
    cells = (rule.id[5:], BINDS[rule.binds], level, text, VERDICT[rule.verdict], JUDGED.get(rule.judged, "–"), found)
    return f"| {' | '.join(cells)} |"


def page() -> str:
    """Return the page with the table as it has to be."""
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    heads = "| rule | binds | level | what it says | class of verdict | judged by | found as |"
    table = [heads, "|---|---|---|---|---|---|---|"]
    table += [row_of(rule) for rule in load_wire_rules().values()]
    return "\n".join((head + BEGIN + table[0], *table[1:], END + tail))


def main() -> None:
    """Write the page, or compare it."""
    wanted = page()
    if "--check" in sys.argv:
        sys.exit(0 if wanted == PAGE.read_text("utf-8") else 1)
    PAGE.write_text(wanted, "utf-8")


if __name__ == "__main__":
    main()
