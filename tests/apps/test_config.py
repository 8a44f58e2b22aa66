"""tpharness.toml: what is wrong is told with file, table, key and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpharness.apps.config import AppConfig, config_of_url, load_config, require_loopback
from tpharness.apps.engine import chosen_tool
from tpharness.errors import InputError, UsageError

URL = 'url = "http://127.0.0.1:3000/api/chat"\n'


def file_with(folder: Path, text: str) -> Path:
    """Write a configuration and return its path."""
    path = folder / "tpharness.toml"
    path.write_text(text, "utf-8")
    return path


def test_the_table_of_the_documentation_is_read(tmp_path: Path) -> None:
    """Every key arrives as what it means."""
    text = f"""[apps.chat]
command = ["npm", "start"]
{URL}history = "last-message"
on_disconnect = "stop"
stop = "POST /api/chat/{{id}}/stop"
thread = "GET /api/chat/{{id}}"
regenerate = true
trims = ["messages"]
tools = {{allow = ["book_hotel"], args = {{book_hotel = {{city = "Paris", nights = 2}}}}}}
effects = "wc -l < effects.txt"
"""
    config = load_config("chat", file_with(tmp_path, text))
    assert config.command == ("npm", "start")
    assert (config.history, config.regenerate, config.trims) == ("last-message", True, ("messages",))
    assert config.allow == ("book_hotel",)
    assert config.args == {"book_hotel": ({"city": "Paris", "nights": 2},)}
    assert config.folder == tmp_path
    stop, thread = config.addresses.stop, config.addresses.thread
    assert stop is not None
    assert thread is not None
    assert (stop.method, stop.of("a/b")) == ("POST", "http://127.0.0.1:3000/api/chat/a%2Fb/stop")
    assert thread.of("x") == "http://127.0.0.1:3000/api/chat/x"


def test_a_tool_may_have_other_arguments_for_a_second_call(tmp_path: Path) -> None:
    """They arrive in their order, and become those of the tool."""
    two = '[{city = "Paris"}, {city = "Rome"}]'
    config = load_config(
        "chat", file_with(tmp_path, f"[apps.chat]\n{URL}tools = {{allow = ['x'], args = {{x = {two}}}}}")
    )
    assert config.args == {"x": ({"city": "Paris"}, {"city": "Rome"})}
    tool = chosen_tool(config, {"x": {}})
    assert tool is not None
    assert (tool.args, tool.other_args) == ({"city": "Paris"}, {"city": "Rome"})


def test_an_application_has_a_folder_to_run_in_and_a_file_of_known_failures(tmp_path: Path) -> None:
    """Both count from the folder of the file."""
    alone = load_config("chat", file_with(tmp_path, f"[apps.chat]\n{URL}"))
    assert (alone.run_folder, alone.baseline_path) == (tmp_path, None)
    text = f"[apps.chat]\n{URL}cwd = 'runs/chat'\nbaseline = 'known.yaml'\n"
    config = load_config("chat", file_with(tmp_path, text))
    assert (config.run_folder, config.baseline_path) == (tmp_path / "runs" / "chat", tmp_path / "known.yaml")


def test_the_stop_button_posts_an_empty_object_or_what_the_table_says(tmp_path: Path) -> None:
    """`{id}` in it stands for the chat, as in an address."""
    text = f"[apps.chat]\n{URL}stop = 'POST /stop/{{id}}'\n"
    plain = load_config("chat", file_with(tmp_path, text)).addresses.stop
    told = load_config("chat", file_with(tmp_path, f"{text}stop_body = {{thread = '{{id}}', hard = true}}")).addresses
    asked = load_config("chat", file_with(tmp_path, f"[apps.chat]\n{URL}stop = 'DELETE /run/{{id}}'\n")).addresses
    assert plain is not None
    assert told.stop is not None
    assert asked.stop is not None
    assert plain.body_of("c") == {}
    assert told.stop.body_of("c") == {"thread": "c", "hard": True}
    assert asked.stop.body_of("c") is None


def test_a_port_can_be_left_open(tmp_path: Path) -> None:
    """`{port}` stands for a free one in the address and in the command."""
    text = '[apps.a]\ncommand = "serve --port {port}"\nurl = "http://127.0.0.1:{port}/chat"\n'
    config = load_config(None, file_with(tmp_path, text)).on_port(4711)
    assert (config.url, config.command, config.port) == (
        "http://127.0.0.1:4711/chat",
        ("serve", "--port", "4711"),
        4711,
    )


def test_an_address_that_runs_already_has_its_port() -> None:
    """Nobody would fill it in."""
    with pytest.raises(UsageError, match=r"the address: {port} in 'http://127\.0\.0\.1:{port}/x' needs a command"):
        config_of_url("http://127.0.0.1:{port}/x")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", r"has no table \[apps.NAME\]", "init"),
        ("apps = 3", r"has no table \[apps.NAME\]", "init"),
        ('[apps.chat]\nhistory = "client"', "has no url", "url ="),
        (f"[apps.chat]\n{URL}comand = 'x'", "unknown key 'comand'", "did you mean command"),
        ("[apps]\nchat = [1]", r"\[apps.chat\] is \[1\], expected a table", "docs APPLICATIONS"),
        (f"[apps.chat]\n{URL}history = 3", "history is 3, expected a string\\n", "docs APPLICATIONS"),
        (f"[apps.chat]\n{URL}concurrency = true", "concurrency is true, expected a whole number\\n", ""),
        (f"[apps.chat]\n{URL}concurrency = '3'", "concurrency is '3', expected a whole number\\n", ""),
        (f"[apps.chat]\n{URL}trims = true", "trims is true, expected a list of words", ""),
        (
            f'[apps.chat]\n{URL}trims = ["turns"]',
            "trims has .turns., expected one of messages, tools",
            "tells the model only the end",
        ),
        (f"[apps.chat]\n{URL}regenerate = 1", "regenerate is 1, expected true or false", ""),
        (f"[apps.chat]\n{URL}quiet = '3'", "quiet is '3', expected a number\\n", ""),
        (f"[apps.chat]\n{URL}tools = ['x']", r"tools is \[\"x\"\], expected a table\n", ""),
        (f"[apps.chat]\n{URL}command = 3", "command is 3, expected a string or an array of strings", ""),
        (f"[apps.chat]\n{URL}provider_port = 65534", "provider_port is 65534", "the two ports after it"),
        (f"[apps.chat]\n{URL}provider_port = -5", "provider_port is -5, expected 1 to 65533, or 0 for a free one", ""),
        (f"[apps.chat]\n{URL}concurrency = 0", "expected a number above 0", ""),
        (f"[apps.chat]\n{URL}on_disconnect = 'go'", "on_disconnect is 'go'", '"stop" or "continue"'),
        (f"[apps.chat]\n{URL}stop = '/stop'", "stop is '/stop'", "a method and a path"),
        (f"[apps.chat]\n{URL}tools = {{alow = []}}", "unknown key 'alow'", "allow, args"),
        (f"[apps.chat]\n{URL}tools = {{allow = 'x'}}", "not a list of names", "allow ="),
        (
            f"[apps.chat]\n{URL}tools = {{args = {{x = {{}}}}}}",
            "names 'x', which tools.allow does not allow",
            'allow = ["x"]',
        ),
        (f"[apps.chat]\n{URL}tools = {{args = 3}}", "tools.args is 3, expected a table of tools", "args = {book_hotel"),
        *(
            (
                f"[apps.chat]\n{URL}tools = {{allow = ['x'], args = {{x = {args}}}}}",
                "tools.args.x is .*, expected an object, or a list of two objects: for a first and a second call",
                'such as {book_hotel = [{city = "Paris"}, {city = "Rome"}]}',
            )
            for args in ("3", "[]", "[{}]", "[{a = 1}, 3]", "[{a = 1}, {a = 2}, {a = 3}]")
        ),
        (
            f"[apps.chat]\n{URL}tools = {{allow = ['x'], args = {{x = [{{a = 1}}, {{a = 1}}]}}}}",
            "tools.args.x has the same arguments twice, expected other ones for the second call",
            "results that change places are not seen",
        ),
        ("[apps.chat]\nurl = 'chat'", "not an http address", "http://127.0.0.1"),
        ("[apps.chat]\nurl = 'http://127.0.0.1:99999/chat'", "not an http address", "http://127.0.0.1"),
        ("[apps.chat]\nurl = 'http://[::1/chat'", "not an http address", "http://127.0.0.1"),
        ("[apps.chat]\nurl = 'http://127.0.0.1:{port}/chat'", "{port} in .* needs a command", "`command` in"),
        (f"[apps.chart]\n{URL}", "has no application 'chat'", "did you mean chart"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, message: str, hint: str) -> None:
    """Somebody at 2 a.m. finds the line."""
    with pytest.raises(UsageError, match=message) as raised:
        load_config("chat", file_with(tmp_path, text))
    assert "tpharness.toml" in str(raised.value)
    assert hint in raised.value.hint


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """Not there, or not TOML."""
    with pytest.raises(InputError, match="No such file"):
        load_config("chat", tmp_path / "none.toml")
    with pytest.raises(InputError, match=r"tpharness\.toml cannot be read: Expected"):
        load_config("chat", file_with(tmp_path, "[apps"))


def test_one_of_several_has_to_be_named(tmp_path: Path) -> None:
    """There is no first application."""
    with pytest.raises(UsageError, match="has 2 applications") as raised:
        load_config(None, file_with(tmp_path, f"[apps.a]\n{URL}[apps.b]\n{URL}"))
    assert "a, b" in raised.value.hint


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.8.9.1", "[::1]"])
def test_this_machine_is_allowed(host: str) -> None:
    """Loopback by any name."""
    require_loopback(config_of_url(f"http://{host}:3000/chat"), owned=None)


@pytest.mark.parametrize("host", ["example.org", "10.0.0.1", "0.0.0.0", "localhost.example.org"])  # noqa: S104
def test_another_machine_is_not_allowed_unless_it_is_named(host: str) -> None:
    """Tools are called for real."""
    config = AppConfig(name="a", url=f"https://{host}/chat")
    with pytest.raises(UsageError, match="not on this machine") as raised:
        require_loopback(config, owned=None)
    assert f"--i-own-this-host {host}" in raised.value.hint
    with pytest.raises(UsageError):
        require_loopback(config, owned="another.example.org")
    require_loopback(config, owned=host)


@pytest.mark.parametrize(("effects", "said"), [("ledger", False), ("cat runs", True), (None, True)])
def test_what_is_not_checked_without_the_ledger_is_said(effects: str | None, said: bool) -> None:
    """Two results that change places for the model and on the page alike: only the ledger knows whose they are."""
    config = AppConfig(name="chat", url="http://127.0.0.1/", allow=("book",), effects=effects, on_disconnect="stop")
    assert ("that two calls at once get each other's" in config.unseen) is said
    assert (config.unseen == "") is (effects == "ledger")
