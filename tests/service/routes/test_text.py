"""Tests of extracting the text of a file over HTTP, within limits of size and time."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.made_files import SENTENCES, pdf
from tests.service.contracts import asked
from tests.service.limited import PATIENCE_SECONDS
from whorl import Store
from whorl.service.app import create_app
from whorl.service.middleware import admission
from whorl.settings.settings import Settings


@pytest.mark.process
def test_the_text_of_a_file(embedded_service: TestClient) -> None:
    """
    A file is read like on the command line: in its encoding, and the visible text of HTML.
    """

    def read(name: str, content: bytes) -> Any:
        return asked(embedded_service, "text", name=name, content=base64.b64encode(content).decode())["text"]

    assert read("a.txt", "Grüße".encode("utf-16")) == "Grüße"
    assert read("a.html", b"<p>seen<script>unseen</script></p>").split() == ["seen"]
    assert read("a.txt", b"<p>all") == "<p>all"


@pytest.mark.process
def test_the_text_of_a_pdf(embedded_contracts: Store) -> None:
    """
    A PDF's text follows the page; an encrypted PDF, or one over the service's limits, is a 400 with the reason.
    """
    plain, secret = (base64.b64encode(pdf(SENTENCES[0], password=word)).decode() for word in ("", "x"))
    with TestClient(create_app(embedded_contracts), raise_server_exceptions=False) as service:
        assert asked(service, "text", name="a.pdf", content=plain)["text"].split() == SENTENCES[0].split()
        answer = service.post("/api/v1/text", json={"name": "a.pdf", "content": secret})
        assert answer.status_code == 400
        assert "this PDF is encrypted" in answer.json()["error"]["message"]
    short = create_app(embedded_contracts, settings=Settings(max_file_text=20))
    with TestClient(short, raise_server_exceptions=False) as service:
        answer = service.post("/api/v1/text", json={"name": "a.pdf", "content": plain})
        assert answer.status_code == 400
        assert "longer than 20 characters" in answer.json()["error"]["message"]


@pytest.mark.process
def test_a_file_for_which_there_is_no_time(embedded_contracts: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A file that takes too long is a 503 that names the setting, since the file may be valid; this holds within the grace
    period.
    """
    monkeypatch.setattr(admission, "_GRACE_SECONDS", PATIENCE_SECONDS)
    endless = base64.b64encode(b"<div>" * 3_000_000).decode()
    with TestClient(create_app(embedded_contracts, settings=Settings(request_timeout_seconds=1.0))) as service:
        answer = service.post("/api/v1/text", json={"name": "a.html", "content": endless})
        assert answer.status_code == 503
        assert "Retry-After" in answer.headers
        assert "(setting request_timeout)" in answer.json()["error"]["message"]


@pytest.mark.parametrize(("content", "named"), [("=", "base64"), ("AAEC/w==", "not text")])
def test_a_file_that_is_no_text(embedded_service: TestClient, content: str, named: str) -> None:
    """
    A file that is not text is a 400 with the reason.
    """
    answer = embedded_service.post("/api/v1/text", json={"name": "a", "content": content})
    assert answer.status_code == 400
    assert named in answer.json()["error"]["message"]
