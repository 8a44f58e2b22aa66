"""The program behind `peer:strands-ag-ui`."""

from tpharness.peers.control import main
from tpharness.peers.strands_ag_ui.framework import StrandsAgUi

if __name__ == "__main__":
    main(StrandsAgUi)
