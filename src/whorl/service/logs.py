"""Log as JSON lines, without texts, ids and error messages of requests.

A query may quote a text, an id may be a name, and an error message may repeat either. So lines hold kinds, counts,
times, statuses and the places in whorl's code that an error passed, and the request id as the only thing from outside.
"""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

#: Logger of the service; `fields` of a record become members of its line.
LOGGER = "whorl.service"


class JsonLines(logging.Formatter):
    """Formatter that writes a record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; for an exception, its class and stack without its message."""
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
    """Return an error's class and stack, innermost call last, without the message, which may quote a document."""
    frames = traceback.extract_tb(error.__traceback__)
    return {"error": type(error).__name__, "at": [f"{each.filename}:{each.lineno} {each.name}" for each in frames]}


def configuration() -> dict[str, Any]:
    """Return the argument for `logging.config.dictConfig`: everything to standard error as JSON lines."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonLines}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            LOGGER: {"level": "INFO"},
            # Start with address, and shutdown with the requests it still waits for.
            "uvicorn.error": {"level": "INFO"},
            # pysolr logs requests and Solr's messages about them, which may hold texts.
            "pysolr": {"level": "CRITICAL"},
        },
    }
