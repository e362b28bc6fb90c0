"""A text too long for a complete sketch, copies of it, and an engine that records its calls."""

from __future__ import annotations

import random
from collections.abc import Collection

from tests.families import shingles
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.protocol import Candidates
from whorl.query.plan.nodes import BoundPlan

WORDS = 6_000


def texts() -> dict[str, str]:
    """Return a text too long for a complete sketch, and copies with different shares of its words replaced."""
    chance = random.Random(7)
    words = [f"w{chance.randrange(50_000)}" for _ in range(WORDS)]
    made = {"whole": words}
    for number in range(30):
        every = round(10 * 1.13**number)
        made[f"copy {number:02}"] = [f"x{at}" if at % every == 3 else word for at, word in enumerate(words)]
    made["short"] = words[:40]
    return {name: " ".join(words) for name, words in made.items()}


TEXTS = texts()


class Watched(EmbeddedEngine):
    """An engine that records its calls, and can shift the pages of candidates."""

    requests: list[str]
    shifted = False

    def texts(self, ids: Collection[str]) -> dict[str, str]:
        self.requests += [f"text of {document_id}" for document_id in ids]
        return dict(super().texts(ids))

    def candidates(self, plan: BoundPlan, *, start: int, rows: int, in_order: bool = True) -> Candidates:
        self.requests.append("candidates")
        # The shift imitates a new document that was stored between two pages and sorts first.
        page = super().candidates(plan, start=max(0, start - self.shifted), rows=rows, in_order=in_order)
        object.__setattr__(page, "warnings", ("somebody writes",))
        return page


def jaccard(one: str, other: str) -> float:
    """Return the Jaccard similarity of two of the texts, by plain sets."""
    a, b = shingles(TEXTS[one]), shingles(TEXTS[other])
    return len(a & b) / len(a | b)
