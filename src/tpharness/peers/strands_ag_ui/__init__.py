"""`peer:strands-ag-ui`: an agent of Strands behind `ag-ui-strands`, its adapter for AG-UI."""
