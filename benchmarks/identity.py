"""Proof that tokens made here are those that a real Solr makes: every text of the corpora, and hostile random ones.

    python benchmarks/identity.py [CORPUS_FOLDER] [--only NAME,…] [--random N] [--solr URL]

Each text is indexed into a real Solr 9 (started here where none is named), its term vector is fetched, and both its
tokens and how often each stands in the fingerprint are compared with those that whorl makes from the text. Prints a
line for each corpus and the first texts that differ; the exit status is 1 when any does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from whorl.fingerprint.minhash import sign
from whorl.settings import Settings
from whorl.solr.answer import vectors
from whorl.solr.client import SolrClient
from whorl.solr.launcher import configset_directory, start_standalone
from whorl.solr.request import vector_parameters
from whorl.solr.schema import Collection, FieldNames, inspect

DATA = Path(__file__).parent / "data"
CORPORA = ("spdx", "udhr", "rfc", "man")
_AT_ONCE = 50
_SHOWN = 5

#: Characters by the trouble they make; a text takes from a few of these at once.
_ALPHABETS = (
    st.characters(exclude_categories=()),  # anything, unassigned, private use and lone surrogates included
    st.characters(min_codepoint=32, max_codepoint=126),
    st.sampled_from("aB:1.,'_-·’ \u00ad\u200b\u200d\u2060\ufeff\0"),
    st.characters(min_codepoint=0x300, max_codepoint=0x36F),  # combining marks
    st.sampled_from("ﬁﬀßſİıΣςǆǅ㎏㍿ﷺℵ①½ﾞﾟ"),  # folds that change length
    st.sampled_from("👩👨👧🏽‍❤️🇩🇪🏴󠁧1️⃣#️⃣*"),
    st.characters(min_codepoint=0x0E00, max_codepoint=0x0EFF),  # Thai, Lao
    st.characters(min_codepoint=0x1000, max_codepoint=0x109F),  # Myanmar
    st.characters(min_codepoint=0x1780, max_codepoint=0x17FF),  # Khmer
    st.characters(min_codepoint=0x3040, max_codepoint=0x30FF),  # kana
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF),  # Han
    st.characters(min_codepoint=0xAC00, max_codepoint=0xD7AF),  # Hangul
    st.characters(min_codepoint=0x0590, max_codepoint=0x06FF),  # Hebrew, Arabic
    st.characters(min_codepoint=0x0900, max_codepoint=0x0DFF),  # Indic
    st.characters(min_codepoint=0x10000, max_codepoint=0x1FFFF),
)
_words = st.one_of(*(st.text(alphabet, min_size=1, max_size=12) for alphabet in _ALPHABETS))
_separators = st.sampled_from([" ", " ", " ", "\n", "\t", "", "\u3000", "\r\n", "\u2028"])
_ordinary = st.lists(st.tuples(_words, _separators), max_size=40).map(
    lambda pairs: "".join(word + separator for word, separator in pairs)
)
# Lucene reads 4,096 units at a time and cuts longer words there.
_long = st.tuples(_ordinary, st.sampled_from("aé字ก"), st.integers(4080, 4110), _ordinary).map(
    lambda parts: f"{parts[0]}{parts[1] * parts[2]}{parts[3]} five more words after it"
)
TEXTS = st.one_of(*([_ordinary] * 19), _long)


class Comparison:
    """Compares texts with a collection, and keeps count."""

    def __init__(self, client: SolrClient) -> None:
        self._client = client
        self._collection: Collection = inspect(client, FieldNames())
        self.compared, self.differing = 0, list[str]()

    def compare(self, texts: Iterable[tuple[str, str]]) -> None:
        """Index texts under their ids, compare, and take them out again."""
        remaining = iter(texts)
        while batch := dict(islice(remaining, _AT_ONCE)):
            ids = {f"t{number}": (name, text) for number, (name, text) in enumerate(batch.items())}
            self._client.add([{"id": each, "content": text} for each, (_, text) in ids.items()])
            self._client.commit()
            body = {"query": {"bool": {"must": ["*:*"]}}, "limit": _AT_ONCE, "fields": ["id"]}
            answer = self._client.post("tvrh", body, **vector_parameters("MINHASH"))
            indexed = vectors(answer, "MINHASH")
            for each, (name, text) in ids.items():
                if indexed.get(each, {}) != Counter(sign(text, self._collection.scheme).tokens):
                    self.differing.append(name)
            self.compared += len(ids)
            self._client.post("update", {"delete": list(ids)})

    def told(self, name: str) -> str:
        """Return one line of result, and begin anew."""
        line = f"{name:8} {self.compared:7,} compared, {len(self.differing):,} differ {self.differing[:_SHOWN]}"
        self.compared, self.differing = 0, []
        return line


def corpus(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the ids and texts of a corpus."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            told = json.loads(line)
            yield told["id"], told["text"]


def compare_random(comparison: Comparison, count: int) -> None:
    """Compare `count` random texts, the same ones at every run."""

    @settings(
        max_examples=count // _AT_ONCE,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(TEXTS, min_size=_AT_ONCE, max_size=_AT_ONCE))
    def run(texts: list[str]) -> None:
        comparison.compare((ascii(text[:60]) + f"#{number}", text) for number, text in enumerate(texts))

    run()


@contextlib.contextmanager
def solr(url: str | None) -> Iterator[SolrClient]:
    """Give an empty collection of whorl's configset."""
    if url is not None:
        yield SolrClient(url)
        return
    with (
        tempfile.TemporaryDirectory() as home,
        start_standalone(Path(home), {"whorl": configset_directory()}, cache=Settings.load().solr_cache) as running,
    ):
        yield SolrClient(f"{running.url}/whorl", timeout_seconds=600)


def main() -> None:
    """Compare what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="made by benchmarks/corpus.py")
    parser.add_argument("--only", default=",".join(CORPORA), help="corpora, by name")
    parser.add_argument("--random", type=int, default=20_000, help="hostile random texts, 0 for none")
    parser.add_argument("--solr", help="URL of an empty collection of whorl's configset")
    asked = parser.parse_args()
    differ = 0
    with solr(asked.solr) as client:
        comparison = Comparison(client)
        for name in filter(None, asked.only.split(",")):
            comparison.compare(corpus(asked.folder / f"{name}.jsonl"))
            differ += len(comparison.differing)
            print(comparison.told(name), flush=True)
        if asked.random:
            compare_random(comparison, asked.random)
            differ += len(comparison.differing)
            print(comparison.told("random"), flush=True)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
