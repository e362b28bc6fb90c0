"""Single texts and batches: the same numbers with and without the compiled loops, in order, with bounded memory."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import weakref
from collections.abc import Callable, Generator, Iterator

import numpy as np
import pytest

from tests.plain import full_minima, murmur_halves, plain_filter, plain_minima, plain_token, shingles
from whorl.errors import ParameterError
from whorl.fingerprint import fingerprint_texts as bulk
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.fingerprint_texts import (
    Outputs,
    as_json,
    as_npy,
    as_text,
    fingerprints,
    hash_in_batches,
    hash_texts,
    index_numbers,
    index_outputs,
    signatures_of,
    sized_signatures_of,
)
from whorl.fingerprint.minhash.signature_and_tokens import TokenEncoding
from whorl.fingerprint.shingling import Scheme, lucene_hashes, well_formed
from whorl.fingerprint.sketch.frac_minhash import SketchScheme, lookup_numbers
from whorl.fingerprint.words.tokenizer import tokens
from whorl.request_context import reporting

needs_numba = pytest.mark.skipif(not kernel.is_available(), reason="numba is not installed")

TEXTS = [
    "",
    "only four words here",
    *(f"l{mark}été isn{mark}t text {n}, {n % 7}: naïve e\u0301 日本語 \ud800 😀" for n in range(100) for mark in "n'’"),
]


def straightened(text: str) -> str:
    return "".join("'" if character in "‘’‛ʼ" else character for character in text)


def expected(texts: list[str], scheme: Scheme) -> list[list[int]]:
    return [full_minima(tokens(text, scheme.profile), scheme)[:, 0].tolist() for text in texts]


@pytest.mark.parametrize("has_loops", [False, pytest.param(True, marks=needs_numba)])
@pytest.mark.parametrize("workers", [1, 2])
def test_fingerprints_of_many_texts(has_loops: bool, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Threads with the compiled loops, and this thread without them, give the tokens of the reference implementation in
    order.
    """
    use_loops(monkeypatch, has_loops)
    monkeypatch.setattr(bulk, "BATCH_TEXTS", 16)
    scheme = Scheme("icu77", 4, 64)
    actual = list(signatures_of(TEXTS, scheme, workers=workers))
    assert [row.tolist() for row in actual] == expected(TEXTS, scheme)
    assert {row.dtype for row in actual} == {np.dtype(np.uint64)}
    assert {row.shape for row in actual} == {(0,), (64,)}
    sized = list(sized_signatures_of(TEXTS, scheme, workers=workers))
    assert [row[:, 0].tolist() for row, _ in sized] == expected(TEXTS, scheme)
    assert all(row.shape in {(0, 2), (64, 2)} for row, _ in sized)
    words = [tokens(straightened(text), scheme.profile) for text in TEXTS]
    assert [size for _, size in sized] == [len(set(shingles(word, 4))) for word in words]


@pytest.mark.parametrize("has_loops", [False, pytest.param(True, marks=needs_numba)])
def test_hashes_in_text_order(has_loops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Each shingle of each text has its hash, in order and repeated ones included, also in a text of several windows.
    """
    use_loops(monkeypatch, has_loops)
    monkeypatch.setattr(kernel, "WINDOW", 4096)
    monkeypatch.setattr(kernel, "_idle", {})
    scheme, long = Scheme(shingle_size=4), " ".join(f"word {n % 700} e\u0301" for n in range(3000))
    portions = [[*TEXTS[:5], long, "a b c d e a b c d"], TEXTS[5:]]
    for portion, (hashes, sizes) in zip(portions, hash_in_batches(portions, scheme, in_order=True), strict=True):
        expected_hashes = [lucene_hashes(murmur_halves(tokens(text), 4), 0)[0].tolist() for text in portion]
        assert sizes.tolist() == [len(own) for own in expected_hashes]
        assert hashes.tolist() == [number for own in expected_hashes for number in own]


def use_loops(monkeypatch: pytest.MonkeyPatch, has_loops: bool) -> None:
    """Have all texts read with the compiled loops, or without."""
    monkeypatch.setattr(kernel, "is_loaded", lambda: has_loops)
    monkeypatch.setattr(bulk, "LARGE", 1 << 60)


@pytest.mark.parametrize(
    "scheme",
    [
        Scheme(),
        Scheme("icu77", 1, 1),
        Scheme(bucket_count=300),
        Scheme(bucket_count=8, hash_set_size=3),
        Scheme(rotation=False),
        Scheme(hash_count=2),
    ],
    ids=lambda scheme: scheme.name,
)
def test_texts_together(scheme: Scheme) -> None:
    """
    Texts hashed together have the numbers that each has alone, under any scheme, including empty and long texts.
    """
    texts = [*TEXTS[:20], "", "one two three four five", " ".join(f"word{n}" for n in range(9000)), "naïve", ""]
    for batch in (texts, texts[2:3], ["", ""], texts[-2:]):
        actual = [signature.minima for signature in hash_texts(batch, scheme, Outputs.ALL)]
        words = [tokens(text, scheme.profile) for text in batch]
        assert [row.tolist() for row in actual] == [full_minima(word, scheme).tolist() for word in words]
        assert {row.shape[1:] for row in actual} == {(2,)}


@pytest.mark.parametrize("scheme", [Scheme(), Scheme("icu77", 4, 64), Scheme(hash_set_size=2), Scheme(hash_count=3)])
def test_numbers_of_an_index(scheme: Scheme) -> None:
    """
    The tokens of many texts at once equal the distinct plain minima and the look-up numbers of each text.
    """
    sketch_scheme = SketchScheme()
    hashed = list(hash_texts(TEXTS, scheme, index_outputs(scheme), workers=1))
    minima, lookups = index_numbers(TEXTS, hashed, scheme, sketch_scheme)
    for text, own, numbers, found in zip(TEXTS, hashed, minima, lookups, strict=True):
        assert numbers.tolist() == sorted(
            {token >> 64 for token in plain_filter(tokens(text, scheme.profile), scheme)}
        ), text
        assert own.words.words() == list(map(well_formed, tokens(text, scheme.profile))), text
        straight = murmur_halves(tokens(straightened(text), scheme.profile), scheme.shingle_size)
        assert own.hashes.tolist() == sorted(set(lucene_hashes(straight, 0)[0].tolist())), text
        assert found.tolist() == lookup_numbers(own.sketch(sketch_scheme)).tolist(), text
    assert [list(map(list, rows)) for rows in index_numbers([], [], scheme, sketch_scheme)] == [[], []]


def test_sizes_of_long_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A repeated shingle counts once, even in a text longer than the read window.
    """
    monkeypatch.setattr(kernel, "WINDOW", 4096)
    texts = ["a b c d e " * 5000, " ".join(f"word{n % 3000}" for n in range(9000)), "a b c d e"]
    for has_loops in (False, kernel.is_available()):
        use_loops(monkeypatch, has_loops)
        assert [size for _, size in sized_signatures_of(texts, workers=1)] == [5, 3000, 1]


@needs_numba
@pytest.mark.parametrize(
    "outputs", [Outputs.HASHES, Outputs.HASHES | Outputs.WORDS, Outputs.MINIMA | Outputs.HASHES, Outputs.ALL]
)
def test_words_and_hashes_of_long_texts(outputs: Outputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Only the requested outputs are computed, and they are equal with and without the compiled loops, for any window.
    """
    texts = [*TEXTS[:20], " ".join(f"word{n % 3000}" for n in range(9000)), "", "naïve " * 4000, "a b c d e"]
    monkeypatch.setattr(kernel, "WINDOW", 4096)
    use_loops(monkeypatch, True)
    compiled = list(hash_texts(texts, outputs=outputs, workers=1))
    use_loops(monkeypatch, False)
    for one, other, text in zip(compiled, hash_texts(texts, outputs=outputs, workers=1), texts, strict=True):
        assert one.minima.tolist() == other.minima.tolist()
        assert one.hashes.tolist() == other.hashes.tolist()
        expected_words = [*map(well_formed, tokens(text))] if outputs & Outputs.WORDS else []
        assert one.words.words() == other.words.words() == expected_words


@pytest.mark.parametrize("workers", [1, 2])
def test_texts_are_consumed_with_the_results(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    From an endless stream, only as many texts are taken as the workers can have in progress.
    """
    monkeypatch.setattr(bulk, "LARGE", 1000)
    monkeypatch.setattr(bulk, "BATCH_TEXTS", 8)
    if not kernel.is_available():
        pytest.skip("numba is not installed")
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield f"a b c d e f {taken}"

    results = signatures_of(endless(), workers=workers)
    for done in range(1, 200):
        next(results)
        assert taken - done <= 1000 // 64 + 8 * (workers * bulk.BATCHES_PER_WORKER + 2)
    assert isinstance(results, Generator)
    results.close()


def test_progress_counts_texts() -> None:
    """
    Progress is reported in the calling thread, rises, and ends with the number of texts.
    """
    reports: list[int] = []
    with reporting(lambda _, done, __: reports.append(done)):
        fingerprints(iter(TEXTS))
    assert reports == sorted(reports)
    assert reports[-1] == len(TEXTS)


def test_the_array_of_a_collection() -> None:
    """
    A text that is too short has a row of zeros and a mark, for a list and for an iterator.
    """
    for texts in (TEXTS, (text for text in TEXTS)):
        rows, has_any = fingerprints(texts)
        assert rows.shape == (len(TEXTS), 512)
        assert has_any.tolist() == [False, False] + [True] * (len(TEXTS) - 2)
        assert not rows[:2].any()
        assert rows[2:].tolist() == expected(TEXTS[2:], Scheme())
    rows, has_any = fingerprints([])
    assert rows.shape == (0, 512)
    assert has_any.shape == (0,)


def test_functions_are_exported() -> None:
    """
    The package exports all the functions that its docstring names.
    """
    import whorl.fingerprint as package

    assert all(name in (package.__doc__ or "") for name in package.__all__)
    rows, _ = package.fingerprints(TEXTS)
    assert (
        package.fingerprint(TEXTS[-1]).tolist() == rows[-1].tolist() == list(package.signatures_of(TEXTS))[-1].tolist()
    )
    with pytest.raises(AttributeError, match="no attribute 'fingerprintz'"):
        _ = package.fingerprintz


def test_other_schemes_take_the_plain_route() -> None:
    """
    Buckets with several hashes make no rectangular array, so `fingerprints` refuses the scheme; a stream works for any
    amount of text.
    """
    scheme = Scheme(bucket_count=8, hash_set_size=4)
    assert [row.tolist() for row in signatures_of(TEXTS, scheme)] == expected(TEXTS, scheme)
    with pytest.raises(ParameterError, match="signatures_of"):
        fingerprints(TEXTS, scheme)


def test_errors_of_a_text_reach_the_caller() -> None:
    """
    Errors of the iterator of texts reach the caller; invalid parameters are refused at once.
    """

    def broken() -> Iterator[str]:
        yield "a b c d e"
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk"):
        list(signatures_of(broken()))
    with pytest.raises(ParameterError, match="icu99"):
        signatures_of([], Scheme("icu99"))
    with pytest.raises(ParameterError, match="at least 1, got 0"):
        signatures_of([], workers=0)


@pytest.mark.parametrize("several", [fingerprints, signatures_of, sized_signatures_of])
def test_a_single_text_is_refused(several: Callable[[str], object]) -> None:
    """
    A single string is refused, since its characters would count as texts that are too short.
    """
    with pytest.raises(ParameterError, match="one text"):
        several("to be or not to be")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=needs_numba)])
def test_the_first_texts_are_released(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Texts read ahead to choose a route are released like all others.
    """
    monkeypatch.setattr(bulk, "LARGE", 1000)
    monkeypatch.setattr(bulk, "BATCH_TEXTS", 8)

    class Text(str):
        pass

    there: list[weakref.ref[Text]] = []

    def texts() -> Iterator[str]:
        for number in range(200):
            text = Text(f"a b c d e f {number}")
            there.append(weakref.ref(text))
            yield text

    results = signatures_of(texts(), workers=workers)
    for _ in range(150):
        next(results)
    assert there[0]() is None
    assert isinstance(results, Generator)
    results.close()


@pytest.mark.process
def test_a_few_texts_import_no_numba() -> None:
    """
    A small amount of text is processed without importing numba.
    """
    program = """
import sys
from whorl.fingerprint.fingerprint_texts import fingerprints
fingerprints(["a small text of seven words altogether"] * 100)
print("numba" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("problem", ["Numba needs NumPy 2.4 or less", ""])
def test_a_broken_numba_is_warned_of(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Where numba is missing, or refuses this numpy, one warning says so, and the numbers are the same.
    """

    def refuse() -> None:
        raise ImportError(problem)

    kernel.warn_of_numba.cache_clear()
    kernel.load_loops.cache_clear()
    if problem:
        monkeypatch.setattr(kernel, "load_loops", refuse)
    else:
        monkeypatch.setattr(kernel, "is_available", lambda: False)
    monkeypatch.setattr(bulk, "LARGE", 1)
    with pytest.warns(RuntimeWarning, match=problem or "pip install numba") as said:
        rows = [row.tolist() for row in [*signatures_of(TEXTS), *signatures_of(TEXTS, workers=1)]]
    assert rows == 2 * expected(TEXTS, Scheme())
    assert len(said) == 1


@needs_numba
def test_a_kernel_serves_text_after_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With loaded loops, another text makes no new kernel and no disk access; a kernel that raised an error is not used
    again.
    """
    made: list[kernel.Kernel] = []

    class Counted(kernel.Kernel):
        def __init__(self, scheme: Scheme) -> None:
            super().__init__(scheme)
            made.append(self)

    monkeypatch.setattr(kernel, "Kernel", Counted)
    monkeypatch.setattr(kernel, "is_loaded", lambda: True)
    rows = [next(signatures_of([text], workers=1)).tolist() for text in TEXTS[1:6]]
    assert rows == expected(TEXTS[1:6], Scheme())
    if not made:
        pytest.skip("the loops are being compiled")
    monkeypatch.setattr(kernel.load_loops().jit, "is_cached", lambda _: pytest.fail("it looked"))
    assert [row.tolist() for row in signatures_of(TEXTS, workers=2)] == expected(TEXTS, Scheme())
    assert len(made) <= 2
    [*_] = signatures_of(TEXTS, workers=1)
    before = len(made)
    monkeypatch.setattr(Counted, "bucket_minima", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        next(signatures_of(["a b c d e"], workers=1))
    assert len(made) == before
    assert sum(map(len, kernel._idle.values())) == before - 1


SINGLE_TEXTS = [
    "",
    "only four words here",
    "one two three four five",
    " ".join(f"word{number}" for number in range(2_000)),
    "naïve e\u0301 日本語 \ud800 😀 and some more words, of which a few are the same words " * 40,
]
SCHEMES = [Scheme(), Scheme("icu77", 4, 64), Scheme(hash_set_size=2)]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize(
    "has_loops",
    [False, pytest.param(True, marks=pytest.mark.skipif(not kernel.is_available(), reason="numba is not installed"))],
)
def test_single_text(scheme: Scheme, has_loops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With and without the compiled loops, alone and with other texts, a text has the tokens of the reference
    implementation, and its sketch counts its shingles.
    """
    monkeypatch.setattr(kernel, "is_loaded", lambda: has_loops)
    for text in SINGLE_TEXTS:
        words = tokens(text, scheme.profile)
        expected = full_minima(words, scheme)[:, 0].tolist() if scheme.fills_every_bucket else None
        made = bulk.sign(text, scheme)
        assert expected is None or made.hashes.tolist() == expected
        assert bulk.signatures_by_id({"a": text}, scheme) == {"a": made}
        assert bulk.signatures_by_id({"a": text, "b": text}, scheme)["b"] == made
        assert bulk.text_sketch(text, scheme, SketchScheme()).size == len(set(shingles(words, scheme.shingle_size)))
        if expected is not None:
            spelled = bulk.sign(text, scheme, TokenEncoding.UNITS_4).tokens
            assert spelled == tuple(map(plain_token, expected))


TEXT = "the quick brown fox jumps over the lazy dog and the quick brown fox jumps over the lazy cat"
PLAIN = plain_minima(tokens(TEXT), 512)


def test_json() -> None:
    """
    The JSON has the scheme's name, the number of distinct shingles, and one token per bucket.
    """
    record = json.loads(as_json(TEXT, Scheme(), "u64"))
    assert record["scheme"] == "minhash1-icu74-w5-b512"
    assert record["size"] == 11  # of 15 shingles, "the quick brown fox jumps" and three more occur twice
    assert record["tokens"] == [high for high, _ in PLAIN]


def test_alfresco() -> None:
    """
    Alfresco's tokens have the hexadecimal units of the high half, then of the low half, each without leading zeros.
    """

    def spelled(half: int) -> str:
        return "".join(f"{half >> shift & 0xFFFF:x}" for shift in (48, 32, 16, 0))

    record = json.loads(as_json(TEXT, Scheme(), "alfresco"))
    assert record["tokens"] == [spelled(high) + spelled(low) for high, low in PLAIN]


def test_lucene() -> None:
    """
    Lucene's terms have eight units; those without surrogates are the two halves in sequence.
    """
    lines = [json.loads(line) for line in as_text(TEXT, Scheme(), "lucene").splitlines()]
    expected = [plain_token(high) + plain_token(low) for high, low in PLAIN]
    assert lines == expected


def test_npy() -> None:
    """
    numpy.load reads the integers back.
    """
    assert np.load(io.BytesIO(as_npy(TEXT, Scheme(), "u64"))).tolist() == [high for high, _ in PLAIN]
    assert np.load(io.BytesIO(as_npy(TEXT, Scheme(), "lucene"))).tolist() == [list(both) for both in PLAIN]


@pytest.mark.parametrize("codec", ["u64", "lucene", "alfresco"])
def test_too_short(codec: str) -> None:
    """
    A text of four words has size 0 and no tokens, in every format.
    """
    record = json.loads(as_json("one two three four", Scheme(), codec))
    assert (record["size"], record["tokens"]) == (0, [])
    assert as_text("", Scheme(), codec) == ""
    assert len(np.load(io.BytesIO(as_npy("", Scheme(), codec)))) == 0
