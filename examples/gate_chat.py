"""A gate in front of a chat: a hook that says whether a message may be posted.

    WHORL=http://127.0.0.1:8000 uvicorn --app-dir examples gate_chat:app --port 8001

The chat server, or a model's output filter, posts `{"text": "..."}` to /messages and gets `{"allow": true}` or
`{"allow": false, "reason": "..."}`. If whorl does not answer in time, or cannot find all documents of its store, the
response is 503: the caller decides, and should hold the message back. Needs fastapi, uvicorn and requests.
"""

from __future__ import annotations

import os

import requests
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

#: Address of the service.
WHORL = os.environ.get("WHORL", "http://127.0.0.1:8000")
#: Seconds for a look-up.
TIMEOUT = 2

app = FastAPI(title="Gate for messages")


class Message(BaseModel):
    """A message that is about to be posted."""

    text: str


class Decision(BaseModel):
    """Whether a message may be posted, and why not."""

    allow: bool
    reason: str | None = None


@app.post("/messages")
def decide(message: Message) -> Decision:
    """Refuse messages that repeat a medium share of the store's documents, or a long passage."""
    if not message.text.strip():
        return Decision(allow=True)
    try:
        answer = requests.post(
            f"{WHORL}/api/v1/sources",
            json={"text": message.text, "texts": "none", "medium": 30, "timeout": TIMEOUT},
            timeout=2 * TIMEOUT,
        )
        answer.raise_for_status()
        found = answer.json()
    except (requests.RequestException, ValueError) as error:
        raise HTTPException(503, "the message could not be checked") from error
    if found["level"] == "low" and found["longest_passage"] < 50:
        if not found["is_complete"]:
            raise HTTPException(503, "the message could not be compared with all documents")
        return Decision(allow=True)
    documents = ", ".join(source["name"] or source["id"] for source in found["sources"][:3])
    return Decision(allow=False, reason=f"{found['coverage']:.0%} of the message is from {documents}")
