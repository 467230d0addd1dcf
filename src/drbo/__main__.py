"""Run the command line as ``python -m drbo``."""

from drbo.cli import main

if __name__ == "__main__":
    main()
