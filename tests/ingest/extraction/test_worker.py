"""The extraction process, called with its parent's protocol."""

from __future__ import annotations

import json

import pytest

from tests.made_files import mail
from whorl.ingest.extraction import worker
from whorl.ingest.extraction.confined_process import ConfinedProcess


@pytest.mark.process
def test_each_question_gets_one_answer() -> None:
    """
    The response to a request is the text of a file or a problem, even after an earlier problem; the process ends when
    its connection is closed.
    """
    files = [
        ("HTML", "<p>Grüße".encode()),
        ("PDF", b"no PDF"),
        ("e-mail", mail("Subject", "body")),
        ("HTML", b"x" * 101),
    ]
    started, answers = ConfinedProcess(worker.__name__, 60, 1_000_000_000, 100), []
    for name, raw in files:
        started.connection.send_bytes(name.encode())
        started.connection.send_bytes(raw)
        response = json.loads(started.connection.recv_bytes())
        text = started.connection.recv_bytes().decode().split()
        answers.append((text, response["problem"], response["is_out_of_memory"]))
    started.connection.close()
    assert started.process.wait() == 0
    assert answers == [
        (["Grüße"], "", False),
        ([], "this PDF is damaged, or it is none", False),
        (["Subject", "body"], "", False),
        ([], "its text is longer than 100 characters (setting max_file_text)", False),
    ]


def test_errors_of_a_library_s_code_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The problem of a damaged file has the class of an error, not a message about the code of a library.
    """

    def fail(*_: object) -> None:
        raise AttributeError("'_Element' object has no attribute 'overrides'")

    monkeypatch.setattr(worker, "append_text", fail)
    assert worker._read(b"", "DOCX", 1_000_000_000, 100) == (
        "",
        "this DOCX is damaged, or it is none: AttributeError",
        False,
    )
