"""The program behind `peer:langgraph`."""

import sys
from importlib.metadata import version

from tpharness.extras import install_command

if __name__ == "__main__":
    try:
        from tpharness.peers.control import main
        from tpharness.peers.langgraph.framework import LangGraph
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is not installed: {install_command('langgraph')}")
    except ImportError as error:
        sys.exit(f"langgraph {version('langgraph')} lacks what this peer needs: {error}")
    main(LangGraph)
