"""The program behind `peer:pydantic-ai-ag-ui`."""

from tpharness.peers.control import main
from tpharness.peers.pydantic_ai_ag_ui.framework import PydanticAiAgUi

if __name__ == "__main__":
    main(PydanticAiAgUi)
