"""Lets `python -m whorl` run the command `whorl`."""

from whorl.cli.main import main

if __name__ == "__main__":
    main()
