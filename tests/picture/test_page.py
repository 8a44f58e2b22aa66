"""A page allows its own script and style and nothing else; what others wrote is data, or escaped text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser

import pytest

from tpharness.picture import PageEntry, PicturePage, plain_timeline, render_page, timeline_of_file
from tpharness.picture.tables import json_bytes

HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>\u202egnp.exe\x1b[31m]]>\ud83d&amp;"


def hostile_page() -> str:
    """Return a page on which every text is hostile."""
    chunks = [
        {"type": "start", "messageId": HOSTILE},
        {"type": "text-start", "id": HOSTILE},
        {"type": "text-delta", "id": HOSTILE, "delta": HOSTILE},
        {"type": f"data-{HOSTILE}", "data": HOSTILE},
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()
    timeline = timeline_of_file(f"{HOSTILE}.sse", body + f": {HOSTILE}\n\n".encode("utf-8", "replace"))
    return render_page(
        PicturePage(
            title=HOSTILE,
            entries=[PageEntry(timeline=timeline, outcome=HOSTILE, note=HOSTILE), PageEntry(timeline=timeline)],
            plain=[plain_timeline(timeline)],
        )
    )


class Elements(HTMLParser):
    """The elements of a page, with their attributes and the text inside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inside = False
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), []))
        self.inside = True

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002  # as the parser calls it
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found[-1][2].append(data)

    def named(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        """Return the attributes and the text of each element of a kind."""
        return [(attrs, "".join(text)) for name, attrs, text in self.found if name == tag]


def test_timelines_of_a_large_page_are_packed_and_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the same JSON, hostile texts and half characters too."""
    plain = [
        text for attrs, text in Elements(hostile_page()).named("script") if str(attrs.get("id")).startswith("data-")
    ]
    monkeypatch.setattr("tpharness.picture.page._PLAIN_BYTES", 100)
    found = [
        (attrs, text)
        for attrs, text in Elements(hostile_page()).named("script")
        if str(attrs.get("id")).startswith("data-")
    ]
    assert len(found) == len(plain) == 2
    assert all("data-packed" in attrs for attrs, _ in found)
    assert all(re.fullmatch(r"[A-Za-z0-9+/=]+", text) for _, text in found)
    unpacked = [json.loads(zlib.decompress(base64.b64decode(text)).decode()) for _, text in found]
    assert unpacked == [json.loads(text) for text in plain]


def test_the_room_of_a_page_is_counted_in_bytes() -> None:
    """A character of Japanese has three, and the limit is one of the file."""
    text = "東京" * 1000
    assert json_bytes({"a": text}) == len('{"a":""}') + len(text.encode())


def test_hostile_text_makes_no_elements() -> None:
    """There are our scripts and no other, no image, and no attribute that acts."""
    page = Elements(hostile_page())
    assert [attrs.get("type") for attrs, _ in page.named("script")] == ["application/json"] * 3 + [None]
    assert not page.named("img")
    assert not [
        name for _, attrs, _ in page.found for name in attrs if name.startswith("on") or name in ("src", "style")
    ]
    text = hostile_page()
    assert "\u202e" not in text.partition('<script type="application/json"')[0]
    assert "\x1b" not in text


def test_the_policy_allows_the_style_and_the_script_of_the_page_only() -> None:
    """Their hashes are those of what stands in the page; nothing may be fetched."""
    page = Elements(hostile_page())
    ((policy, _),) = [(attrs, text) for attrs, text in page.named("meta") if "http-equiv" in attrs]
    allowed = dict(re.findall(r"(script|style)-src '(sha256-[^']+)'(?:;|$)", str(policy["content"])))
    ((_, style),) = page.named("style")
    script = page.named("script")[-1][1]
    for name, content in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert allowed[name] == f"sha256-{digest}"
    assert str(policy["content"]).startswith("default-src 'none';")


def test_the_values_on_the_page_are_what_was_given() -> None:
    """A reader of the JSON gets the hostile text back, character for character."""
    timeline = json.loads(Elements(hostile_page()).named("script")[0][1])
    delta = next(row["frame"] for row in timeline["rows"] if "text-delta" in row.get("frame", ""))
    assert json.loads(delta.removeprefix("data: "))["delta"] == HOSTILE


def test_a_reader_without_scripts_has_the_rows_as_a_table() -> None:
    """Every frame with its bytes; of a long stream the first 2,000, and it says how many are left out."""
    frame = b'data: {"type":"start"}\n\n'
    table = plain_timeline(timeline_of_file("long.sse", frame * 2100))
    assert table.count("<tr>") == 2001
    assert "102 more rows left out" in table
    assert "<td>24–48</td>" in table
