"""The comparison of the engines: every query runs once on each engine, and differences are reported."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from same_answers import compare, questions, report
from tests.families import family_documents
from whorl import open_store


@pytest.mark.slow
def test_a_run_continues_and_reports_differences(tmp_path: Path) -> None:
    """
    An interrupted run continues with the next query; differences are reported.
    """
    documents = [
        replace(document, properties={"number": number})
        for number, document in enumerate(islice(family_documents(2, longest=200), 4))
    ]
    asked_questions, log = list(questions(documents, 20)), tmp_path / "log"
    with open_store(tmp_path / "a") as a, open_store(tmp_path / "b") as b:
        for store in (a, b):
            store.index(documents)
        begun = compare({"a": a, "b": b}, asked_questions[:30], log)
        answers = compare({"a": a, "b": b}, asked_questions, log)
        assert [answer["name"] for answer in answers] == [name for name, _ in asked_questions]
        assert answers[:30] == begun
        assert sum(answer["name"].startswith("similar to ") for answer in answers) == 4 * 8
        assert any(answer["totals"]["a"] for answer in answers)
        assert not any(answer["differs"] for answer in answers)
        b.delete([documents[0].id])
        log.unlink()
        answers = compare(
            {"a": a, "b": b}, [question for question in asked_questions if "similar" not in question[0]], log
        )
    assert any(line.startswith("differs: ") for line in report(answers, ["a", "b"], 4))
