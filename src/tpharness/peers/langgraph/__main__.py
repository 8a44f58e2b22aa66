"""The program behind `peer:langgraph`."""

import sys

from tpharness.extras import install_command

if __name__ == "__main__":
    try:
        from tpharness.peers.control import main
        from tpharness.peers.langgraph.framework import LangGraph
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is not installed: {install_command('langgraph')}")
    main(LangGraph)
