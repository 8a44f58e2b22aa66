"""The site: built once, of few scenarios; its links lead somewhere, and what others wrote is only text in it."""

from __future__ import annotations

import functools
import html
import json
import re
import shlex
import threading
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import pytest
from tests.picture.looking import Look, look_at
from tests.picture.test_application_pages import CASE
from tests.picture.test_application_pages import write as write_app_trace
from tests.scenarios import load_builtin

from tpharness.apps.cases.basic import basic_cases
from tpharness.apps.cases.case import CaseTool
from tpharness.clauses import load_clauses, load_rulings
from tpharness.cli import app as program
from tpharness.errors import InputError, UsageError
from tpharness.resources import conformance_dir, docs_dir
from tpharness.site import Documents, build_site, find_broken_links, read_documents
from tpharness.site.applications import application_files
from tpharness.site.pages import site_pages
from tpharness.suite_yaml import load_suite_yaml
from tpharness.trace.format import encode_line
from tpharness.trace.write import CaseFiles, TraceWriter

SCENARIOS = ("basics/tool-call-and-answer", "interruptions/mid-text", "cycles/three-steps")
HOSTILE = (
    "<script>alert(1)</script> [x](javascript:alert(2)) `| \x1b[31m\n\n<b onclick=a>b</b> { onmouseover=alert(3) }"
)


def trend(peer: str = "peer:x", release: str = "2.0.0") -> dict[str, Any]:
    """Return a trend in which a departure went, of a target with an evil name."""
    group = {"cause": HOSTILE, "codes": ["a"], "clauses": [], "cases": [SCENARIOS[1], "gone/away"], "known": {}}
    one = {"target": HOSTILE, "counts": {"passed": 3}, "departing": 2, "departures": [group], "error": ""}
    return {
        "format": "tpharness-trend/1",
        "tpharness": "0",
        "peer": peer,
        "role": "client",
        "other": "reference",
        "ids": [],
        "releases": [
            {**one, "release": "1.0.0"},
            {**one, "release": release, "departing": 0, "departures": []},
        ],
        "changes": [{"from": "1.0.0", "to": release, "came": [], "went": [group], "otherwise": 0}],
    }


def evil_report() -> dict[str, Any]:
    """Return what the site reads of a report, of targets with evil names."""
    return {"server": HOSTILE, "client": HOSTILE, "counts": {HOSTILE: 1}, "passed": True}


def evil_certificate() -> dict[str, Any]:
    """Return what the site reads of a certificate, of targets with evil names."""
    claim = {"profile": HOSTILE, "status": "failed", "why": HOSTILE, "cases": {"judged": 1, "passed": 0}}
    playing = {"server": {"name": HOSTILE}, "client": {"name": HOSTILE}}
    requirements = {"version": "0.0.4", "set": HOSTILE, "clauses": [], "passed": [], "failed": [], "not_judged": []}
    return {"playings": [playing], "claims": [claim], "time": HOSTILE, "requirements": requirements}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a site with a trend and the pictures of a few scenarios."""
    folder = tmp_path_factory.mktemp("site") / "public"
    documents = Documents(
        trends=[trend(), trend(HOSTILE, HOSTILE)], reports=[evil_report()], certificates=[evil_certificate()]
    )
    documents.traces.append(write_app_trace(folder.parent / "app.zip", HOSTILE))
    build_site(folder, documents, [load_builtin(name) for name in SCENARIOS])
    return folder


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """Between pages, to places on them, and into the pictures."""
    assert list(find_broken_links(site)) == []


@pytest.mark.browser
@pytest.mark.parametrize("page", ["index.html", "rulings/R20.html"])
def test_who_opens_it_from_the_disk_finds_by_typing(site: Path, page: str) -> None:
    """A browser starts no worker there, and no page may load one from elsewhere."""
    seen = _type_into_the_search(site / page)
    assert "R20" in seen.results[-1]
    assert [address for address in seen.requests if not address.startswith("file:")] == []
    assert seen.errors == []


@pytest.mark.browser
def test_who_opens_it_from_a_server_searches_the_same_index(site: Path) -> None:
    """It is written once: the generator writes another one for servers, with the same content."""
    served = functools.partial(SilentHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        seen = _type_into_the_search(f"http://127.0.0.1:{server.server_port}/rulings/R20.html")
        server.shutdown()
    assert "R20" in seen.results[-1]
    assert seen.errors == []
    assert not (site / "search.json").exists()


class SilentHandler(SimpleHTTPRequestHandler):
    """A server of files that writes no log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write nothing."""


def _type_into_the_search(page: Path | str) -> Look:
    box = "document.activeElement.shadowRoot"
    return look_at(
        page,
        ["click", ".md-search__button"],
        [
            "eval",
            f"new Promise((done) => {{ const wait = () => {box} ? done() : requestAnimationFrame(wait); wait(); }})",
        ],
        ["eval", _TYPED.replace("BOX", box).replace("WORDS", "unfinished response")],
        ["eval", _FOUND.replace("BOX", box)],
    )


_TYPED = """(() => {
  const input = BOX.querySelector("input");
  input.value = "WORDS";
  input.dispatchEvent(new Event("input", { bubbles: true }));
})()"""
_FOUND = """new Promise((done) => {
  const wait = () => {
    const found = BOX.querySelector("[role=listbox]").textContent;
    if (found) done(found);
    else requestAnimationFrame(wait);
  };
  wait();
})"""


def test_the_generators_blanks_are_left_out_and_code_keeps_its_own(site: Path) -> None:
    """A quarter of its pages was white space, which nobody sees but in code."""
    page = (site / "docs" / "PYTHON.html").read_text("utf-8")
    pieces = re.split(r"(<pre\b.*?</pre>)", page, flags=re.DOTALL)
    assert "\n    the second turn (agent, a)" in re.sub("<[^>]*>", "", "".join(pieces[1::2]))
    assert not any(re.search(r"\n\s", piece) for piece in pieces[::2])


def test_every_clause_and_ruling_has_its_place(site: Path) -> None:
    """With the scenarios that exercise it, and for a ruling the picture."""
    for clause in load_clauses():
        assert f'id="{clause}"' in (site / "clauses" / f"{clause.partition('.')[0]}.html").read_text("utf-8")
    for ruling in load_rulings():
        assert (site / "rulings" / f"{ruling}.html").is_file()
    page = (site / "rulings" / "R20.html").read_text("utf-8")
    assert '<iframe class="picture" src="../views/R20.html#view/' in page
    assert "interruptions/mid-text" in (site / "views" / "R20.html").read_text("utf-8")


@pytest.mark.browser
def test_the_picture_of_a_ruling_opens_where_it_drops_something(site: Path) -> None:
    """R20: the response that had not finished is in sight as not kept, without a step of the reader."""
    found = re.search(
        r'<iframe class="picture" src="\.\./(views/R20\.html)(#[^"]+)"', (site / "rulings/R20.html").read_text()
    )
    assert found is not None
    seen = look_at(site / found[1], ["eval", f"location.hash = {found[2]!r}"], ["text", "#threads"], ["text", "#panel"])
    assert "not kept" in seen.results[1]
    assert "R20" in seen.results[1] + seen.results[2]
    assert seen.errors == []


def test_a_pair_is_a_share_that_leads_to_what_differs(site: Path) -> None:
    """Of the judged cases, never rounded up to all; what has to be known of the two is one click away."""
    page = (site / "matrix.html").read_text("utf-8")
    pairs = json.loads((conformance_dir() / "interop.json").read_text("utf-8"))["pairs"]
    for one in pairs:
        passed, known = one["counts"].get("passed", 0), one["counts"].get("expected", 0)
        anchor = re.sub("[^a-z0-9]+", "-", f"pair {one['server']} {one['client']}")
        share = f'href="#{anchor}">{passed * 100 // (passed + known)} %</a> of {passed + known:,}'
        assert share in page
        behind = page.partition(f'<div id="{anchor}">')[2].partition("</div>")[0]
        assert behind.count("<li>") == max(1, len(one["departures"]))
        assert all(f"<li>{count} × " in behind for count in one["departures"].values())


def test_a_cell_of_an_application_leads_to_both_of_its_requests_to_the_model(site: Path) -> None:
    """What was found in each of the basic cases; the case of the trace stands open, with what the model was sent."""
    page = (site / "applications.html").read_text("utf-8")
    played = json.loads((conformance_dir() / "apps.json").read_text("utf-8"))
    for app, one in played.items():
        row = page.partition(f"<td>{app}</td>")[2].partition("</tr>")[0]
        found = [one["cases"][case.id] for case in basic_cases(CaseTool(name="tool"), "call_0")]
        assert row.count("<td>") == len(found)
        assert all(code in row for summary in found for code in summary.get("must", ()))
        assert row.count(">right<") == sum(summary == {"outcome": "passed"} for summary in found)
    link = f"views/app-chat.html#case-{CASE.replace('/', '-')}"
    assert f'href="{link}"' in page.partition("<td>chat</td>")[2].partition("</tr>")[0]
    picture = (site / "views" / "app-chat.html").read_text("utf-8")
    case = picture.partition(f'<div id="{link.partition("#")[2]}">')[2]
    assert case.partition("<summary>")[0].endswith('<details class="result" open>')
    assert case.count("<li><details open><summary>request 1 to the model") == 2
    assert "the user saw of it" in case
    assert "<script>alert" not in picture


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_the_table_of_applications_is_read_on_a_phone(site: Path, width: int, dark: bool) -> None:
    """Nothing is wider than the screen, and axe finds nothing, on the table and on a picture."""
    wide = ["eval", "document.documentElement.scrollWidth <= innerWidth"]
    for name in ("applications.html", "views/app-chat.html"):
        seen = look_at(site / name, ["axe"], wide, width=width, dark=dark)
        assert seen.results == [[], True]


def test_a_trace_without_an_application_is_refused(tmp_path: Path) -> None:
    """It would add nothing."""
    writer = TraceWriter(tmp_path / "t.zip", traced="failed")
    player = {"name": "a", "reference": False}
    case = {"kind": "case", "id": SCENARIOS[0], "description": "", "clauses": [], "outcome": "failed", "versions": []}
    entry = {"case": SCENARIOS[0], "server": "a", "client": "a", "outcome": "failed", "codes": []}
    writer.add(entry, CaseFiles(body=encode_line({**case, "server": player, "client": player})))
    writer.close()
    with pytest.raises(InputError, match=r"t\.zip has no case of an application"):
        application_files(read_documents([tmp_path / "t.zip"]).traces)


def test_every_case_of_a_known_difference_is_on_the_page(site: Path) -> None:
    """Two of them in sight, the others in a fold that says how many they are: nobody has to look for a file."""
    page = (site / "matrix.html").read_text("utf-8")
    (file,) = (conformance_dir() / "baselines" / "peers").glob("server-langgraph.yaml")
    for departure in load_suite_yaml(file):
        cases = [case for some in departure["cases"].values() for case in some]
        assert all(html.escape(case) in page for case in cases)
        assert len(cases) < 3 or f"<summary>and {len(cases) - 2} more</summary>" in page


def test_what_others_wrote_is_only_text(site: Path) -> None:
    """A target may call itself what it likes; a case that the site does not show is not a link."""
    page = (site / "trends.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert 'href="javascript:' not in page
    assert "\x1b" not in page
    assert f'<a href="views/interruptions.html#view/{SCENARIOS[1]}">' in page
    assert "gone/away" in page
    assert "gone/away</a>" not in page


@pytest.mark.parametrize("name", ["trends", "matrix", "certificates"])
def test_evil_names_become_no_markup(site: Path, name: str) -> None:
    """Nor links or attributes, which Markdown makes of brackets and braces in headings."""
    text = (site / f"{name}.html").read_text("utf-8")
    assert "alert(3)" in html.unescape(text)
    found = _Tags()
    found.feed(text)
    assert [one for one in found.attributes if one[1].startswith("on") or str(one[2]).startswith("javascript:")] == []
    assert [
        one for one in found.attributes if "alert(" in str(one[2]) and one[1] not in ("aria-label", "content", "title")
    ] == []


class _Tags(HTMLParser):
    """Every attribute on a page, as element, name and value."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep its attributes."""
        self.attributes += [(tag, name, value) for name, value in attrs]


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ('<a href="nope.html">x</a>', "which is not there"),
        ('<a href="../../etc/passwd">x</a>', "which is not there"),
        ('<a href="b.html#c">x</a>', "the page has no such place"),
        ('<a href="b.html#view/a/b">x</a>', "which the page does not show"),
        ('<img src="https://example.org/x.png">', "loads https://example.org/x.png"),
        ('<script src="//example.org/x.js"></script>', "loads //example.org/x.js"),
    ],
)
def test_a_broken_link_is_found(tmp_path: Path, link: str, says: str) -> None:
    """And what leads somewhere is not."""
    (tmp_path / "b.html").write_text('<p id="d"></p>', "utf-8")
    (tmp_path / "a.html").write_text(f'{link}<a href="b.html#d">y</a><a href="https://example.org/">z</a>', "utf-8")
    (found,) = find_broken_links(tmp_path)
    assert found.startswith("a.html ")
    assert says in found


@pytest.mark.parametrize(("page", "command"), [("trends.md", "trend"), ("certificates.md", "certify")])
def test_a_page_without_documents_says_what_to_type(page: str, command: str) -> None:
    """One command that writes such a document and one that shows it, each as the program takes it."""
    pages, _ = site_pages(Documents(), [], {"pairs": [], "names": {}}, {}, {})
    typed = [shlex.split(one) for one in re.findall("`(tpharness [^`]* -o [^`]*)`", pages[page])]
    assert [words[:2] for words in typed] == [["tpharness", command], ["tpharness", "site"]]
    assert isinstance(program, click.Group)
    with click.Context(program, **program.context_settings) as context:
        for _, name, *arguments in typed:
            found = program.get_command(context, name)
            assert found is not None
            found.make_context(name, arguments, parent=context)  # a command keeps the first names of --help it is given
    assert typed[1][-1].startswith(typed[0][-1]), "what the one writes is what the other reads"


def test_documents_are_told_apart_by_what_they_say(tmp_path: Path) -> None:
    """A file that is none of them, or not what it says, is refused."""
    (tmp_path / "trend.json").write_text(json.dumps(trend()), "utf-8")
    assert [one["peer"] for one in read_documents([tmp_path / "trend.json"]).trends] == ["peer:x"]
    for text, says in (
        ("{}", "is not a document for a site"),
        ("nope", "is not JSON"),
        ('{"format": "tpharness-trend/1"}', "is not a trend"),
    ):
        (tmp_path / "bad.json").write_text(text, "utf-8")
        with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'bad.json'} {says}")):
            read_documents([tmp_path / "bad.json"])


def test_pictures_share_their_scripts_and_what_is_decided(site: Path) -> None:
    """Once for the site, and not once a page: with them each page of a ruling had 150 KB more."""
    views = sorted((site / "views").glob("*.html"))
    assert len(views) > 10
    for page in views:
        text = page.read_text("utf-8")
        assert '<script src="picture.js"></script>' in text
        assert '<link rel="stylesheet" href="picture.css">' in text
        assert "<style>" not in text
        own = text.partition("<noscript>")[0] + text.rpartition("</noscript>")[2]
        assert len(own) < 15_000, page.name
    assert "tpharnessDecided" in (site / "views/picture.js").read_text("utf-8")


def test_a_ruling_without_scripts_leads_to_the_tables_of_its_scenarios(site: Path) -> None:
    """They stand once, on the page of their theme."""
    page = (site / "views/R20.html").read_text("utf-8")
    assert '<noscript><p>Without scripts: <a href="../views/interruptions.html#view/interruptions/mid-text">' in page
    assert "<table><caption>interruptions/mid-text" in (site / "views/interruptions.html").read_text("utf-8")


@pytest.mark.browser
def test_a_ruling_is_opened_at_its_question(site: Path) -> None:
    """The picture in its frame goes to its place by itself, and does not scroll the page that shows it."""
    scrolled = ["eval", "new Promise((done) => setTimeout(() => done(scrollY), 1000))"]
    assert look_at(site / "rulings" / "R20.html", scrolled, height=900).results == [0]


@pytest.mark.browser
@pytest.mark.parametrize(("dark", "colour"), [(False, "rgb(179, 38, 30)"), (True, "rgb(255, 156, 148)")])
def test_a_cell_that_is_wrong_is_red_and_not_of_the_colour_of_links(site: Path, dark: bool, colour: str) -> None:
    """The theme's rule for links is more specific than a class alone."""
    made = "document.querySelector('table a').className = 'bad'"
    shown = "getComputedStyle(document.querySelector('table a.bad')).color"
    assert look_at(site / "matrix.html", ["eval", made], ["eval", shown], dark=dark).results[1] == colour


def test_tables_of_the_documentation_are_scrolled_by_keyboard(site: Path) -> None:
    """Each is in a group that takes the focus and is named as its heading."""
    page = (site / "docs" / "CONTROL.html").read_text("utf-8")
    wanted = (docs_dir() / "CONTROL.md").read_text("utf-8").count("\n|---")
    named = re.findall(r'<div class="scroll" tabindex="0" role="group" aria-label="([^"]+)"><table class="data">', page)
    assert (len(named), page.count("<table")) == (wanted, wanted)
    assert named[0] == "Test an implementation: the control contract"


def test_what_is_missing_first_is_said_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a clone the extra does not help, so nobody is told to install it alone."""
    monkeypatch.setattr("tpharness.site.build.conformance_dir", lambda: tmp_path / "conformance")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="needs a checkout") as refused:
        build_site(tmp_path / "site", Documents(), [])
    assert "in a clone of the repository: pip install -e '.[site]'" in str(refused.value.hint)


def test_a_folder_that_is_not_a_site_is_not_replaced(tmp_path: Path) -> None:
    """Somebody's files stay."""
    (tmp_path / "mine.txt").write_text("mine", "utf-8")
    with pytest.raises(UsageError, match="is there and is not a site"):
        build_site(tmp_path, Documents(), [])
    assert (tmp_path / "mine.txt").is_file()


@pytest.mark.browser
@pytest.mark.parametrize(
    "name", ["rulings/R20", "trends", "matrix", "certificates", "clauses/cycle", "views/R20", "docs/CONTROL"]
)
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_a_page_is_fit_for_a_desktop_and_a_phone(site: Path, name: str, width: int, dark: bool) -> None:
    """It asks for nothing beside the site, is not wider than the screen, and axe finds nothing serious."""
    wide = ["eval", "document.documentElement.scrollWidth <= window.innerWidth"]
    seen = look_at(site / f"{name}.html", wide, ["axe"], width=width, height=844, dark=dark)
    assert all(address.startswith((site.as_uri(), "data:", "blob:")) for address in seen.requests)
    assert seen.results[0]
    assert [found for found in seen.results[1] if found["impact"] in ("serious", "critical")] == []
