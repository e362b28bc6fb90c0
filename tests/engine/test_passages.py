"""Tokens of passages: the numbers in letters, behind the mark that a text has been read."""

from __future__ import annotations

from whorl.engine.passages import passage_tokens, spelled_numbers
from whorl.fingerprint.shingling import join
from whorl.fingerprint.winnowing import PassageScheme, winnowed

SCHEME = PassageScheme()


def test_tokens() -> None:
    """
    Each number is six letters; the mark is there for every text, and is no number's token.
    """
    words = [f"w{number}" for number in range(50)]
    mark, *tokens = passage_tokens(join(words), SCHEME)
    assert mark == "passages1-t20-k8-b32"
    assert tokens == spelled_numbers(tuple(winnowed(join(words), SCHEME).tolist()), SCHEME)
    assert len(set(tokens)) == len(tokens) > 3
    assert {len(token) for token in tokens} == {6}
    assert passage_tokens(join(["few"]), SCHEME) == [mark]
    assert spelled_numbers((), SCHEME) == []
