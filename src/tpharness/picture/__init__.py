"""Pictures: a case or a file as a timeline on one HTML page that needs no network.

In: scenarios, recordings, threads. Out: timelines, plain JSON values that hold what each side would have after a cut at
every place, and the page that shows them. Nothing here judges: what a page says of a verdict is given to it.
"""

from tpharness.picture.applications import application_sections, applications_of_trace
from tpharness.picture.both_wires import side_by_side_html, timelines_over
from tpharness.picture.files import case_of_file, is_scenario, timeline_of_file
from tpharness.picture.page import (
    MOST_BYTES,
    PageEntry,
    PicturePage,
    finding_html,
    render_page,
    shared_files,
    table_html,
    text_html,
)
from tpharness.picture.plain import plain_timeline
from tpharness.picture.timeline import place_number, place_of_ruling, timeline_of_case
from tpharness.picture.traces import entries_of_trace

__all__ = [
    "MOST_BYTES",
    "PageEntry",
    "PicturePage",
    "application_sections",
    "applications_of_trace",
    "case_of_file",
    "entries_of_trace",
    "finding_html",
    "is_scenario",
    "place_number",
    "place_of_ruling",
    "plain_timeline",
    "render_page",
    "shared_files",
    "side_by_side_html",
    "table_html",
    "text_html",
    "timeline_of_case",
    "timeline_of_file",
    "timelines_over",
]
