"""The program behind `peer:pydantic-ai`."""

from tpharness.peers.control import main
from tpharness.peers.pydantic_ai.framework import PydanticAi

if __name__ == "__main__":
    main(PydanticAi)
