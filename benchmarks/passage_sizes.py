"""Measures the space that passages take in a store, for each length that is certainly found.

    python benchmarks/passage_sizes.py

The documents are the licences that `licences.py` downloads. With texts, the space is the growth of the token
segments. Without texts, it is the whole store. Coverage is measured on 40 texts, each with seven passages of 20 to
80 words.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from statistics import fmean

from licences import data_folder, rules
from whorl import Document, open_store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.winnowing import PassageScheme

HERE = Path(__file__).resolve().parent
RUNS = (20, 16, 12, 10, 8)
#: Number of texts whose sources are looked up.
TEXTS = 40


def folder_bytes(folder: Path, documents: list[Document], run: int | None, *, no_text: bool = False) -> tuple[int, int]:
    """Index documents, and return the bytes of their tokens and of the whole store."""
    scheme = None if run is None else PassageScheme.for_runs(run)
    with EmbeddedEngine(folder, passages=scheme, reduction="no_text" if no_text else None) as engine:
        engine.index(documents)
        engine.refresh()
    tokens = sum(file.stat().st_size for file in (folder / "index" / "tokens").iterdir())
    return tokens, sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def made_texts(documents: list[Document]) -> list[str]:
    """Join passages of random documents to texts."""
    chance = random.Random(5)
    long = [words for document in documents if len(words := document.text.split()) > 90]
    texts = []
    for _ in range(TEXTS):
        starts = [(words, chance.randrange(len(words) - 80)) for words in chance.sample(long, 7)]
        texts.append(" ".join(word for words, at in starts for word in words[at : at + chance.randrange(20, 81)]))
    return texts


def coverage(folder: Path, texts: list[str]) -> float:
    """Return the mean share of a text's words that are in sources."""
    with open_store(folder, create=False) as store:
        return fmean(float(store.sources(source=text).coverage) for text in texts)


def main() -> None:
    """Print the share of the text for each length."""
    collection = rules(data_folder(HERE / "data" / "licences"))
    documents = [Document(rule.name, rule.text) for rule in collection if rule.kind == "licence"]
    texts = made_texts(documents)
    text = sum(len(document.text.encode()) for document in documents)
    print(f"{len(documents):,} documents, {text:,} bytes of text")
    with tempfile.TemporaryDirectory() as folder:
        plain, whole = folder_bytes(Path(folder) / "plain", documents, None)
        print(f"store without passages: {100 * whole / text:5.1f} % of the text")
        folder_bytes(Path(folder) / "whole", documents, 20)
        print(f"coverage in a store with texts: {100 * coverage(Path(folder) / 'whole', texts):5.1f} %")
        for run in RUNS:
            tokens, _ = folder_bytes(Path(folder) / str(run), documents, run)
            bare = Path(folder) / f"{run} without texts"
            _, without = folder_bytes(bare, documents, run, no_text=True)
            print(
                f"{run:3} words: {100 * (tokens - plain) / text:5.1f} % of the text more; "
                f"a store without texts {100 * without / text:5.1f} %, coverage {100 * coverage(bare, texts):5.1f} %"
            )


if __name__ == "__main__":
    main()
