"""Proves that whorl's tokens equal those of a real Solr, on all corpora and on hostile random texts.

    python benchmarks/identity.py [CORPUS_FOLDER] [--only NAME,…] [--random N] [--solr URL]

Each text is indexed into a real Solr 9 (started here unless a URL is given). Its term vector is fetched, and its tokens
and their counts in the fingerprint are compared with whorl's tokens. Shorter texts also go through /analysis/field,
which returns the tokens in order. Longer ones do not, because the response has every stage of the analysis, a thousand
times the text; nor do lone surrogates, which only JSON can transmit. Last, FINGERPRINT:id_100 must find each text that
has tokens, with all of them. Prints a line for each corpus and the first texts that differ; the exit status is 1 if any
text differs.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from analysed import analysed
from corpus_texts import texts
from hostile import TEXTS
from whorl import Store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.local.solr import configset_directory, start_standalone
from whorl.engine.server_engine import ServerAccess
from whorl.engine.solr.client import SolrClient, term_vectors
from whorl.engine.solr.engine import SolrEngine
from whorl.engine.solr.field_definitions import definitions
from whorl.engine.solr.inspect_collection import SolrCollection, inspect
from whorl.fingerprint.fingerprint_texts import sign
from whorl.fingerprint.shingling import well_formed
from whorl.settings.settings import Settings

DATA = Path(__file__).parent / "data"
CORPORA = ("spdx", "udhr", "rfc", "man")
AT_ONCE = 50
_SHOWN = 5
#: Start of a run of kana that ICU4J breaks depending on earlier text; see `words.split_by_dictionary`.
SOUND_MARKS = "\u30fc\uff70"
#: Longest text, in characters, whose tokens are compared in order.
_ORDERED = 5_000


class Comparison:
    """Compares texts with a collection, and counts the results."""

    def __init__(self, client: SolrClient) -> None:
        self._client, self._store = client, Store(SolrEngine(client))
        self._collection: SolrCollection = inspect(client, FieldNames())
        self.compared, self.ordered, self.differing, self.known = 0, 0, list[str](), 0

    def compare(self, texts: Iterable[tuple[str, str]]) -> None:
        """Index texts, compare their tokens, and delete them again."""
        remaining = iter(texts)
        while batch := dict(islice(remaining, AT_ONCE)):
            ids = {f"t{number}": (name, text) for number, (name, text) in enumerate(batch.items())}
            self._client.add([{"id": document_id, "content": text} for document_id, (_, text) in ids.items()])
            self._client.commit()
            body = {"query": {"bool": {"must": ["*:*"]}}, "limit": AT_ONCE, "fields": ["id"]}
            vectors = {"tv": "true", "tv.fl": "MINHASH", "tv.tf": "true", "json.nl": "map"}
            answer = self._client.post("tvrh", body, **vectors)
            indexed = term_vectors(answer, "MINHASH")
            for document_id, (name, text) in ids.items():
                tokens = sign(text, self._collection.scheme).tokens
                is_same = indexed.get(document_id, {}) == Counter(tokens) and self._finds_itself(
                    document_id, len(tokens)
                )
                if not is_same or not self._has_order(text, tokens):
                    self.differing.append(name)
                    self.known += any(mark in text for mark in SOUND_MARKS)
            self.compared += len(ids)
            self._client.post("update", {"delete": list(ids)})

    def _finds_itself(self, document_id: str, token_count: int) -> bool:
        hits = self._store.search(f"FINGERPRINT:{document_id}_100", rows=AT_ONCE).hits
        return any((hit.id, hit.score) == (document_id, token_count) for hit in hits) or not token_count

    def _has_order(self, text: str, tokens: tuple[str, ...]) -> bool:
        if len(text) > _ORDERED or text != well_formed(text):
            return True
        self.ordered += 1
        return analysed(self._client.url, "MINHASH", text) == tokens

    def summary(self, name: str) -> str:
        """Return the result in one line, and reset the counts."""
        counts = f"{self.compared:7,} compared, {self.ordered:7,} of them in order, {len(self.differing):,} differ"
        known = f", {self.known:,} of these with a prolonged sound mark" if self.known else ""
        line = f"{name:8} {counts}{known} {self.differing[:_SHOWN]}"
        self.compared, self.ordered, self.differing, self.known = 0, 0, [], 0
        return line


def compare_random(compare: Callable[[Iterable[tuple[str, str]]], None], count: int) -> None:
    """Compare `count` random texts; every run has the same ones."""

    @settings(
        max_examples=count // AT_ONCE,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(TEXTS, min_size=AT_ONCE, max_size=AT_ONCE))
    def run(texts: list[str]) -> None:
        compare((ascii(text[:60]) + f"#{number}", text) for number, text in enumerate(texts))

    run()


@contextlib.contextmanager
def solr(url: str | None) -> Iterator[SolrClient]:
    """Yield an empty collection of whorl's configset."""
    if url is not None:
        yield SolrClient(url)
        return
    with (
        tempfile.TemporaryDirectory() as home,
        start_standalone(Path(home), {"whorl": configset_directory()}, cache=Settings.load().solr_cache) as running,
    ):
        client = SolrClient(f"{running.url}/whorl", ServerAccess(timeout_seconds=600))
        # whorl's configset leaves term vectors out if the text is stored.
        field = definitions("field")["MINHASH"]
        client.change("schema", {"replace-field": {**field, "termVectors": True}})
        yield client


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="made by benchmarks/corpus.py")
    parser.add_argument("--only", default=",".join(CORPORA), help="corpora, by name")
    parser.add_argument("--random", type=int, default=20_000, help="hostile random texts, 0 for none")
    parser.add_argument("--solr", help="URL of an empty collection of whorl's configset, with term vectors of MINHASH")
    arguments = parser.parse_args()
    differ = 0
    with solr(arguments.solr) as client:
        comparison = Comparison(client)
        for name in filter(None, arguments.only.split(",")):
            comparison.compare(texts(arguments.folder / f"{name}.jsonl"))
            differ += len(comparison.differing)
            print(comparison.summary(name), flush=True)
        if arguments.random:
            compare_random(comparison.compare, arguments.random)
            differ += len(comparison.differing)
            print(comparison.summary("random"), flush=True)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
