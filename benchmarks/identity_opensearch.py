"""Proves that whorl's tokens equal those of OpenSearch's `min_hash`, on all corpora and on hostile random texts.

    python benchmarks/identity_opensearch.py [CORPUS_FOLDER] [--only NAME,…] [--random N] [--url http://host:9200]

It starts an OpenSearch with Lucene's ICU analysis (javac compiles a plug-in for it, whose jars come from Maven
Central), or uses the one at a URL, which needs the plug-in analysis-icu. Each text is indexed into a field as in
docs/opensearch.md. Its term vector is fetched, and its tokens and their counts are compared with whorl's tokens.
FINGERPRINT:id_100 on that field must find one text in fifty with all of its tokens. Prints a line for each corpus; the
exit status is 1 if any text differs.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import requests

from corpus_texts import texts
from identity import AT_ONCE, CORPORA, DATA, SOUND_MARKS, compare_random
from whorl import Store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.local.jars import Server, fetch_jars
from whorl.engine.local.opensearch import OPENSEARCH
from whorl.engine.local.server_process import find_java
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.engine import OpenSearchEngine
from whorl.engine.opensearch.foreign_minhash import read_index_tokens
from whorl.fingerprint.fingerprint_texts import sign
from whorl.fingerprint.shingling import well_formed

HERE = Path(__file__).resolve().parent
ICU = Server("OpenSearch-ICU", "10.5.0", HERE / "opensearch-icu.lock", 21, "opensearch")
PORT = 9250
FIELD, INDEX = "content.fingerprint", "whorl_identity"
BODY: dict[str, Any] = {
    "settings": {
        "number_of_replicas": 0,
        "analysis": {
            "filter": {
                "fives": {"type": "shingle", "min_shingle_size": 5, "max_shingle_size": 5, "output_unigrams": False},
                "hashes": {"type": "min_hash", "hash_count": 1, "bucket_count": 512, "hash_set_size": 1},
            },
            "analyzer": {
                "fingerprint": {"tokenizer": "icu_tokenizer", "filter": ["icu_normalizer", "fives", "hashes"]}
            },
        },
    },
    "mappings": {
        "properties": {
            "content": {
                "type": "text",
                "index": False,
                "fields": {"fingerprint": {"type": "text", "analyzer": "fingerprint", "term_vector": "yes"}},
            }
        }
    },
}


class Comparison:
    """Compares texts with an index, and counts the results."""

    def __init__(self, client: IndexClient) -> None:
        tokens = read_index_tokens(client, FieldNames()).foreign
        if tokens is None or not tokens.field.is_made_by_whorl:
            sys.exit("the cluster makes other tokens of the probes than whorl: is analysis-icu installed?")
        self._client, self._field = client, tokens.field
        self._store = Store(OpenSearchEngine(client))
        self.compared, self.differing, self.known = 0, list[str](), 0

    @property
    def scheme(self) -> str:
        """Return the scheme of the cluster's field."""
        return self._field.scheme.name

    def compare(self, texts: Iterable[tuple[str, str]]) -> None:
        """Index texts, compare their tokens, and delete them again."""
        remaining = iter(texts)
        while batch := dict(islice(remaining, AT_ONCE)):
            # A cluster refuses JSON with a lone surrogate.
            ids = {f"t{number}": (name, well_formed(text)) for number, (name, text) in enumerate(batch.items())}
            refused = self._client.bulk(
                [({"index": {"_id": document_id}}, {"content": text}) for document_id, (_, text) in ids.items()]
            )
            self._client.refresh()
            indexed = self._client.term_vectors(list(ids), self._field.name)
            for document_id, (name, text) in ids.items():
                tokens = sign(text, self._field.scheme, self._field.encoding).tokens
                # Search for the first text of a batch only: searches take longest, and depend only on the tokens.
                is_found = document_id != "t0" or self._finds_itself(document_id, len(tokens))
                if indexed.get(document_id, {}) != Counter(tokens) or not is_found:
                    self.differing.append(name)
                    self.known += any(mark in text for mark in SOUND_MARKS)
            self.differing += [reason for _, _, reason in refused]
            self.compared += len(ids)
            self._client.bulk([({"delete": {"_id": document_id}}, None) for document_id in ids])

    def _finds_itself(self, document_id: str, token_count: int) -> bool:
        hits = self._store.search(f"FINGERPRINT:{document_id}_100", rows=AT_ONCE).hits
        return any((hit.id, hit.score) == (document_id, token_count) for hit in hits) or not token_count

    def summary(self, name: str) -> str:
        """Return the result in one line, and reset the counts."""
        known = f", {self.known:,} of these with a prolonged sound mark" if self.known else ""
        line = f"{name:8} {self.compared:7,} compared, {len(self.differing):,} differ{known} {self.differing[:5]}"
        self.compared, self.differing, self.known = 0, [], 0
        return line


@contextlib.contextmanager
def with_icu() -> Iterator[str]:
    """Start an OpenSearch whose analysis has ICU; yield its URL."""
    jars = f"{fetch_jars(OPENSEARCH[0])[0].parent}/*:{fetch_jars(ICU)[0].parent}/*"
    java, url = find_java(OPENSEARCH[0]), f"http://127.0.0.1:{PORT}"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [str(java.with_name("javac")), "-cp", jars, "-d", folder, str(HERE / "IcuPlugin.java")], check=True
        )
        command = [
            *(str(java), "-Xmx1g", "--enable-native-access=ALL-UNNAMED", "-cp", f"{jars}:{folder}"),
            *("org.codelibs.opensearch.runner.OpenSearchRunner", "-basePath", f"{folder}/nodes", "-numOfNode", "1"),
            *("-clusterName", "whorl-identity", "-baseHttpPort", str(PORT - 1), "-pluginTypes", "IcuPlugin"),
        ]
        with (
            Path(folder, "log").open("wb") as log,
            subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process,
        ):
            try:
                deadline = time.monotonic() + 180
                while not answers(url):
                    if process.poll() is not None or time.monotonic() > deadline:
                        sys.exit(f"OpenSearch does not start: {Path(folder, 'log').read_text()[-3000:]}")
                    time.sleep(0.5)
                yield url
            finally:
                process.terminate()


def answers(url: str) -> bool:
    """Check that a cluster answers."""
    try:
        return requests.get(f"{url}/_cluster/health?wait_for_status=yellow", timeout=30).ok
    except requests.RequestException:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="made by benchmarks/corpus.py")
    parser.add_argument("--only", default=",".join(CORPORA), help="corpora, by name")
    parser.add_argument("--random", type=int, default=20_000, help="hostile random texts, 0 for none")
    parser.add_argument("--url", help="a cluster with analysis-icu; else one is started here")
    arguments = parser.parse_args()
    differ = 0
    with contextlib.ExitStack() as stack:
        url = arguments.url or stack.enter_context(with_icu())
        client = stack.enter_context(contextlib.closing(IndexClient(f"opensearch+{url}/{INDEX}")))
        client.raw.indices.delete(index=INDEX, params={"ignore_unavailable": "true"})
        client.create(BODY)
        comparison = Comparison(client)
        about = client.about()["version"]
        print(f"{about.get('distribution', 'elasticsearch')} {about['number']}, {comparison.scheme}", flush=True)
        for name in filter(None, arguments.only.split(",")):
            comparison.compare(texts(arguments.folder / f"{name}.jsonl"))
            differ += len(comparison.differing)
            print(comparison.summary(name), flush=True)
        if arguments.random:
            compare_random(comparison.compare, arguments.random)
            differ += len(comparison.differing)
            print(comparison.summary("random"), flush=True)
        client.raw.indices.delete(index=INDEX)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
