"""The extraction process, called with its parent's protocol."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.made_files import mail
from whorl.ingest.extraction import worker


@pytest.mark.process
def test_each_question_gets_one_answer() -> None:
    """
    Requests and answers are a line of JSON followed by bytes: the text of a file or the problem; the process ends with
    its input.
    """
    files = [
        ("HTML", "<p>Grüße".encode()),
        ("PDF", b"no PDF"),
        ("e-mail", mail("Subject", "body")),
        ("HTML", b"x" * 101),
    ]
    requests = b"".join(json.dumps({"size": len(raw), "format": name}).encode() + b"\n" + raw for name, raw in files)
    command = [sys.executable, "-P", "-m", worker.__name__, "60", "1000000000", "100"]
    remainder = subprocess.run(command, input=requests, capture_output=True, check=True).stdout
    answers = []
    while remainder:
        line, _, remainder = remainder.partition(b"\n")
        response = json.loads(line)
        answers.append(
            (remainder[: response["size"]].decode().split(), response["problem"], response["is_out_of_memory"])
        )
        remainder = remainder[response["size"] :]
    assert answers == [
        (["Grüße"], "", False),
        ([], "this PDF is damaged, or it is none", False),
        (["Subject", "body"], "", False),
        ([], "its text is longer than 100 characters (setting max_file_text)", False),
    ]
