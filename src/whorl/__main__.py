"""Runs the command `whorl` as `python -m whorl`."""

from whorl.cli.main import main

if __name__ == "__main__":
    main()
