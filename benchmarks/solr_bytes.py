"""Measures the bytes of each field in a real Solr, each in its own core.

    python benchmarks/solr_bytes.py [CORPUS_FOLDER] [--documents N]

The documents are drawn from the corpora of `corpus.py`. Every core has the keys and one field, in the configset's form
or in another; the size of a core without the field is subtracted. Recorded in results/solr-bytes.csv.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from accuracy_documents import SEED, Amounts, documents
from corpus import DEFAULT_DIRECTORY, CorpusError
from whorl import Document
from whorl.engine.local.solr import configset_directory, start_standalone
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.document_fields import sketch_fields
from whorl.engine.solr.field_definitions import SAMPLE, SCHEME, SIZE, SKETCH
from whorl.fingerprint.fingerprint_texts import hash_texts
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme

RESULTS = Path(__file__).resolve().parent / "results"
#: Number of documents to send at a time.
_AT_ONCE = 200
_KEYS = (
    '<uniqueKey>id</uniqueKey><field name="id" type="string" indexed="true" stored="true" required="true"/>'
    '<field name="_version_" type="plong" indexed="false" stored="false" docValues="true"/>'
)
_TOKENS = 'type="string" indexed="true" stored="false" docValues="false" multiValued="true" omitNorms="true" '
_MINHASH = 'type="text_min_hash" indexed="true" stored="false" omitNorms="true" omitTermFreqAndPositions="true"'

Values = Mapping[str, object]


class Variant(NamedTuple):
    """A field to measure.

    Args:
        what: Its description.
        definition: The XML attributes of the field `measured`; "" for none.
        value: Returns a document's value from its text and the four fields of its sketch.
    """

    what: str
    definition: str
    value: Callable[[str, Values], object]


def _text(text: str, sketch: Values) -> object:
    return text


VARIANTS = (
    Variant("keys alone", "", _text),
    Variant("text, stored", 'type="text_whorl" indexed="false" stored="true"', _text),
    Variant("text, stored and indexed", 'type="text_whorl" indexed="true" stored="true"', _text),
    Variant("MINHASH", _MINHASH, _text),
    Variant("MINHASH with term vectors", f'{_MINHASH} termVectors="true"', _text),
    Variant(SAMPLE, f'{_TOKENS} omitTermFreqAndPositions="true"', lambda text, sketch: sketch[SAMPLE]),
    Variant(f"{SKETCH}, stored", 'type="binary" indexed="false" stored="true"', lambda text, sketch: sketch[SKETCH]),
    Variant(
        f"{SKETCH}, docValues",
        'type="binary" indexed="false" stored="false" docValues="true"',
        lambda text, sketch: sketch[SKETCH],
    ),
    Variant(SIZE, 'type="pint" indexed="true" stored="false" docValues="true"', lambda text, sketch: sketch[SIZE]),
    Variant(
        SCHEME, 'type="string" indexed="true" stored="false" docValues="true"', lambda text, sketch: sketch[SCHEME]
    ),
)


def configset(folder: Path, variant: Variant) -> Path:
    """Return a configset whose schema has the keys and one field."""
    stock = configset_directory() / "conf"
    conf = folder / "conf"
    conf.mkdir(parents=True)
    (conf / "solrconfig.xml").write_bytes((stock / "solrconfig.xml").read_bytes())
    schema = (stock / "managed-schema.xml").read_text(encoding="utf-8")
    types = schema[schema.index('<fieldType name="string"') :]
    field = f'<field name="measured" {variant.definition}/>' if variant.definition else ""
    (conf / "managed-schema.xml").write_text(
        f'<schema name="measured" version="1.6">{_KEYS}{field}{types}', encoding="utf-8"
    )
    return folder


def index_bytes(client: SolrClient, variant: Variant, documents: Sequence[tuple[Document, Values]]) -> int:
    """Return the size of an index of one segment."""
    for at in range(0, len(documents), _AT_ONCE):
        batch = documents[at : at + _AT_ONCE]
        fields = [
            {"measured": variant.value(document.text, sketch)} if variant.definition else {}
            for document, sketch in batch
        ]
        rows = [{"id": document.id, **own} for (document, _), own in zip(batch, fields, strict=True)]
        client.post("update", rows)
    client.post("update", {"optimize": {"maxSegments": 1}})
    generation = client.get("replication", command="indexversion")["generation"]
    files = client.get("replication", command="filelist", generation=generation)["filelist"]
    return sum(int(file["size"]) for file in files)


def run(folder: Path, count: int) -> None:
    """Measure, print and record."""
    every = [document for document in documents(folder, Amounts(composites=0, passages=0, edited=0)) if document.text]
    chosen = random.Random(SEED).sample(every, count)
    schemes = SketchScheme(), Scheme()
    read = hash_texts((document.text for document in chosen), schemes[1])
    sketched_documents = [
        (document, sketch_fields(signature.sketch(schemes[0]), schemes[1], None))
        for document, signature in zip(chosen, read, strict=True)
    ]
    text_bytes = sum(len(document.text.encode()) for document in chosen) / count
    with tempfile.TemporaryDirectory(prefix="whorl-bytes-") as home:
        cores = {f"v{at}": configset(Path(home) / f"set{at}", variant) for at, variant in enumerate(VARIANTS)}
        with start_standalone(Path(home) / "solr", cores) as solr:
            taken = []
            for at, variant in enumerate(VARIANTS):
                client = SolrClient(f"{solr.url}/v{at}")
                taken.append(index_bytes(client, variant, sketched_documents) / count)
                client.close()
                print(f"{variant.what}: {taken[-1] - taken[0]:,.0f} bytes a document", flush=True)
    print(f"\ntext: {text_bytes:,.0f} bytes a document, {count:,} documents, {schemes[0].name}")
    print("| field | bytes of a document | of its text |\n|---|---|---|")
    rows = [(variant.what, own - taken[0]) for variant, own in zip(VARIANTS[1:], taken[1:], strict=True)]
    for what, own in rows:
        print(f"| {what} | {own:,.0f} | {100 * own / text_bytes:.1f} % |")
    with (RESULTS / "solr-bytes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["field", "bytes", "text_bytes", "documents", "scheme"])
        writer.writerows([what, f"{own:.0f}", f"{text_bytes:.0f}", count, schemes[0].name] for what, own in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=DEFAULT_DIRECTORY)
    parser.add_argument("--documents", type=int, default=2000)
    arguments = parser.parse_args()
    try:
        run(arguments.corpus, arguments.documents)
    except CorpusError as error:
        sys.exit(f"solr_bytes: {error}")


if __name__ == "__main__":
    main()
