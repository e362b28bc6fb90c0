"""The matrix of servers: reading pytest's reports, and the table in the docs."""

from __future__ import annotations

from servers import NO_SCRIPTS, PAGE, SERVERS, Row, load, read, table
from whorl.engine.local.opensearch import ELASTICSEARCH

REPORT = f"""<testsuites><testsuite>
<testcase classname="tests.conformance.test_order" name="test_passes[opensearch]"/>
<testcase classname="tests.conformance.test_order" name="test_skips[opensearch]"><skipped message="no"/></testcase>
<testcase classname="tests.conformance.test_order" name="test_sorts[opensearch-a]">
  <failure message="whorl.errors.EngineResponseError: …">the cluster says: {NO_SCRIPTS}</failure></testcase>
<testcase classname="tests.conformance.test_order" name="test_sorts[opensearch-b]">
  <failure message="EngineResponseError: {NO_SCRIPTS}">E</failure></testcase>
<testcase classname="tests.conformance.test_order" name="test_counts[opensearch]">
  <failure message="AssertionError: assert 1 == 2">E</failure></testcase>
<testcase classname="tests.conformance.test_scan" name="test_scans[opensearch]">
  <failure message="AssertionError">E</failure><error message="EngineResponseError">{NO_SCRIPTS}</error></testcase>
</testsuite></testsuites>"""


def test_causes_of_failures() -> None:
    """
    A failure counts as a missing module only if the server's message says so; every failure is named.
    """
    row = read(REPORT, ELASTICSEARCH[0], 25)
    assert (row.tests, row.passed, row.without_scripts, row.failed) == (5, 1, 2, 2)
    assert row.names == "test_order::test_counts test_order::test_sorts test_scan::test_scans"
    assert (row.server, row.version, row.java) == ("Elasticsearch", "9.5.3", 25)


def test_the_docs_have_the_recorded_table() -> None:
    """
    Every server has a row, and its numbers add up.
    """
    rows = load()
    assert {f"{row.server.lower()}-{row.version}" for row in rows} == set(SERVERS)
    assert all(row.passed + row.without_scripts + row.failed == row.tests > 1000 for row in rows)
    assert table(rows) in PAGE.read_text(encoding="utf-8")


def test_a_row_in_the_table() -> None:
    """
    Zero failures are a dash.
    """
    row = Row("Solr", "9.9.0", 17, 2356, 2356, 0, 0, "", "2026-11-23")
    assert table([row]).splitlines()[2] == "| Solr 9.9.0 | 17 | 2,356 | 2,356 | – | – | 2026-11-23 |"
