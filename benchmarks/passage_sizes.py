"""How much space do passages take in a store, by the length that is found for certain?

    python benchmarks/passage_sizes.py

The documents are the licences that `licences.py` downloads. The size is that of the token segments, compared with a
store without passages.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from licences import data_folder, rules
from whorl import Document
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.winnowing import PassageScheme

HERE = Path(__file__).resolve().parent
RUNS = (20, 16, 12, 10, 8)


def token_bytes(folder: Path, documents: list[Document], run: int | None) -> int:
    """Index documents, and return the bytes of their tokens."""
    with EmbeddedEngine(folder, passages=None if run is None else PassageScheme.of_runs(run)) as engine:
        engine.index(documents)
        engine.refresh()
    return sum(file.stat().st_size for file in (folder / "index" / "tokens").iterdir())


def main() -> None:
    """Print the share of the text for each length."""
    collection = rules(data_folder(HERE / "data" / "licences"))
    documents = [Document(rule.name, rule.text) for rule in collection if rule.kind == "licence"]
    text = sum(len(document.text.encode()) for document in documents)
    print(f"{len(documents):,} documents, {text:,} bytes of text")
    with tempfile.TemporaryDirectory() as folder:
        plain = token_bytes(Path(folder) / "plain", documents, None)
        for run in RUNS:
            own = token_bytes(Path(folder) / str(run), documents, run) - plain
            print(f"{run:3} words: {100 * own / text:5.1f} % of the text")


if __name__ == "__main__":
    main()
