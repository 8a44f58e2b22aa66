"""The program behind `peer:pydantic-ai`."""

import sys

from tpharness.peers.control import main

if __name__ == "__main__":
    try:
        from tpharness.peers.pydantic_ai.framework import PydanticAi
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is not installed: pip install 'tpharness[pydantic-ai]'")
    main(PydanticAi)
