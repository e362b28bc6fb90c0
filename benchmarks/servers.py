"""Runs the conformance suite on each server version that whorl starts, and records the results.

    make prove-servers

Each row of `results/servers.csv` is one server; a run of some servers (`--only opensearch-2.11.0`) replaces their rows.
The table in `docs/servers.md` contains all rows. Maven Central lacks Elasticsearch's module `painless`, so tests that
sort by a field or calculate statistics fail there. The server's own message distinguishes these failures from others.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from whorl.engine.local.jars import Server
from whorl.engine.local.opensearch import ELASTICSEARCH, OPENSEARCH
from whorl.engine.local.server_process import find_java
from whorl.engine.local.solr import SOLR

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results" / "servers.csv", HERE.parent / "docs" / "servers.md"
SERVERS = {f"{server.key}-{server.version}": server for server in (*SOLR, *OPENSEARCH, *ELASTICSEARCH)}
#: The response of a server without the module for scripts.
NO_SCRIPTS = "script_lang not supported [painless]"
_TABLE = re.compile(r"(?<=<!-- made by make prove-servers -->\n).*?(?=<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """Result of one server.

    Args:
        java: Major version of the server's Java.
        tests: Number of tests that ran.
        without_scripts: Number of failures because the server has no scripts.
        failed: Number of other failures.
        names: Failed tests without their parameters.
        date: Date of the run.
    """

    server: str
    version: str
    java: int
    tests: int
    passed: int
    without_scripts: int
    failed: int
    names: str
    date: str


def run(server: Server, workers: int) -> Row:
    """Run the suite on one server.

    Raises:
        SystemExit: The suite did not run.
    """
    java = find_java(server)
    version = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    (java_version,) = re.findall(r'version "(\d+)', version)
    if server in SOLR:
        chosen, marks = {"WHORL_TEST_SOLR_VERSION": server.version, "WHORL_REQUIRE_SOLR": "1"}, "solr or cloud"
    else:
        prefix = "elasticsearch-" if server in ELASTICSEARCH else ""
        chosen = {"WHORL_TEST_OPENSEARCH_VERSION": prefix + server.version, "WHORL_REQUIRE_OPENSEARCH": "1"}
        marks = "opensearch"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [
            *(sys.executable, "-m", "pytest", "-q", "tests/conformance", "-m", marks, f"--junit-xml={report}"),
            *("-n", str(workers), "--dist", "loadfile", "--tb=short", "-p", "no:cacheprovider"),
        ]
        done = subprocess.run(command, cwd=HERE.parent, env={**os.environ, **chosen}, stdout=subprocess.PIPE, text=True)
        if not report.exists() or done.returncode not in (0, 1):
            sys.exit(f"the suite did not run on {server.name} {server.version}:\n{done.stdout[-3000:]}")
        return read(report.read_text(encoding="utf-8"), server, int(java_version))


def read(report: str, server: Server, java: int) -> Row:
    """Return the result in pytest's JUnit XML; skipped tests do not count."""
    cases = [case for case in ET.fromstring(report).iter("testcase") if case.find("skipped") is None]
    failures = {id(case): [*case.iter("failure"), *case.iter("error")] for case in cases}
    failed = [case for case in cases if failures[id(case)]]
    scripts = [
        case
        for case in failed
        if all(NO_SCRIPTS in f"{failure.get('message')}{failure.text}" for failure in failures[id(case)])
    ]
    names = sorted({f"{case.get('classname', '').rpartition('.')[2]}::{_function(case)}" for case in failed})
    return Row(
        server.name, server.version, java, len(cases), len(cases) - len(failed), len(scripts),
        len(failed) - len(scripts), " ".join(names), datetime.now(UTC).date().isoformat(),
    )  # fmt: skip


def _function(case: ET.Element) -> str:
    return case.get("name", "").partition("[")[0]


def load() -> list[Row]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(encoding="utf-8", newline="") as file:
        numbers = {field.name for field in fields(Row) if field.type == "int"}
        return [
            Row(**{name: int(value) if name in numbers else value for name, value in row.items()})  # type: ignore[arg-type]
            for row in csv.DictReader(file)
        ]


def save(rows: Iterable[Row]) -> None:
    """Record rows in the order of the servers, and write the table of the docs."""
    place = {(server.name, server.version): at for at, server in enumerate(SERVERS.values())}
    ordered = sorted(rows, key=lambda row: place[row.server, row.version])
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, ordered))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda _: table(ordered), page), encoding="utf-8")


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = [
        f"| {row.server} {row.version} | {row.java} | {row.tests:,} | {row.passed:,} | {row.without_scripts or '–'} "
        f"| {row.failed or '–'} | {row.date} |\n"
        for row in rows
    ]
    head = "| server | Java | tests | passed | failed without scripts | failed otherwise | run on |\n"
    return "".join([head, "|---|---|---|---|---|---|---|\n", *lines])


def main() -> None:
    """Exit with 1 if a test failed for another reason than missing scripts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SERVERS, default=list(SERVERS), metavar="SERVER", help="a few")
    parser.add_argument("--workers", type=int, default=2, help="processes that share the tests out")
    options = parser.parse_args()
    failed = False
    for name in options.only:
        row = run(SERVERS[name], options.workers)
        print(table([row]).splitlines()[-1], row.names, flush=True)
        save([*(other for other in load() if (other.server, other.version) != (row.server, row.version)), row])
        failed |= row.failed > 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
