"""Clients of `whorl serve` that locust runs for `load.py`.

Each client sends the next request after a response; after a 503 it waits for the time in Retry-After. Every response is
written to a file with its time, and so is the id of every acknowledged document.
"""

from __future__ import annotations

import csv
import itertools
import json
import os
import random
import time
from pathlib import Path
from typing import Any

import gevent
from locust import FastHttpUser, events, task

from load_texts import VARIANTS, document_id, text

#: Families in the store, the files for responses and ids, and the service's key.
_FAMILIES, _FOLDER = int(os.environ["LOAD_FAMILIES"]), Path(os.environ["LOAD_FOLDER"])
#: Stored documents: "new" ones, the "same" ones with other texts, or "none".
_UPLOADS = os.environ["LOAD_UPLOADS"]
_HEADERS = {"Authorization": f"Bearer {os.environ['LOAD_KEY']}"}
_PAUSE_SECONDS = 0.5
#: Number of documents per request, and number of documents that are replaced repeatedly, so that no store grows.
_DOCUMENTS, _CONSTANT = 3, 300

_answers_file = (_FOLDER / "answers.csv").open("w", encoding="utf-8", newline="")
_answers = csv.writer(_answers_file)
_stored = (_FOLDER / "stored.txt").open("w", encoding="utf-8")
_numbers = itertools.count()
_chance = random.Random(7)


@events.quitting.add_listener
def _close(**_: Any) -> None:
    # locust ends without closing files.
    _answers_file.close()
    _stored.close()


class Client(FastHttpUser):  # type: ignore[misc]  # locust is not there when types are checked
    network_timeout = connection_timeout = 120.0

    @task(4)
    def search(self) -> None:
        """Search for a FINGERPRINT, alone or with a word."""
        name = document_id(_chance.randrange(_FAMILIES), _chance.randrange(VARIANTS))
        query = _chance.choice(
            [f"FINGERPRINT:{name}_50", f"FINGERPRINT:{name}_50_90", f"FINGERPRINT:{name} AND NOT xyz"]
        )
        self._ask("search", "GET", "/api/v1/search", params={"q": query})

    @task(3)
    def similar_to_document(self) -> None:
        """Search for documents similar to a stored one."""
        name = document_id(_chance.randrange(_FAMILIES), _chance.randrange(VARIANTS))
        self._ask("similar by id", "POST", "/api/v1/similar", json={"id": name, "metric": "jaccard", "threshold": 40})

    @task(2)
    def similar_to_text(self) -> None:
        """Search for documents similar to a text outside the store."""
        sent = text(_chance.randrange(_FAMILIES), 1_000 + _chance.randrange(1_000))
        self._ask("similar by text", "POST", "/api/v1/similar", json={"text": sent, "metric": "contains"})

    @task(1)
    def explain(self) -> None:
        """Explain a query."""
        name = document_id(_chance.randrange(_FAMILIES), 0)
        self._ask("explain", "GET", "/api/v1/explain", params={"q": f"FINGERPRINT:{name}_70"})

    @task(1)
    def store(self) -> None:
        """Store new documents, or replace earlier ones."""
        if _UPLOADS == "none":
            return
        numbers = list(itertools.islice(_numbers, _DOCUMENTS))
        ids = [f"n{number % _CONSTANT if _UPLOADS == 'same' else number}" for number in numbers]
        lines = [
            json.dumps({"id": document_id, "text": text(_FAMILIES + number, 0)})
            for document_id, number in zip(ids, numbers, strict=True)
        ]
        headers = {"Content-Type": "application/x-ndjson"}
        answer = self._ask("documents in", "POST", "/api/v1/documents", data="\n".join(lines), headers=headers)
        if answer.status_code == 200 and answer.json()["stored"] == len(ids):
            _stored.write("".join(f"{document_id}\n" for document_id in ids))
            _stored.flush()

    def _ask(self, name: str, method: str, path: str, headers: dict[str, str] | None = None, **more: Any) -> Any:
        began = time.time()
        with self.client.request(
            method, path, name=name, headers={**_HEADERS, **(headers or {})}, catch_response=True, **more
        ) as answer:
            # `load.py` judges the status, because it knows when the engine was down.
            answer.success()
        _answers.writerow([f"{began:.3f}", f"{time.time():.3f}", name, answer.status_code])
        if answer.status_code != 200:
            gevent.sleep(_PAUSE_SECONDS)
        return answer
