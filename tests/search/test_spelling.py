"""Spelling suggestions for misspelt words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from whorl import Document, Store, open_store
from whorl.search.spelling import correct_spelling


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(Path(tmp_path_factory.mktemp("spelling")) / "store") as opened:
        opened.index(
            [
                Document("a", "The landlord lets the office to the tenant.", "lease"),
                Document("b", "The tenant pays a rent.", "renewal"),
                Document("c", "A tenent is misspelt here, as is landlort; tenants pay."),
                Document("d", "Fingerprints in a tittle."),
            ]
        )
        yield opened


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("tenant", None),
        ("tennant", "tenant"),
        ("the Landlrd OR tenantt", "the landlord OR tenant"),
        ("leese", "lease"),
        ("xylophone", None),
        ("rant", "rent"),
        ("reant AND te", "rent AND te"),
        ("1450 pag3", None),
        ("", None),
        ("((", None),
        ("FINGERPRINT:leese", None),
        ("tennant FINGERPRINT:leese_50_90", "tenant FINGERPRINT:leese_50_90"),
        ('FINGERPRINT:"the leese"_50 tennant', 'FINGERPRINT:"the leese"_50 tenant'),
        ("FINGERPRINT:(leese OR landlrd) tennant", "FINGERPRINT:(leese OR landlrd) tenant"),
        ("title:tennant", "title:tenant"),
        ('=cm:title : "leese" AND title:(tennant)', '=cm:title : "lease" AND title:(tenant)'),
        ("cm\\:title:tennant my-titel:rent", "cm\\:title:tenant my-titel:rent"),
        ("titel", "tittle"),
        ('FINGERPRINT:"the leese" titel:"tennant"', 'FINGERPRINT:"the leese" titel:"tenant"'),
        ('TYPE:"leese" AND tennant', 'TYPE:"leese" AND tenant'),
        ("ID:tennant/leese OR SITE:(leese tennant) TAG:tennant", "ID:tennant/leese OR SITE:(leese tennant) TAG:tenant"),
        ('"leese: tennant" OR my-leese:"leese : rent"', '"lease: tenant" OR my-leese:"lease : rent"'),
        ("https://tennant", "https://tenant"),
    ],
)
def test_words_that_no_document_has(store: Store, typed: str, meant: str | None) -> None:
    """
    An unknown word becomes the nearest word of a name or text; if several are equally near, the one in most documents.
    Known words, words without a near one, names of fields, FINGERPRINTs, ids and names of types stay.
    """
    assert correct_spelling(store.engine, typed) == meant


def test_escaped_marks(store: Store) -> None:
    """
    A query of escaped quotation marks is read in linear time; quadratic time would take minutes.
    """
    marks = '\\"' * 50_000
    assert correct_spelling(store.engine, f"{marks} tennant") == f"{marks} tenant"
