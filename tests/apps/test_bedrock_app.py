"""An application whose model is on Bedrock is judged as one over Chat Completions is."""

from __future__ import annotations

from tests.apps.bedrock_model import BedrockModel
from tests.apps.chat_app import ChatApp, Defect
from tests.apps.chat_model import ChatModel
from tests.apps.playing import codes_of, play

from tpharness.verdict import Outcome


class BedrockApp(ChatApp):
    """The chat application of the tests, with another model."""

    @property
    def model(self) -> ChatModel:
        """The client of the model, made when it is needed."""
        if self._model is None:
            self._model = BedrockModel(self.environment["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"])
        return self._model


def test_an_application_on_bedrock_keeps_what_it_has_to_keep() -> None:
    """No finding; the cases with tools are played, those in which the connection breaks too."""
    results = play(BedrockApp())
    played = [result for result in results if result.outcome is not Outcome.NOT_APPLICABLE]
    assert [(r.id, r.findings) for r in played if r.outcome is not Outcome.PASSED] == []
    assert len(played) > 20
    assert {"model-drops/in-arguments", "model-fails/error-in-stream"} <= {result.id for result in played}


def test_what_it_does_wrong_is_still_seen() -> None:
    """A call whose result is not stored is refused in Bedrock's words, and a repaired call is an invention."""
    results = play(BedrockApp(Defect.KEEPS_ORPHAN_RESULT), "user-leaves/in-arguments")
    assert codes_of(results) == {"bedrock-results-too-many"}
    results = play(BedrockApp(Defect.REPAIRS_ARGUMENTS), "user-leaves/in-arguments")
    assert codes_of(results) == {"arguments-invented"}
