"""The program behind `peer:pydantic-ai`."""

import sys

from tpharness.extras import install_command

if __name__ == "__main__":
    try:
        from tpharness.peers.control import main
        from tpharness.peers.pydantic_ai.framework import PydanticAi
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is not installed: {install_command('pydantic-ai')}")
    main(PydanticAi)
