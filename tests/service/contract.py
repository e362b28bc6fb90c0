"""Schemathesis against a service: every check over every operation, in all phases.

Each finding is a valid request that the service does not answer as described, or an invalid request that it accepts.
`python -m tests.service.contract EXAMPLES` lists the findings of a longer run, and exits with 1 if there are any.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from starlette.testclient import TestClient

with warnings.catch_warnings():
    # Ignore warnings from Schemathesis' dependencies.
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.config import HealthCheck
    from schemathesis.engine import events, from_schema

from tests.service.contracts import documents
from whorl import open_store
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.service.requests_and_responses import DOCUMENTS, SEARCH, TICKETS

_USER, _PASSWORD = "ann", "secret"
#: Operations whose valid requests may still break rules that a schema cannot express: labels given twice, an end before
#: its start, two exclusive parameters, a query that matches everything, a quotation without a word, a level medium
#: above the level high. The error (400) names them.
_JUDGED = {SEARCH, DOCUMENTS, *(f"/api/v1/{name}" for name in ("search", "explain", "delete", "verify", "sources"))}
_WORDS = st.text("abcdefghij ", min_size=1, max_size=12).filter(str.strip)


def _formats() -> None:
    """Register generators for the description's formats: query syntax, files, lines."""
    queries = st.sampled_from(["lease", '"Mill Lane"', "pages:[1 TO *]", "FINGERPRINT:lease_20", "cm:title:l*", "*"])
    lines = st.lists(st.fixed_dictionaries({"id": st.text("abc", min_size=1), "text": _WORDS}), min_size=1, max_size=3)
    schemathesis.openapi.format("afts", queries)
    schemathesis.openapi.format("byte", _WORDS.map(lambda text: base64.b64encode(text.encode()).decode()))
    schemathesis.openapi.format(
        "binary", lines.map(lambda values: "".join(f"{json.dumps(value)}\n" for value in values))
    )


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> bytes:
    """Send a body of lines unchanged."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


def _tickets(client: TestClient) -> type:
    """Return an authentication that logs in for each request, since some requests log out."""

    class Tickets:
        def get(self, case: Any, context: Any) -> str:
            ticket = client.post(TICKETS, json={"userId": _USER, "password": _PASSWORD}).json()["entry"]["id"]
            return base64.b64encode(ticket.encode()).decode()

        def set(self, case: Any, data: str, context: Any) -> None:
            case.headers = {**(case.headers or {}), "Authorization": f"Basic {data}"}

    return Tickets


def findings(examples: int, seed: int = 1, *, has_edges: bool = True) -> Iterator[str]:
    """Yield each finding of the checks once; no finding means that the service answers as described.

    Args:
        examples: Maximum number of requests of each operation and phase.
        seed: Seed of the random requests.
        has_edges: Whether to also test the edge cases of each part, without a limit on their number.
    """
    _formats()
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store", passages=True) as store:
        store.index(documents())
        app = create_app(store, Credentials(user=(_USER, _PASSWORD)))
        schema = schemathesis.openapi.from_asgi("/openapi.json", app)
        schema.auth(refresh_interval=None)(_tickets(TestClient(app)))
        schema.config.generation.update(max_examples=examples)
        schema.config.seed = seed
        # The duration of an example depends on the load of the machine.
        schema.config.suppress_health_check = [HealthCheck.too_slow]
        schema.config.phases.coverage.enabled = has_edges
        reported = set[tuple[str, ...]]()
        for event in from_schema(schema).execute():
            if isinstance(event, events.NonFatalError | events.FatalError):
                yield repr(event)
            if not isinstance(event, events.ScenarioFinished):
                continue
            for case_id, checks in event.recorder.checks.items():
                for check in checks:
                    if check.failure_info is None:
                        continue
                    case, failure = event.recorder.cases[case_id].value, check.failure_info.failure
                    answer = event.recorder.interactions[case_id].response
                    is_refused = check.name == "positive_data_acceptance" and answer and answer.status_code == 400
                    # A random request may have deleted the only document with a property that a query names.
                    is_gone = is_refused and answer is not None and b"the store has no field" in answer.content
                    if is_gone or (is_refused and case.path in _JUDGED):
                        continue
                    key = (case.method, case.path, check.name, failure.title)
                    if key not in reported:
                        reported.add(key)
                        about = f"{case.query} {case.path_parameters} {case.body!r}"
                        yield f"{' '.join(key)}: {failure.message} | {about:.600}".replace("\n", " ")


if __name__ == "__main__":
    count = 0
    for count, finding in enumerate(findings(int(sys.argv[1]), *map(int, sys.argv[2:])), start=1):  # noqa: B007
        print(finding, flush=True)
    sys.exit(1 if count else 0)
