"""Deduplication of texts in memory, against a comparison of all pairs."""

from __future__ import annotations

import datetime
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from tests.families import family_documents, true_pairs
from whorl.duplicates.deduplicate_in_memory import Deduplication, deduplicate
from whorl.errors import ParameterError

DOCUMENTS = family_documents(25, seed=3, longest=300)
#: Copies in other places, texts too short to compare, and missing ones.
TEXTS: list[str | None] = [
    *(document.text for document in DOCUMENTS),
    *("too short", None, "", "too short"),
    *(document.text for document in DOCUMENTS[10:20]),
]


def true_rows(percent: int, metric: str = "jaccard") -> dict[frozenset[int], float]:
    """Return the rows of all pairs with their shares, found by comparing everything."""
    documents = [whorl.Document(str(row), text or "") for row, text in enumerate(TEXTS)]
    return {frozenset(map(int, pair)): float(share) for pair, share in true_pairs(documents, metric, percent).items()}


def rows_of(result: Deduplication) -> set[frozenset[int]]:
    pairs = result.pairs()
    return {frozenset(pair) for pair in zip(pairs["a"].tolist(), pairs["b"].tolist(), strict=True)}


@pytest.mark.parametrize("percent", [20, 50, 90])
def test_components_are_what_chains_of_pairs_link(percent: int) -> None:
    """
    The number of a component is its first row; no pair is in two components, and chains of pairs link all rows of one.
    """
    components = deduplicate(TEXTS, threshold=percent, recall=100).components.tolist()
    expected = list(range(len(TEXTS)))
    pairs = [sorted(pair) for pair in true_rows(percent)]
    while any(expected[a] != expected[b] for a, b in pairs):
        for a, b in pairs:
            expected[a] = expected[b] = min(expected[a], expected[b])
    assert components == expected
    assert len(set(components)) < len(TEXTS) - 10


@pytest.mark.parametrize(("metric", "percent"), [("jaccard", 50), ("jaccard", 80), ("containment", 90)])
def test_pairs_and_mask_equal_a_comparison_of_all(metric: str, percent: int) -> None:
    """
    All pairs are found with their similarity. No two kept texts are a pair. Each removed text is a pair with its kept
    text, the first of its cluster.
    """
    deduplication = deduplicate(TEXTS, threshold=percent, metric=metric, recall=100)
    expected = true_rows(percent, metric)
    assert rows_of(deduplication) == set(expected)
    assert len(expected) > 30
    kept_rows = np.flatnonzero(deduplication.keep).tolist()
    assert not any(frozenset((a, b)) in expected for a in kept_rows for b in kept_rows if a < b)
    for cluster in deduplication.clusters:
        assert deduplication.keep[cluster[0]]
        assert all(frozenset((cluster[0], row)) in expected for row in cluster[1:])
    assert sorted([*kept_rows, *(row for cluster in deduplication.clusters for row in cluster[1:])]) == list(
        range(len(TEXTS))
    )
    assert deduplication.labels.tolist() == [
        next((cluster[0] for cluster in deduplication.clusters if row in cluster), row) for row in range(len(TEXTS))
    ]
    if metric == "jaccard":
        pairs = deduplication.pairs()
        for a, b, share in zip(pairs["a"].tolist(), pairs["b"].tolist(), pairs["jaccard"].tolist(), strict=True):
            assert share == pytest.approx(expected[frozenset((a, b))])


def test_apostrophes_of_all_kinds_are_equal() -> None:
    """
    Copies that differ in the kind of apostrophe are pairs of 100 %.
    """
    texts = [f"L{mark}été d{mark}une ville qu{mark}il n{mark}aime pas, c{mark}est l{mark}hiver" for mark in "'’‘ʼ"]
    assert deduplicate(texts, threshold=100).clusters == [[0, 1, 2, 3]]


def test_a_higher_threshold_equals_a_new_run() -> None:
    """
    The pairs found at 50 % give the result of a run at each higher threshold; a lower one is refused.
    """
    deduplication = deduplicate(TEXTS, threshold=50, recall=100)
    for percent in (50, 70, 90, 100):
        again = deduplicate(TEXTS, threshold=percent, recall=100)
        assert rows_of(deduplication.at(percent)) == rows_of(again) == set(true_rows(percent))
        assert deduplication.at(percent).clusters == again.clusters
        assert deduplication.at(percent).summary == again.summary
    with pytest.raises(ParameterError, match=r"searched for from 0\.5 on.*threshold=0\.49"):
        deduplication.at(0.49)
    with pytest.raises(ParameterError, match=r"searched for from 0\.7 on"):
        deduplication.at(70).at(60)


def test_the_summary_counts_texts_and_bytes() -> None:
    """
    The numbers of texts equal the mask; bytes are counted in UTF-8.
    """
    texts = ["één twee drie vier vijf zes"] * 3 + ["one two three four five six", "short"]
    deduplication = deduplicate(texts)
    summary = deduplication.summary
    assert (summary.texts, summary.clusters, summary.removed, summary.too_short) == (5, 1, 2, 1)
    sizes = [len(text.encode()) for text in texts]
    assert (summary.text_bytes, summary.removed_bytes) == (sum(sizes), 2 * sizes[0])
    assert str(summary) == "5 texts; 2 of them (40.0%) repeat others, in 1 cluster; 0.1 of 0.1 kB are left"
    assert repr(deduplication) == f"<Deduplication of {summary}>"
    assert deduplicate([]).summary.removed_share == 0
    assert deduplicate([]).clusters == []


def pandas_frame(texts: list[str | None]) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"body": texts}, index=range(100, 100 + len(texts)))


def arrow_table(texts: list[str | None]) -> Any:
    return pytest.importorskip("pyarrow").table({"body": texts})


def polars_frame(texts: list[str | None]) -> Any:
    return pytest.importorskip("polars").DataFrame({"body": texts})


def hugging_face_dataset(texts: list[str | None]) -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict({"body": texts})


TABLES = [pandas_frame, arrow_table, polars_frame, hugging_face_dataset]


@pytest.mark.parametrize("table", TABLES)
def test_tables_and_their_columns(table: Callable[[list[str | None]], Any]) -> None:
    """
    A table and a column of it give the same result as a list; the error for a missing column lists the existing ones.
    """
    expected = deduplicate(TEXTS).clusters
    made = table(TEXTS)
    assert deduplicate(made, text_column="body").clusters == expected
    assert deduplicate(made["body"]).clusters == expected
    with pytest.raises(ParameterError, match=re.escape("there is no column 'text'; name one of 'body'")):
        deduplicate(made)


@pytest.mark.parametrize("table", TABLES)
def test_nested_columns(table: Callable[[list[Any]], Any], tmp_path: Path) -> None:
    """
    A path names a nested column, as on the command line: texts in a list are one text, and --keep reads a nested value.
    pandas has arrays of numpy in columns that it has read from Parquet.
    """
    texts = ["one two three four five six", "a text with more words than one shingle", "one two three four five six"]
    chats = [
        {"turns": [{"content": text[:9]}, {"content": text[9:]}], "made": {"at": number}, "title": text}
        for number, text in enumerate(texts)
    ]
    made = table([*chats, None])
    if table is pandas_frame:
        made.to_parquet(tmp_path / "rows.parquet")
        made = pytest.importorskip("pandas").read_parquet(tmp_path / "rows.parquet")
    for column in ("body.title", "body.turns.content"):
        found = deduplicate(made, text_column=column, keep="largest:body.made.at")
        assert found.clusters == [[2, 0]]
        assert found.summary.text_bytes == sum(map(len, texts)) + 2 * len(texts) * (column != "body.title")
    lists = table([None if text is None else [text[:9], text[9:]] for text in [*texts, None]])
    assert deduplicate(lists, text_column="body").clusters == [[0, 2]]
    with pytest.raises(ParameterError) as error:
        deduplicate(made, text_column="body.text")
    assert str(error.value).startswith("there is no column 'body.text'; name one of 'body.")
    assert "'body.turns.content'" in str(error.value)


@pytest.mark.parametrize("table", TABLES[:2])
def test_two_columns_of_one_name(table: Callable[[list[str | None]], Any]) -> None:
    """
    A table of two text columns with the same name is refused; other columns may have the same name.
    """
    made = table(TEXTS)
    if hasattr(made, "append_column"):
        made = made.append_column("other", made["body"]).append_column("other", made["body"])
    else:
        made = (
            pytest.importorskip("pandas").concat([made, made.rename(columns={"body": "other"})] * 2, axis=1).iloc[:, 1:]
        )
    assert deduplicate(made, text_column="body").clusters == deduplicate(TEXTS).clusters
    with pytest.raises(ParameterError, match="several columns are called 'other'; rename all but one"):
        deduplicate(made, text_column="other")


def test_masks_select_rows() -> None:
    """
    The mask selects rows of pandas and Arrow.
    """
    pyarrow = pytest.importorskip("pyarrow")
    deduplication = deduplicate(TEXTS)
    frame, table = pandas_frame(TEXTS), arrow_table(TEXTS)
    expected = [text for text, keep in zip(TEXTS, deduplication.keep.tolist(), strict=True) if keep]
    # pandas 3 has NaN for a missing text, which does not equal itself.
    assert [text if text == text else None for text in frame[deduplication.keep]["body"]] == expected
    assert table.filter(pyarrow.array(deduplication.keep))["body"].to_pylist() == expected


def test_the_text_to_keep() -> None:
    """
    The longest text stays, or the one with the best value in a column; a text without a value comes last.
    """
    pandas = pytest.importorskip("pandas")
    words = "one two three four five six seven eight nine ten"
    texts = [words, f"{words} eleven", words, f"{words} twelve"]
    frame = pandas.DataFrame(
        {
            "text": texts,
            "day": ["2024-01-01", "2023-01-01", None, "2025-01-01"],
            "score": [1.0, 3.0, None, 2.0],
        }
    )
    kept_rows = {
        keep: deduplicate(frame, threshold=70, keep=keep).clusters[0][0]
        for keep in ("first", "longest", "newest:day", "oldest:day", "largest:score", "smallest:score")
    }
    assert kept_rows == {
        "first": 0, "longest": 1, "newest:day": 3, "oldest:day": 1, "largest:score": 1, "smallest:score": 0
    }  # fmt: skip


@pytest.mark.parametrize(
    "days",
    [
        [datetime.date(2024, 1, 1), datetime.date(2025, 1, 1), None],
        [datetime.datetime(2024, 1, 1, 8), datetime.datetime(2024, 1, 1, 9), None],
        [1_704_067_200, 1_735_689_600, None],
    ],
)
def test_the_newest_by_dates(days: list[object]) -> None:
    """
    Dates, times and seconds since 1970 are dates, as in files; a row without a date comes last.
    """
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"text": ["one two three four five six"] * 3, "day": days})
    assert deduplicate(table, keep="newest:day").clusters[0][0] == 1


@pytest.mark.parametrize(("keep", "sought"), [("newest", "date"), ("smallest", "number")])
def test_a_cluster_without_a_value_to_choose_by(keep: str, sought: str) -> None:
    """
    A column without a date or number is an error, and so is a cluster without one, also one of a higher threshold.
    """
    pandas = pytest.importorskip("pandas")
    words = "one two three four five six seven eight nine ten"
    near = f"{words} eleven"
    frame = pandas.DataFrame({"text": [words, near, near], "lang": ["en", "de", "fr"], "year": [2020, None, None]})
    with pytest.raises(ParameterError, match=f"the 3 texts have no {sought} in the column 'lang', so the {keep} is"):
        deduplicate(frame, keep=f"{keep}:lang")
    found = deduplicate(frame, threshold=80, keep=f"{keep}:year")
    assert found.clusters == [[0, 1, 2]]
    with pytest.raises(ParameterError, match=f"row 1 and 1 more have no {sought} in the column 'year'"):
        found.at(100)
    with pytest.raises(ParameterError, match="row 1 and 1 more"):
        deduplicate(frame, threshold=100, keep=f"{keep}:year")
    assert deduplicate(frame[:2], threshold=100, keep=f"{keep}:year").clusters == []
    assert deduplicate(frame[:0], keep=f"{keep}:lang").clusters == []


def test_shingles_of_characters() -> None:
    """
    Texts with fewer than five words are near-duplicates if they share most runs of characters.
    """
    texts = ["unbroken line of characters", "Unbroken  line of characters!", "other characters"]
    assert deduplicate(texts).clusters == []
    assert deduplicate(texts, characters=True).clusters == [[0, 1]]
    assert deduplicate(texts, characters=True, shingle=40).summary.too_short == 3


def test_texts_within_a_group() -> None:
    """
    Only texts with the same value of a column are compared; whole floats equal integers, and missing values each other.
    """
    pandas = pytest.importorskip("pandas")
    groups = ["en", "de", "en", None, math.nan, 1, 1.0, pandas.NaT, pandas.Timestamp(0), pandas.Timestamp(0)]
    frame = pandas.DataFrame({"text": ["one two three four five six"] * 10, "id": pandas.Series(groups, dtype=object)})
    assert sorted(deduplicate(frame, within_column="id").clusters) == [[0, 2], [3, 4, 7], [5, 6], [8, 9]]
    assert deduplicate(frame[:0], within_column="id").clusters == []


def test_common_text_is_ignored() -> None:
    """
    With ignore_common, shares are those of the shingles that at most one in ten different texts has. Equal texts stay
    duplicates, also if all of their shingles are common.
    """
    header = " ".join(f"h{number}" for number in range(30))
    bodies = [" ".join(f"b{row}x{number}" for number in range(12)) for row in range(30)]
    near = [f"{body.rsplit(' ', 2)[0]} changed words" for body in bodies[:5]]
    texts = [*(f"{header} {body}" for body in (*bodies, *near)), header, header]

    def shingles(text: str) -> set[tuple[str, ...]]:
        words = text.split()
        return {tuple(words[at : at + 5]) for at in range(len(words) - 4)}

    sets = [shingles(text) for text in texts]
    counts = Counter(shingle for text in set(texts) for shingle in shingles(text))
    left = [{shingle for shingle in own if counts[shingle] <= 10} for own in sets]
    expected = {
        (a, b): len(left[a] & left[b]) / len(left[a] | left[b])
        for a, b in combinations(range(len(texts) - 2), 2)
        if 2 * len(left[a] & left[b]) >= len(left[a] | left[b])
    }
    assert expected.keys() == {(row, row + 30) for row in range(5)}
    found = deduplicate(texts, threshold=50, recall=100, ignore_common=True, common_above="10")
    pairs = found.pairs()
    shares = dict(zip(zip(pairs["a"].tolist(), pairs["b"].tolist(), strict=True), pairs["jaccard"], strict=True))
    assert shares == pytest.approx({**expected, (35, 36): 1})
    assert found.at(99).clusters == [[35, 36]]
    assert len(deduplicate(texts, threshold=50, recall=100).clusters[0]) == len(texts)
    with_header = deduplicate(texts, threshold=50, recall=100, ignore_common=True, boilerplate=[header])
    assert sorted(with_header.clusters) == sorted(found.clusters)


def test_values_that_are_no_dates_are_a_warning() -> None:
    """
    A warning at the caller's line counts the values of the retention column that cannot be read.
    """
    pandas = pytest.importorskip("pandas")
    days = ["2020-01-01", "30.06.2022", None, math.nan]
    table = pandas.DataFrame({"text": ["one two three four five six"] * 4, "day": days})
    with pytest.warns(UserWarning, match="1 text has no date .* 'day', such as '30.06.2022'") as noted:
        deduplicate(table, keep="newest:day")
    assert noted[0].filename == __file__
    with pytest.raises(
        ParameterError, match=r"no date in the column 'day'.*\('30.06.2022' cannot be read, 2022-06-30 can\)"
    ):
        deduplicate(table[1:], keep="newest:day")


def test_an_ambiguous_one_is_a_warning() -> None:
    """
    1 means 100 %, and a warning at the caller's line says so; 100, 0.01 and 0.99 are clear.
    """
    texts = ["one two three four five six", "one two three four five seven", "one two three four five six"]
    with pytest.warns(UserWarning, match="threshold 1 means 100 %, .*; write 0.01 for 1 %") as noted:
        found = deduplicate(texts, threshold=1)
    assert (found.clusters, noted[0].filename) == ([[0, 2]], __file__)
    with pytest.warns(UserWarning, match="recall 1 means 100 %"):
        deduplicate(texts, recall=1)
    with pytest.warns(UserWarning, match="threshold 1 means 100 %") as noted:
        assert deduplicate(texts, threshold=50).at(1).clusters == [[0, 2]]
    assert noted[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert deduplicate(texts, threshold=0.01).at(0.99).at(100).clusters == [[0, 2]]


@pytest.mark.parametrize(
    ("texts", "options", "words"),
    [
        ("one text", {}, "texts is one str, not several texts"),
        (type("LazyFrame", (), {"columns": ["text"]})(), {}, "a LazyFrame, which has no rows yet; call its collect()"),
        (None, {}, "texts must be a list of texts, a column or a table, got None"),
        ([], {"keep": 1}, "keep must be text, got 1"),
        (["a", 3], {}, "row 1 has no text, but 3; give texts, or a table"),
        (["a"], {"threshold": 0}, "threshold"),
        (["a"], {"keep": "newest"}, "keep newest needs a column: keep='newest:COLUMN'"),
        (["a"], {"keep": "best"}, "keep must be one of"),
        (["a"], {"within_column": "lang"}, "within_column needs a table with a column 'lang', not texts alone"),
        (["a"], {"characters": 1}, "characters must be True or False, got 1"),
        (["a"], {"common_above": "1%"}, "add ignore_common=True"),
        (["a"], {"keep": "newest:day"}, "keep newest:day needs a table with a column 'day', not texts alone"),
    ],
)
def test_invalid_options_are_refused(texts: Any, options: dict[str, Any], words: str) -> None:
    """
    Errors name the value and valid values.
    """
    with pytest.raises(ParameterError, match=re.escape(words)):
        deduplicate(texts, **options)


def test_an_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"deduplicate\(\) has no option 'within'"):
        deduplicate([], within="lang")  # type: ignore[call-arg]
