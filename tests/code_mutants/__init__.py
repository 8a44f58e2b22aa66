"""Machine-made mutants of the implementations that this repository holds, and the scenarios that fail them."""
