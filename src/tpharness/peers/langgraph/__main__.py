"""The program behind `peer:langgraph`."""

import sys

from tpharness.peers.control import main

if __name__ == "__main__":
    try:
        from tpharness.peers.langgraph.framework import LangGraph
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is not installed: pip install 'tpharness[langgraph]'")
    main(LangGraph)
