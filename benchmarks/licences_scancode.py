"""Detects licences with ScanCode; `licences.py` runs it in its own environment.

    python licences_scancode.py FOLDER < TEXTS > ANSWERS

FOLDER has the licences and rules of the index. TEXTS is a JSON object of texts; ANSWERS is one of lists of licences,
the licence with the longest matched text first.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from licensedcode.index import LicenseIndex  # type: ignore[import-not-found]
from licensedcode.models import get_rules  # type: ignore[import-not-found]


def main() -> None:
    """Detect the licences of all texts on standard input."""
    folder = Path(sys.argv[1])
    rules = list(get_rules(licenses_data_dir=str(folder / "licenses"), rules_data_dir=str(folder / "rules")))
    index = LicenseIndex(rules)
    answers = {}
    for name, text in json.load(sys.stdin).items():
        lengths: dict[str, int] = {}
        for match in index.match(query_string=text):
            for licence in match.rule.license_keys():
                lengths[licence] = lengths.get(licence, 0) + match.len()
        answers[name] = sorted(lengths, key=lambda licence: -lengths[licence])
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
