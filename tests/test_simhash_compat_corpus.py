"""simhash-py's Corpus: the same answers as its last release, with order and repeats."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

from tests.hamming.hamming_routes_fixture import route  # noqa: F401  # a fixture
from whorl.errors import ParameterError
from whorl.simhash_compat import Corpus

CASES = json.loads((Path(__file__).parent / "vectors" / "simhash_corpus.json").read_text())["cases"]


def filled(case: dict[str, Any], **quirks: bool) -> Corpus:
    corpus = Corpus(case["num_blocks"], case["diff_bits"], **quirks)
    corpus.insert_bulk(case["codes"])
    corpus.remove_bulk(case["removed"])
    return corpus


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['num_blocks']}-{case['diff_bits']}")
def test_golden_answers(route: str, case: dict[str, Any]) -> None:  # noqa: F811
    """
    Order, repeats, 0 for none, and tables are those of simhash-py 0.1.1; hashes() additionally has 2**64 - 1.
    """
    corpus, queries = filled(case), case["queries"]
    assert corpus.find_all_bulk(queries) == case["find_all"]
    assert [corpus.find_all(query) for query in queries] == case["find_all"]
    assert corpus.find_first_bulk(queries) == case["find_first"]
    assert [corpus.find_first(query) for query in queries] == case["find_first"]
    assert [code for code in corpus.hashes() if code < 2**64 - 1] == case["hashes"]
    tables = corpus.tables[: len(case["search_masks"])]
    assert [table.search_mask for table in tables] == case["search_masks"]
    assert [table.permute(queries[0]) for table in tables] == case["permuted"]
    assert all(table.unpermute(table.permute(query)) == query for table in tables for query in queries)
    assert [code for table in corpus.tables for code in table.find_all(queries[0])] == case["find_all"][0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['num_blocks']}-{case['diff_bits']}")
def test_without_repeats(case: dict[str, Any]) -> None:
    """
    Without repeats, each match is listed once, at its first position.
    """
    corpus, expected = filled(case, repeats=False), [list(dict.fromkeys(actual)) for actual in case["find_all"]]
    assert corpus.find_all_bulk(case["queries"]) == expected
    assert [corpus.find_all(query) for query in case["queries"]] == expected


def test_zero_as_none() -> None:
    """
    In simhash-py, find_first returns 0 for the code 0 and also without a match. Without this quirk, it returns None
    without a match.
    """
    quirky, plain = Corpus(5, 3), Corpus(5, 3, zero_is_none=False)
    for corpus in (quirky, plain):
        corpus.insert_bulk([0, 7])
    assert [quirky.find_first(3), *quirky.find_first_bulk([3, 1 << 63 | 3 << 40 | 5])] == [0, 0, 0]
    assert [plain.find_first(3), *plain.find_first_bulk([3, 0xFFFF])] == [0, 0, None]
    assert plain.find_first(0xFFFF) is None


def test_single_and_bulk_changes_agree() -> None:
    """
    A repeated insertion has no effect; one removal deletes the code; removing a missing code is not an error. A pickled
    copy has the codes, and changes alone.
    """
    corpus = Corpus(6, 3)
    for code in (5, 5, 6):
        corpus.insert(code)
    corpus.remove(6)
    corpus.remove(77)
    assert sorted(set(corpus.find_all(5))) == corpus.hashes() == [5]
    copied = pickle.loads(pickle.dumps(corpus))
    copied.insert(7)
    assert (sorted(copied.hashes()), corpus.hashes()) == ([5, 7], [5])
    assert corpus.distance(5, 6) == 2
    assert corpus.differing_bits == 3


def test_blocks_do_not_change_what_is_found() -> None:
    """
    The set of matches does not depend on the blocks.
    """
    chance = random.Random(8)
    codes = [chance.getrandbits(16) for _ in range(500)]
    actual = []
    for blocks in (3, 4, 5, 8, 10):
        corpus = Corpus(blocks, 3)
        corpus.insert_bulk(codes)
        actual.append([sorted(set(ids)) for ids in corpus.find_all_bulk(codes[:20])])
    assert all(row == actual[0] for row in actual)


@pytest.mark.parametrize(
    ("blocks", "bits", "words"),
    [
        (65, 3, "num_blocks must be 1 to 64, got 65"),
        (0, 0, "num_blocks must be 1 to 64, got 0"),
        (3, 4, r"diff_bits must be 0 to num_blocks \(3\), got 4"),
        (3, -1, r"diff_bits must be 0 to num_blocks \(3\), got -1"),
        (64, 32, "1,832,624,140,942,590,534 tables, at most 65,536"),
    ],
)
def test_arguments_that_crashed_the_original_are_refused(blocks: int, bits: int, words: str) -> None:
    """
    More than 64 blocks made simhash-py hang; the other values ended in an exception of C++ or itertools.
    """
    with pytest.raises(ParameterError, match=words):
        Corpus(blocks, bits)
