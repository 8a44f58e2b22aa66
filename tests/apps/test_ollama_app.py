"""An application over Ollama's own API, whose client knows no ids, is judged as one over Chat Completions is."""

from __future__ import annotations

from tests.apps.chat_app import ChatApp, Defect
from tests.apps.chat_model import ChatModel
from tests.apps.ollama_model import OllamaModel
from tests.apps.playing import codes_of, play

from tpharness.verdict import Outcome


class OllamaApp(ChatApp):
    """The chat application of the tests, with another model."""

    @property
    def model(self) -> ChatModel:
        """The client of the model, made when it is needed."""
        if self._model is None:
            self._model = OllamaModel(self.environment["OLLAMA_HOST"])
        return self._model


def test_an_application_without_ids_keeps_what_it_has_to_keep() -> None:
    """No finding; the cases with tools are played, so the calls were recognised."""
    results = play(OllamaApp())
    played = [result for result in results if result.outcome is not Outcome.NOT_APPLICABLE]
    assert [result.id for result in played if result.outcome is not Outcome.PASSED] == []
    assert len(played) > 20


def test_what_it_does_wrong_is_still_seen() -> None:
    """Results that are given to each other's calls, which without ids is nothing but their order."""
    results = play(OllamaApp(Defect.SWAPS_RESULTS))
    assert "result-misplaced" in codes_of(results)
