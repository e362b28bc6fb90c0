"""Estimated shares of hits with a source: from sketches, or from tokens without them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.families import shingles
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.statistics.metric import Shares
from whorl.model import Document
from whorl.search.similar.estimates import measure
from whorl.search.similar.sources import Sources

WORDS = [f"w{at}" for at in range(200)]
TEXTS = {
    "whole": " ".join(WORDS),
    "half": " ".join(WORDS[:100]),
    "far": " ".join(f"x{at}" for at in range(100)),
    "short": "one two",
}


def store(folder: Path, scheme: Scheme) -> EmbeddedEngine:
    engine = EmbeddedEngine(folder, scheme=scheme)
    engine.index(Document(name, text) for name, text in TEXTS.items())
    engine.refresh()
    return engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    with store(tmp_path / "store", Scheme()) as opened:
        yield opened


def true_shares(one: str, other: str) -> Shares:
    a, b = shingles(one), shingles(other)
    return Shares.of_counts(len(a & b), len(a), len(b))


def test_shares_are_those_of_the_shingles(engine: EmbeddedEngine) -> None:
    """
    With complete sketches the shares are exact, for a document and for a given text; a source shares everything with
    itself.
    """
    sources = Sources(engine, {"given": TEXTS["half"]})
    for source, text in (("half", TEXTS["half"]), ("given", TEXTS["half"])):
        found = measure(sources, source, ["whole", "half", "far", "short", "gone"])
        assert list(found) == ["whole", "half", "far"]
        for name, each in found.items():
            assert each.estimate is not None
            assert (each.estimate.shares, each.estimate.is_exact) == (true_shares(text, TEXTS[name]), True)
            assert each.source_tokens == 512
        assert found["half"].shared_tokens == 512
        assert 0 < found["whole"].shared_tokens < 512
        assert found["far"].shared_tokens == 0


def test_tokens_tell_roughly(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without sketches the true shares lie in an interval around the likeliest ones.
    """
    monkeypatch.setattr(EmbeddedEngine, "sketch_scheme", None)
    found = measure(Sources(engine, {}), "half", ["whole", "half", "far"])
    for name, each in found.items():
        assert each.estimate is not None
        truth = true_shares(TEXTS["half"], TEXTS[name])
        for share in Shares.NAMES:
            low, likeliest, high = (
                getattr(part, share) for part in (each.estimate.low, each.estimate.shares, each.estimate.high)
            )
            assert low <= likeliest <= high
            assert low <= getattr(truth, share) <= high
        assert each.estimate.is_exact is False


def test_tokens_of_other_schemes_tell_too_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If buckets may be empty or hold several tokens, shared tokens are counted but not converted to shares.
    """
    monkeypatch.setattr(EmbeddedEngine, "sketch_scheme", None)
    with store(tmp_path / "other", Scheme(bucket_count=16, hash_set_size=2)) as engine:
        found = measure(Sources(engine, {}), "half", ["whole", "half"])
    assert [each.estimate for each in found.values()] == [None, None]
    assert found["half"].shared_tokens == found["half"].source_tokens


@pytest.mark.parametrize(("source", "ids"), [("gone", ["half"]), ("short", ["half"]), ("half", []), ("half", ["gone"])])
def test_nothing_to_measure(engine: EmbeddedEngine, source: str, ids: list[str]) -> None:
    """
    An unknown or too short source, and deleted hits, have no measurements.
    """
    assert measure(Sources(engine, {}), source, ids) == {}
