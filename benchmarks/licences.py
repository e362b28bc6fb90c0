"""Detects the licences of texts in a store of 34,000 texts and notices with known licences.

    python benchmarks/licences.py [--sample 150] [--scancode PYTHON] [--csv FILE]

The texts come from the package licensedcode-data, the rules and licences that ScanCode works with. 150 full texts and
150 notices, of at least 20 words and of one licence each, are taken out; each is then looked up among all others.
A licence has many rules, so hits are reduced to their licences, best first: the true one should be the first.

`similar` and `sources` run with their default options, each in a process that does nothing else. The peers are
licensecheck (if it is installed) and ScanCode (with the interpreter of an environment that has it; its index is built
without the 300 texts). licensecheck counts as right if it names the SPDX identifier of the licence.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.compare_texts import words_of
from whorl.fingerprint.winnowing import PassageScheme

PACKAGE = "licensedcode-data==32.1.0"
LEAST_WORDS = 20
_HERE = Path(__file__).resolve().parent
_KINDS = {"is_license_text": "text", "is_license_notice": "notice"}
_KEY = re.compile(r"[\w.+-]+")
Ranked = Callable[[str], list[str]]


class Rule(NamedTuple):
    """A text with its licence; `kind` is "text", "notice" or another part of the rule's header."""

    name: str
    licence: str
    kind: str
    text: str
    spdx: frozenset[str]


def data_folder(folder: Path) -> Path:
    """Return the folder of licences and rules, downloaded if it is not there."""
    data = folder / "licensedcode" / "data"
    if not data.is_dir():
        with tempfile.TemporaryDirectory() as wheels:
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", wheels, PACKAGE], check=True
            )
            for wheel in Path(wheels).glob("*.whl"):
                with ZipFile(wheel) as archive:
                    archive.extractall(folder)
    return data


def header_and_text(path: Path) -> tuple[dict[str, str], str]:
    """Return the simple fields of a file's header, and the text below it."""
    _, header, text = re.split(r"^---[ \t]*$", path.read_text(encoding="utf-8"), maxsplit=2, flags=re.MULTILINE)
    fields = dict(line.split(":", 1) for line in header.splitlines() if re.match(r"\w+:", line))
    spdx = re.findall(r"^other_spdx_license_keys:\n((?: +- .+\n)+)", header, re.MULTILINE)
    others = " ".join(re.findall(r"- (\S+)", spdx[0])) if spdx else ""
    # Double braces mark phrases that ScanCode requires; they are not part of the text.
    text = text.replace("{{", "").replace("}}", "").strip()
    return {name: value.strip() for name, value in fields.items()} | {"others": others}, text


def rules(data: Path) -> Iterator[Rule]:
    """Yield licences and rules that name exactly one licence and have a word."""
    spdx = dict[str, frozenset[str]]()
    for path in sorted((data / "licenses").glob("*.LICENSE")):
        fields, text = header_and_text(path)
        licence = fields["key"]
        spdx[licence] = frozenset([fields.get("spdx_license_key", ""), *fields["others"].split()]) - {""}
        if words_of(text).words:
            yield Rule(path.name, licence, "licence", text, spdx[licence])
    for path in sorted((data / "rules").glob("*.RULE")):
        fields, text = header_and_text(path)
        licence = fields.get("license_expression", "")
        if _KEY.fullmatch(licence) and fields.get("is_false_positive") != "yes" and words_of(text).words:
            kind = next((kind for name, kind in _KINDS.items() if fields.get(name) == "yes"), "other")
            yield Rule(path.name, licence, kind, text, spdx.get(licence, frozenset()))


def held_out(collection: list[Rule], count: int) -> list[Rule]:
    """Return a sample of texts and of notices whose licence has another text in the collection."""
    chance, sample = random.Random(31), list[Rule]()
    for kind in _KINDS.values():
        long = [rule for rule in collection if rule.kind == kind and len(words_of(rule.text).words) >= LEAST_WORDS]
        sample += chance.sample(long, count)
    names = {rule.name for rule in sample}
    others = {rule.licence for rule in collection if rule.name not in names}
    return [rule for rule in sample if rule.licence in others]


def distinct(licences: list[str]) -> list[str]:
    """Return licences without repetitions, in their order."""
    return list(dict.fromkeys(licences))


def measured(name: str, sample: list[Rule], ranked: Ranked) -> Iterator[dict[str, object]]:
    """Yield a line for each kind of text: how often the true licence is first and among the first five."""
    for kind in _KINDS.values():
        first = among_five = 0
        costs, queries = list[float](), [rule for rule in sample if rule.kind == kind]
        for rule in queries:
            start = time.process_time()
            licences = ranked(rule.text)
            costs.append(1_000 * (time.process_time() - start))
            true = {rule.licence, *rule.spdx} if name == "licensecheck" else {rule.licence}
            first += bool(true & set(licences[:1]))
            among_five += bool(true & set(licences[:5]))
        yield {
            "tool": name,
            "kind": kind,
            "queries": len(queries),
            "first": first,
            "among five": among_five,
            "median CPU ms": round(statistics.median(costs), 1) if name.startswith("whorl") else "",
        }


def scancode_answers(python: str, data: Path, sample: list[Rule]) -> dict[str, list[str]]:
    """Return the licences that ScanCode detects in each text, without the texts in its index."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(data, folder, dirs_exist_ok=True)
        for rule in sample:
            (Path(folder) / "rules" / rule.name).unlink()
        texts = {rule.name: rule.text for rule in sample}
        command = [python, str(_HERE / "licences_scancode.py"), folder]
        done = subprocess.run(command, input=json.dumps(texts), stdout=subprocess.PIPE, text=True, check=True)
    answers: dict[str, list[str]] = json.loads(done.stdout)
    return answers


def licensecheck_answer(text: str) -> list[str]:
    """Return the SPDX identifiers that licensecheck prints for a text."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        command = ["licensecheck", "--shortname-scheme=spdx", "--machine", "--lines=0", file.name]
        printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.split(r" and(?:/or)? | or ", printed.strip().split("\t")[-1])


def main() -> None:
    """Look the sample up with each tool and write the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=150, help="texts, and as many notices")
    parser.add_argument("--scancode", metavar="PYTHON", help="interpreter of an environment with scancode-toolkit-mini")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    data = data_folder(_HERE / "data" / "licences")
    collection = list(rules(data))
    sample = held_out(collection, options.sample)
    names = {rule.name for rule in sample}
    stored = {rule.name: rule for rule in collection if rule.name not in names}
    print(f"{len(stored):,} documents, {len({rule.licence for rule in stored.values()}):,} licences", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(EmbeddedEngine(Path(folder) / "store", passages=PassageScheme()))
        documents = (Document(rule.name, rule.text, rule.licence) for rule in stored.values())
        store.index(documents)
        tools: dict[str, Ranked] = {
            "whorl similar": lambda text: distinct(
                [stored[similar.hit.id].licence for similar in store.similar(source=text, rows=200).found]
            ),
            "whorl sources": lambda text: distinct(
                [stored[source.id].licence for source in store.sources(source=text).sources]
            ),
        }
        if shutil.which("licensecheck"):
            tools["licensecheck"] = licensecheck_answer
        lines = [line for name, ranked in tools.items() for line in measured(name, sample, ranked)]
        store.close()
    if options.scancode:
        answers = scancode_answers(options.scancode, data, sample)
        by_text = {rule.text: answers[rule.name] for rule in sample}
        lines += measured("ScanCode", sample, by_text.__getitem__)
    for output in [sys.stdout, *([options.csv.open("w", newline="")] if options.csv else [])]:
        writer = csv.DictWriter(output, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
