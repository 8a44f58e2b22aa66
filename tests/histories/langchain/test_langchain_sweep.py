"""Every scenario of the suite, interrupted after every event."""

from __future__ import annotations

import pytest
from tests.about import about
from tests.distribution import Sample
from tests.histories.langchain import acceptance
from tests.histories.langchain.folding import cuts
from tests.histories.langchain.states import SELECTED

from tpharness.histories.langchain import LANGCHAIN, UnsupportedError
from tpharness.histories.langchain.formats import FORMATS
from tpharness.run.select import SelectedScenario
from tpharness.scenario import load_scenario

CODE, REPAIRED = VARIANTS = LANGCHAIN["langchain/documented"], LANGCHAIN["langchain/repaired"]
ABOUT_INTERRUPTIONS = [one for one in SELECTED if one.id.startswith(("histories/l-", "interruptions/"))]


@pytest.mark.sampled
def test_every_projection_of_every_place(sample: Sample[SelectedScenario]) -> None:
    """None fails; the documented design may refuse, for arguments that interleave (GAP-6)."""
    for one in sample(SELECTED):
        with about(one):
            assert refusing_a_place(one) <= {CODE.name}


def refusing_a_place(one: SelectedScenario) -> set[str]:
    """Read, show and send what is kept at each place of a scenario; return the designs that refuse some place."""
    refusing: set[str] = set()
    for journal in cuts(load_scenario(one.path, root=one.root)):
        for dialect in VARIANTS:
            try:
                document = dialect.store(journal)
            except UnsupportedError:
                refusing.add(dialect.name)
                continue
            humans = sum(message["type"] == "human" for message in document["messages"])
            assert len(dialect.turn_contents(document)) - humans in (0, 1)
            assert all(shown["text"] for shown in dialect.replay(document))
            for provider in FORMATS:
                assert dialect.model_input(document, provider, next_user="Go on.")
    return refusing


def test_repaired_histories_are_taken_wherever_they_are_cut() -> None:
    """By every API, once the user says something."""
    for one in ABOUT_INTERRUPTIONS:
        for journal in cuts(load_scenario(one.path, root=one.root)):
            document = REPAIRED.store(journal)
            sent = {api: REPAIRED.model_input(document, api, next_user="Go on.") for api in FORMATS}
            assert not acceptance.chat(sent["openai-chat"]), one.id
            assert not acceptance.responses(sent["openai-responses"]), one.id
            assert not acceptance.anthropic(sent["anthropic"]), one.id
            assert not acceptance.gemini(sent["gemini"]), one.id
