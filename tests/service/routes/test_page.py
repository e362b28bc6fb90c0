"""Tests of the page's files: public, self-contained, nothing from other hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from whorl import Store
from whorl.fingerprint.statistics.metric import PAIR_METRICS, SIMILAR_METRICS, Metric
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.service.routes.page import FILES

#: Patterns of code that would parse a text as HTML or run it.
SINKS = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "parseFromString", "setHTML", "eval(")


NAMES = sorted(path.name for path in FILES.iterdir())


@pytest.fixture
def guarded(embedded_contracts: Store) -> Iterator[TestClient]:
    """Client of a service with credentials."""
    with TestClient(create_app(embedded_contracts, Credentials(user=("ann", "secret")))) as made:
        yield made


def test_the_page_is_public_and_the_data_is_not(guarded: TestClient) -> None:
    """
    The page and its files need no password, but its data does.
    """
    assert guarded.get("/").headers["Content-Type"] == "text/html; charset=utf-8"
    for name in NAMES:
        assert guarded.get(f"/page/{name}").status_code == 200
    for path in ("search", "explain", "text", "compare"):
        assert guarded.post(f"/api/v1/{path}", json={}).status_code == 401


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/page/base.css", "/page/icon.svg"])
def test_the_page_loads_nothing_from_elsewhere(guarded: TestClient, path: str) -> None:
    """
    The page's policy allows only its own scripts, styles and connections, no frame around it, and no HTML from text.
    """
    headers = guarded.get(path).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["Content-Security-Policy"].split(";"))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("name", NAMES)
def test_files_of_the_page_keep_to_themselves(name: str) -> None:
    """
    The page's files contain no address of another host, no HTML made from text, and no inline script or style.
    """
    content = (FILES / name).read_text(encoding="utf-8")
    hosts = set(re.findall(r"(?:https?:)?//([\w.-]+\.\w+)", content))
    assert hosts <= {"www.w3.org"}, "the name of a format is not an address"
    assert [sink for sink in SINKS if sink in content] == []
    assert not re.search(r"\sstyle=|<style|\son\w+=\"|<script(?! type=\"module\" src=\"page/)", content)


@pytest.mark.parametrize("path", ["/page/none.js", "/page/..%2fpage.py", "/page/%2e%2e/page.py", "/page/", "/page"])
def test_no_other_file_is_served(guarded: TestClient, path: str) -> None:
    """
    A path outside the folder is a 404.
    """
    assert guarded.get(path).status_code == 404


def test_unchanged_files_are_not_sent_again(guarded: TestClient) -> None:
    """
    A file that the browser already has is a 304.
    """
    first = guarded.get("/page/app.js")
    again = guarded.get("/page/app.js", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_page_offers_every_metric() -> None:
    """
    The page has a choice for each metric of a search and of duplicates; a search for the smaller text has two.
    """
    page = (FILES / "index.html").read_text(encoding="utf-8")
    searched = {Metric(value) for value in re.findall('name="metric" value="([^"]+)"', page)}
    assert searched == SIMILAR_METRICS.keys() - {Metric.CONTAINMENT}
    (choices,) = re.findall('<select id="cluster-metric">(.*?)</select>', page, re.DOTALL)
    assert {Metric(value) for value in re.findall('value="([^"]+)"', choices)} == PAIR_METRICS.keys()
