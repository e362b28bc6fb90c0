"""Script for spark-submit: `whorl duplicates --engine spark` with the arguments that follow."""

import sys

from whorl.cli.main import main

if __name__ == "__main__":
    main(["duplicates", "--engine", "spark", *sys.argv[1:]])
