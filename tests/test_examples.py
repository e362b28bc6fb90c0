"""The recipes under examples/ work as described; tests/test_documentation.py runs the others."""

from __future__ import annotations

import csv
import io
import json
import os
import runpy
import smtplib
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path

import pytest
import requests
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope
from fastapi.testclient import TestClient

from tests.cli.running import WHORL, own_collection, whorl
from tests.service.served import serving
from whorl import Document, open_store

EXAMPLES = Path(__file__).parents[1] / "examples"
CONTRACTS = EXAMPLES / "contracts"


def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """
    The notebook's cells run one after the other, and it is stored without output.
    """
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    notebook = json.loads((EXAMPLES / "near_copies.ipynb").read_text("utf-8"))
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["lease-2023.txt", "9.0%", "alike,", "27.8%", "of", "the", "minutes", "is", "in", "it"]
    assert any(line.startswith("The landlord keeps the structure") for line in lines)
    assert lines[-1] == "[['lease-2023.txt', 'lease_2024.txt']] ['lease-2023.txt', 'minutes.txt', 'recipe.txt']"


@pytest.mark.process
def test_copied_functions(tmp_path: Path) -> None:
    """
    A function with other names and without its comments is listed with its origin; a short or another one is not.
    """
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    ours.mkdir()
    loop = "    for part in parts:\n        if part.size > limit and part.name not in seen:  # big\n"
    loop = f"{loop}            seen.add(part.name)\n" * 3
    original = f'def pick(parts, limit):\n    """Pick."""\n    seen = set()\n{loop}    return sorted(seen, key=len)\n'
    (theirs / "lib.py").write_text("def short(part):\n    return part\n\n\n" + original)
    copy = original
    for name, other in {
        "pick": "f",
        "parts": "rows",
        "part": "row",
        "limit": "n",
        "seen": "s",
        '"""Pick."""': "n += 1",
    }.items():
        copy = copy.replace(name, other)
    (ours / "own.py").write_text("def short(a):\n    return a\n\n\n" + copy.replace("  # big", ""))
    (ours / "other.py").write_text("def other(a):\n" + "    while a < 3:\n        a = a * 2 + len(str(a))\n" * 9)
    (ours / "broken.py").write_text("def broken(:\n")
    done = subprocess.run(
        [sys.executable, EXAMPLES / "copied_functions.py", ours, theirs], capture_output=True, text=True, check=False
    )
    [line] = done.stdout.splitlines()
    assert line.split("\t")[:2] == [f"{ours / 'own.py'}:5:f", f"{theirs / 'lib.py'}:5:pick"]
    assert "broken.py" in done.stderr
    assert done.returncode == 1


@pytest.mark.process
@pytest.mark.slow
def test_the_nightly_job(tmp_path: Path) -> None:
    """
    The second night reports only the new documents, and keeps the report of the first night, even on the same day.
    """
    documents, reports = tmp_path / "documents", tmp_path / "reports"
    documents.mkdir()
    for name in ("lease-2023.txt", "lease_2024.txt", "recipe.txt"):
        (documents / name).write_text((CONTRACTS / name).read_text("utf-8"))
    environment = {**os.environ, "PATH": f"{WHORL.parent}{os.pathsep}{os.environ['PATH']}"}

    def night() -> str:
        job = [str(EXAMPLES / "nightly_duplicates.sh"), str(tmp_path / "store"), str(documents), str(reports)]
        return subprocess.run(job, env=environment, capture_output=True, text=True, check=True).stdout

    assert "documents that repeat others: 1," in night()
    (first,) = reports.glob("*-superfluous.txt")
    superfluous = first.read_text()
    (documents / "copy.txt").write_text((CONTRACTS / "recipe.txt").read_text("utf-8"))
    assert "documents that repeat others: 1," in night()
    assert first.read_text() == superfluous
    report = max(reports.glob("*.csv"))
    with report.open(newline="", encoding="utf-8") as lines:
        assert {Path(row["id"]).name for row in csv.DictReader(lines)} == {"recipe.txt", "copy.txt"}


@pytest.mark.process
@pytest.mark.slow
def test_the_client_of_alfresco(tmp_path: Path) -> None:
    """
    The Alfresco client logs in and prints the shares of the hits.
    """
    with open_store(tmp_path / "store") as store:
        store.index(Document(path.stem, path.read_text("utf-8"), name=path.name) for path in CONTRACTS.glob("*.txt"))
    with serving(tmp_path / "store", user="ann", password="secret") as served:
        command = [sys.executable, str(EXAMPLES / "alfresco_client.py"), served.url, "ann", "secret", "lease-2023"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "3 documents share content with lease-2023",
        "lease-2023.txt: score 512, 100% of lease-2023 is in it",
        "lease_2024.txt: score 452, 91% of lease-2023 is in it",
        "minutes.txt: score 58, 12% of lease-2023 is in it",
    ]


@pytest.mark.solr
@pytest.mark.slow
def test_the_backend_of_a_search_application(
    solr_standalone_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The backend lists near-copies with the hit that represents them, and counts the documents that contain part of
    another, in a collection that an application has filled, with its own field names.
    """
    monkeypatch.chdir(tmp_path)
    with own_collection(solr_standalone_url) as url:
        fields = [{"name": name, "type": "text_whorl", "indexed": True, "stored": True} for name in ("body", "heading")]
        requests.post(f"{url}/schema", json={"add-field": fields}, timeout=240).raise_for_status()
        rows = [
            {"id": path.stem, "body": path.read_text("utf-8"), "heading": path.name} for path in CONTRACTS.glob("*.txt")
        ]
        requests.post(f"{url}/update?commit=true", json=rows, timeout=240).raise_for_status()
        assert whorl("solr", "init", url, "--content", "body", "--name", "heading").exit_code == 0
        assert whorl("solr", "backfill", url).exit_code == 0
        done = whorl("duplicates", "--store", url, "--threshold", "70", "--keep", "longest", "--write-ids")
        assert done.exit_code == 0, done.output
        monkeypatch.setenv("SOLR", url)
        client = TestClient(runpy.run_path(str(EXAMPLES / "search_backend.py"))["app"])
        body = client.get("/search", params={"q": "landlord"}).json()
        copies = {hit["id"]: hit["copies"] for hit in body["hits"]}
        assert (body["total"], set(copies)) == (2, {"lease_2024", "minutes"})
        assert copies == {"lease_2024": ["lease-2023"], "minutes": []}
        contained = client.get("/contained", params={"id": "minutes"}).json()
        assert {(entry["id"], entry["share"] > 0.27) for entry in contained} == {
            ("lease-2023", True),
            ("lease_2024", True),
        }
        assert client.get("/contained", params={"id": "nobody"}).status_code == 404


@contextmanager
def mail_server() -> Iterator[tuple[int, list[Envelope]]]:
    """Run a real SMTP server that keeps what it receives; yield its port and the mails."""
    mails: list[Envelope] = []

    class Inbox:
        async def handle_DATA(self, server: object, session: object, envelope: Envelope) -> str:
            mails.append(envelope)
            return "250 OK"

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    controller = Controller(Inbox(), hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield port, mails
    finally:
        controller.stop()


@contextmanager
def mail_gate(whorl_url: str, onward: int) -> Iterator[int]:
    """Run the gate of the example in a process of its own; yield its port."""
    command = [sys.executable, str(EXAMPLES / "gate_mail.py"), whorl_url, f"127.0.0.1:{onward}"]
    with subprocess.Popen([*command, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as gate:
        try:
            assert gate.stdout is not None
            yield int(gate.stdout.readline().rpartition(":")[2])
        finally:
            gate.terminate()


def mail(*attachments: tuple[str, str], text: str = "Hello Bob, see you at noon.") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "ann@example.com", "bob@example.org", "The lease"
    message.set_content(text)
    for name, content in attachments:
        message.add_attachment(content, filename=name, subtype=name.rpartition(".")[2])
    message.add_attachment(b"\x89PNG\r\n", maintype="image", subtype="png", filename="logo.png")
    return message


@pytest.mark.process
def test_mail_gate(tmp_path: Path) -> None:
    """
    A harmless mail is delivered. Contracts quoted in the body, in a file or in an attached mail are refused, as is
    an attachment that cannot be read.

    Without an answer of the service, the sender is asked to try again later.
    """
    letter = (EXAMPLES / "letter.txt").read_text("utf-8")
    with open_store(tmp_path / "store") as store:
        store.index(Document(path.stem, path.read_text("utf-8"), name=path.name) for path in CONTRACTS.glob("*.txt"))
    reason = b"5.7.1 61% of the text, up to 29 words in a row, is from lease-2023.txt, recipe.txt, lease_2024.txt"
    with mail_server() as (onward, mails):
        with (
            serving(tmp_path / "store") as served,
            mail_gate(served.url, onward) as port,
            smtplib.SMTP("127.0.0.1", port) as sender,
        ):
            sender.send_message(mail())
            html, forwarded = mail(), mail()
            html.add_attachment(f"<p>{letter}</p>", subtype="html", filename="old.html")
            forwarded.add_attachment(mail(text=letter))
            attached = mail(("old.txt", letter), text="Not a secret. " * 200)
            rows = mail(("old.json", json.dumps([{"text": letter}])))
            lines = mail(("old.jsonl", "\n".join(json.dumps([text]) for text in (letter, ""))))
            for refused in (mail(text=letter), attached, html, forwarded, rows, lines):
                with pytest.raises(smtplib.SMTPDataError) as error:
                    sender.send_message(refused)
                assert (error.value.smtp_code, error.value.smtp_error) == (550, reason)
            packed, archive = io.BytesIO(), mail()
            with zipfile.ZipFile(packed, "w") as opened:
                opened.writestr("old.txt", letter)
            archive.add_attachment(packed.getvalue(), maintype="image", subtype="png", filename="a.zip")
            with pytest.raises(smtplib.SMTPDataError, match=r"a\.zip cannot be checked") as error:
                sender.send_message(archive)
            assert error.value.smtp_code == 550
        with mail_gate(served.url, onward) as port, smtplib.SMTP("127.0.0.1", port) as sender:
            with pytest.raises(smtplib.SMTPDataError) as error:
                sender.send_message(mail())
            assert error.value.smtp_code == 451
    (arrived,) = mails
    assert b"see you at noon" in (arrived.original_content or b"")
    assert (arrived.mail_from, arrived.rcpt_tos) == ("ann@example.com", ["bob@example.org"])


@pytest.mark.process
def test_chat_gate(tmp_path: Path) -> None:
    """
    A hook lets a harmless message pass, refuses one from a contract, and answers 503 without the service.
    """
    with open_store(tmp_path / "store") as store:
        store.index(Document(path.stem, path.read_text("utf-8"), name=path.name) for path in CONTRACTS.glob("*.txt"))
    hook = runpy.run_path(str(EXAMPLES / "gate_chat.py"))
    client, at = TestClient(hook["app"]), hook["decide"].__globals__
    recipe = (CONTRACTS / "recipe.txt").read_text("utf-8")
    with serving(tmp_path / "store") as served:
        at["WHORL"] = served.url
        for harmless in ("see you at noon", " "):
            assert client.post("/messages", json={"text": harmless}).json() == {"allow": True, "reason": None}
        refused = client.post("/messages", json={"text": f"Dear Ann,\n{recipe}"}).json()
        assert not refused["allow"]
        assert refused["reason"].endswith("of the message is from recipe.txt")
    assert client.post("/messages", json={"text": "see you at noon"}).status_code == 503


@pytest.mark.clients
def test_gates_keep_texts_if_documents_are_not_found(solr_standalone_url: str) -> None:
    """
    While the store has a document that searches cannot find, the gates let nothing pass, not even a harmless text.
    """
    recipe = (CONTRACTS / "recipe.txt").read_text("utf-8")
    with own_collection(solr_standalone_url) as url, open_store(url) as store, mail_server() as (onward, mails):
        store.index([Document("lease", (CONTRACTS / "lease-2023.txt").read_text("utf-8"))])
        row = [{"id": "recipe", "content": recipe}]
        requests.post(f"{url}/update?commit=true", json=row, timeout=240).raise_for_status()
        hook = runpy.run_path(str(EXAMPLES / "gate_chat.py"))
        with serving(url) as served, mail_gate(served.url, onward) as port, smtplib.SMTP("127.0.0.1", port) as sender:
            hook["decide"].__globals__["WHORL"] = served.url
            for text in (recipe, "see you at noon"):
                assert TestClient(hook["app"]).post("/messages", json={"text": text}).status_code == 503
                with pytest.raises(smtplib.SMTPDataError) as error:
                    sender.send_message(mail(text=text))
                assert error.value.smtp_code == 451
    assert not mails
