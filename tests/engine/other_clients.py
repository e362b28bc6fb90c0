"""Writes between the requests of a call: by another client, or by a request whose response was lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from whorl import Document, Store, open_store


def assert_no_text_of_another_client_is_replaced(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch, *, sender: str
) -> None:
    """
    Index with replace=False while another client stores a document, and then changes one, just before the method
    `sender` of the engine's client sends them.
    """
    text, other_text = "a text of five words", "another text of five words"
    store.index([Document("changed", text)])
    names, client = ["new", "changed"], store.engine._client  # type: ignore[attr-defined]
    send, refused = getattr(client, sender), list[str]()

    def send_later(documents: Any) -> Any:
        if names:
            with open_store(url) as other:
                other.index([Document(names.pop(0), other_text)])
        return send(documents)

    monkeypatch.setattr(client, sender, send_later)
    for document in (Document("new", text), Document("changed", text, "a name")):
        indexed = store.index([document], replace=False, on_refused=lambda _, error: refused.append(str(error)))
        assert indexed.stored == 0
    reason = "another client has just stored a document of this name; try again"
    assert refused == [f"new: {reason}", f"changed: {reason}"]
    assert store.texts(["new", "changed"]) == {"new": other_text, "changed": other_text}
    assert store.index([Document("new", other_text, "a name")], replace=False).stored == 1
    assert store.delete(["new", "changed"]) == 2


@contextmanager
def losing_proxy(url: str, path: str) -> Iterator[str]:
    """Run a proxy before a server, and yield the URL of the store through it.

    The response to the first request for a path that ends with `path` is lost after the server has processed it.
    """
    server, lost = urlsplit(url), list[str]()

    class Handler(BaseHTTPRequestHandler):
        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            upstream = HTTPConnection(str(server.hostname), server.port)
            # Without the header, the server does not compress the response.
            headers = {name: value for name, value in self.headers.items() if name.lower() != "accept-encoding"}
            upstream.request(self.command, self.path, body, headers)
            response = upstream.getresponse()
            content = response.read()
            upstream.close()
            if not lost and urlsplit(self.path).path.endswith(path):
                lost.append(self.path)
                return
            self.send_response(response.status)
            self.send_header("content-type", response.headers["content-type"])
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = pass_on  # noqa: N815 - names of http.server

        def log_message(self, *_: object) -> None:
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=proxy.serve_forever)
    thread.start()
    try:
        yield server._replace(netloc=f"127.0.0.1:{proxy.server_port}").geturl()
        assert lost
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()


def assert_a_lost_response_refuses_nothing(url: str, path: str) -> None:
    """
    With replace=False, store new documents and change a name while the response to the first write is lost; then
    store a different text, which is still refused.
    """
    old, new = Document("changed", "a text of five words", "its name"), Document("new", "a text of six other words")
    with open_store(url) as store:
        store.index([Document("changed", old.text)])
        with losing_proxy(url, path) as lossy_url, open_store(lossy_url) as lossy:
            indexed = lossy.index([old, new], replace=False, on_refused=lambda *_: pytest.fail("refused"))
            assert indexed.stored == 2
        names = {hit.id: hit.name for hit in store.search("id:changed OR id:new").hits}
        assert names == {"changed": "its name", "new": ""}
        refused = list[str]()
        with losing_proxy(url, path) as lossy_url, open_store(lossy_url) as lossy:
            documents = [Document("newer", "a text"), Document("new", "a different text"), Document("newest", "a text")]
            indexed = lossy.index(documents, replace=False, on_refused=lambda own, _: refused.append(own.id))
            assert (indexed.stored, refused) == (2, ["new"])
        assert store.delete(["changed", "new", "newer", "newest"]) == 4
