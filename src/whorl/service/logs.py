"""The log: one JSON object a line, with what was done and never with what was asked or found.

A query may quote a text, an id may be a name, and an error's words may repeat either. So lines hold kinds, counts,
times, statuses and the places in whorl's code that an error passed, and nothing that came from outside but the
request's id.
"""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

#: Where the service writes; `fields` of a record become members of its line.
LOGGER = "whorl.service"


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; of an exception, its class and where it was, without its words."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= described(record.exc_info[1])
        return json.dumps(line)


def described(error: BaseException) -> dict[str, Any]:
    """Return an error's class and the places that it passed, innermost last; its words may quote a document."""
    frames = traceback.extract_tb(error.__traceback__)
    return {"error": type(error).__name__, "at": [f"{each.filename}:{each.lineno} {each.name}" for each in frames]}


def configuration() -> dict[str, Any]:
    """Return what `logging.config.dictConfig` takes: everything to standard error, as JSON lines."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonLines}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            LOGGER: {"level": "INFO"},
            # That it listens, and where; that it stops, and what it still waits for.
            "uvicorn.error": {"level": "INFO"},
            # Solr's words about a request, and the request itself.
            "pysolr": {"level": "CRITICAL"},
        },
    }
