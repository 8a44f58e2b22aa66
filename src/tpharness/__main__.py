"""`python -m tpharness`."""

from tpharness.cli import main

if __name__ == "__main__":
    main()
