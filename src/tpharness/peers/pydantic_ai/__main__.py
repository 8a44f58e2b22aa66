"""The program behind `peer:pydantic-ai`."""

import sys
from importlib.metadata import version

from tpharness.extras import install_command

if __name__ == "__main__":
    try:
        from tpharness.peers.control import main
        from tpharness.peers.pydantic_ai.framework import PydanticAi
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is not installed: {install_command('pydantic-ai')}")
    except ImportError as error:
        sys.exit(f"pydantic-ai-slim {version('pydantic-ai-slim')} lacks what this peer needs: {error}")
    main(PydanticAi)
