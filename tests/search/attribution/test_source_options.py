"""Options of the search for sources, in the words of a user."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import ParameterError, StoppedError
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import Document
from whorl.operations import SourcesOperation
from whorl.search.attribution.find_sources import find_sources

TEXT = " ".join(f"word{number}" for number in range(60))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    with EmbeddedEngine(tmp_path / "store") as made:
        made.index([Document("whole", TEXT), Document("half", " ".join(TEXT.split()[:30]))])
        made.refresh()
        yield made


def test_missing_options_have_their_defaults(engine: EmbeddedEngine) -> None:
    """
    Missing options have their defaults, percentages become fractions, and a document is not its own source.
    """
    attribution = find_sources(engine, TEXT, own_id="whole")
    assert [source.id for source in attribution.sources] == ["half"]
    assert attribution == find_sources(
        engine, TEXT, SourcesOperation(recall=95, min_words=8, most_read=300), own_id="whole"
    )
    assert attribution.level == "high"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recall": 101}, "recall"),
        ({"min_words": 0}, "min_words must be 1 to 1,000,000, got 0"),
        ({"min_words": 10**30}, "min_words must be 1 to 1,000,000, got 10000"),
        ({"most_read": 10_001}, "most_read must be 1 to 10,000, got 10001"),
        ({"ignore_common": True}, "'whorl index --passages' adds them"),
        ({"medium": 60}, r"medium \(60\) must not be larger than high \(50\)"),
        ({"high": 0}, "high"),
        ({"timeout": 0}, "timeout must be more than 0 seconds, got 0"),
    ],
)
def test_invalid_options_are_refused(engine: EmbeddedEngine, options: dict[str, Any], message: str) -> None:
    """
    Invalid options are refused before any document is read.
    """
    with pytest.raises(ParameterError, match=message):
        find_sources(engine, TEXT, SourcesOperation(**options))


@pytest.mark.parametrize(
    ("medium", "high", "level"),
    [
        (10, 50, "high"),
        (50, 50, "high"),
        (10, 51, "medium"),
        (50, 51, "medium"),
        (51, 51, "low"),
        (0.5, 0.51, "medium"),
    ],
)
def test_level_is_that_of_the_largest_threshold_reached(
    engine: EmbeddedEngine, medium: float, high: float, level: str
) -> None:
    """
    30 of 60 words, half of the text, are in the other document.
    """
    attribution = find_sources(engine, TEXT, SourcesOperation(medium=medium, high=high), own_id="whole")
    assert (attribution.coverage, attribution.level) == (0.5, level)


def test_text_without_sources_has_the_lowest_level(engine: EmbeddedEngine) -> None:
    assert find_sources(engine, "a text that stands nowhere in the store").level == "low"


def test_search_ends_with_its_timeout(engine: EmbeddedEngine) -> None:
    """
    A search that takes longer than allowed ends with an error, never with the sources found so far.
    """
    with pytest.raises(StoppedError, match="the time limit is reached"):
        find_sources(engine, TEXT, SourcesOperation(timeout=1e-9))


def test_passages_in_mails_are_covered(tmp_path: Path) -> None:
    """
    With a gate's options, an answer covers each passage of 20 words or more; signs between blanks are not words.
    """
    chance = random.Random(5)
    documents = [
        " ".join(chance.choice(["|", "==", "{", f"d{number}w{place}"]) for place in range(300)) for number in range(20)
    ]
    options = SourcesOperation(min_words=20, medium=10, high=50, timeout=10)
    planted = 0
    with EmbeddedEngine(tmp_path / "store", passages=PassageScheme()) as engine:
        engine.index(Document(str(number), text) for number, text in enumerate(documents))
        engine.refresh()
        for mail in range(60):
            wanted, parts = 0, [" ".join(f"m{mail}w{place}" for place in range(200))]
            for _ in range(3):
                pieces = chance.choice(documents).split()
                start = chance.randrange(len(pieces) - 20)
                piece = pieces[start : start + chance.randint(20, 200)]
                words = sum(character.isalnum() for character in piece)
                if words >= 20:
                    wanted += words
                    parts += [" ".join(piece), f"between{len(parts)}"]
            planted += wanted
            attribution = find_sources(engine, "\n".join(parts), options)
            assert (attribution.covered_words, attribution.unread) == (wanted, 0)
            share = wanted / attribution.words
            assert attribution.level == ("high" if share >= 0.5 else "medium" if share >= 0.1 else "low")
    assert planted > 1000


@pytest.mark.parametrize("passages", [False, True])
@pytest.mark.parametrize("cutter", ["\u200b", "\u3164", "\x07", "\ufff9", "\U000e0000"])
def test_invisible_characters_hide_nothing(tmp_path: Path, cutter: str, *, passages: bool) -> None:
    """
    Words of the text that invisible characters cut are also read as whole words; places are those of the text.
    """
    words = [f"{start}{end}" for start in ("gar", "ten", "haus", "stein") for end in ("ler", "mann", "wirt", "bach")]
    text = f"It says: {' '.join(f'{word[:2]}{cutter}{word[2]}{cutter}{word[3:]}' for word in words)}, and more."
    with EmbeddedEngine(tmp_path / "store", passages=passages) as engine:
        engine.index([Document("whole", " ".join(words)), Document("cut", text)])
        engine.refresh()
        found = find_sources(engine, text, own_id="cut")
        assert [(source.id, source.words) for source in found.sources] == [("whole", len(words))]
        start, end = found.sources[0].passages[0].a
        assert (found.content[start:end], found.content) == (text[9:-11], text)
        assert found.warnings[0] == "16 words of the text are cut by invisible characters, which are ignored"
        # A document with the same characters is still found.
        copy = find_sources(engine, text)
        assert (copy.sources[0].id, copy.coverage, copy.warnings) == ("cut", 1, ())
