"""One folder and one row for each model API, and nobody else decides by the name of one."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tpharness.model_apis
from tpharness.errors import UsageError
from tpharness.model_apis.api import ModelApi
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import API_NAMES, APIS, find_api
from tpharness.model_apis.rules import RULES
from tpharness.model_apis.server import ApiServer, ServerOptions

FOLDER = Path(tpharness.model_apis.__file__).parent
SRC = FOLDER.parent

# Other programs' own code for an API, each of which is a fact of its own: a history writes requests for the APIs that
# its program writes requests for, and a
# request is repaired for the APIs for which somebody has written down how.
WRITES_FOR_AN_API = {
    "checking.py",  # a type checker needs the names themselves
    "histories/agent_framework.py",
    "histories/agno.py",
    "histories/conversations.py",  # as above
    "histories/google_adk.py",
    "histories/langchain/formats.py",
    "histories/langchain/javascript.py",
    "histories/message_parts/dialect.py",
    "histories/openai_agents.py",
    "histories/openai_agents_js.py",
    "histories/stored/requests.py",
    "histories/strands.py",
    "model_apis/registry.py",
}


@pytest.mark.parametrize("api", APIS.values(), ids=API_NAMES)
def test_the_folder_of_an_api_has_every_part(api: ModelApi) -> None:
    """Each part is what the record says it is; a part that was forgotten is named."""
    assert api.package == f"tpharness.model_apis.{api.package.rpartition('.')[2]}"
    assert {rule.provider for rule in api.acceptance.RULES} == {api.name}
    assert len({rule.id for rule in api.acceptance.RULES}) == len(api.acceptance.RULES) > 0
    entries, found = api.acceptance.open_payload(None)
    assert (entries, [finding.code for finding in found]) == ([], ["payload-malformed"])
    messages = [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}]
    assert not check_payload(api.name, api.history.write_payload(messages))
    assert api.served.asks_for_thoughts({}) is False
    server = api.served.make_server(ServerOptions(run="r"))
    wanted = {name for name, _ in inspect.getmembers(ApiServer, inspect.isfunction) if not name.startswith("_")}
    missing = {name for name in (*wanted, *ApiServer.__annotations__) if not hasattr(server, name)}
    assert missing == set()
    assert set(api.shown) <= set(api.environment)


def test_every_folder_has_a_row() -> None:
    """A folder that nobody registered would look finished."""
    folders = {path.parent.name for path in FOLDER.glob("*/row.py")}
    assert folders == {api.package.rpartition(".")[2] for api in APIS.values()}


def test_the_letters_of_rules_say_whose_they_are() -> None:
    """`tpharness explain C1` finds one rule; no two APIs begin their ids alike."""
    letters = {(re.sub(r"\d+", "", rule.id), rule.provider) for rule in RULES}
    assert len({letter for letter, _ in letters}) == len(letters) == len(APIS)


def test_an_unknown_api_is_refused_with_the_known_ones() -> None:
    """The error names what can be typed."""
    with pytest.raises(UsageError, match="no model API is called 'openai'") as raised:
        find_api("openai")
    assert all(name in str(raised.value.hint) for name in API_NAMES)


def named_apis(path: Path) -> Iterator[str]:
    """Yield the names of APIs that stand in the code of a file as texts of their own; docstrings are not code."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and node.value in API_NAMES:
            yield node.value


def test_only_its_folder_names_an_api() -> None:
    """Everything that asks "which API" asks the registry; whoever branches by a name here makes the next API dearer."""
    own = {api.package.rpartition(".")[2] for api in APIS.values()}
    naming = {
        path.relative_to(SRC).as_posix()
        for path in SRC.rglob("*.py")
        if not (path.is_relative_to(FOLDER) and path.relative_to(FOLDER).parts[0] in own)
        # "anthropic" is also the name of a provider in other programs' files
        and {*named_apis(path)} - {"anthropic"}
    }
    assert naming <= WRITES_FOR_AN_API
