"""How much space do passages take in a store, by the length that is found for certain?

    python benchmarks/passage_sizes.py

The documents are the licences that `licences.py` downloads. The size is that of the token segments, compared with a
store without passages, and that of a whole store that keeps passages and no texts.
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


def folder_bytes(folder: Path, documents: list[Document], run: int | None, *, no_text: bool = False) -> tuple[int, int]:
    """Index documents, and return the bytes of their tokens and of the whole store."""
    scheme = None if run is None else PassageScheme.of_runs(run)
    with EmbeddedEngine(folder, passages=scheme, no_text=no_text) as engine:
        engine.index(documents)
        engine.refresh()
    tokens = sum(file.stat().st_size for file in (folder / "index" / "tokens").iterdir())
    return tokens, sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def main() -> None:
    """Print the share of the text for each length."""
    collection = rules(data_folder(HERE / "data" / "licences"))
    documents = [Document(rule.name, rule.text) for rule in collection if rule.kind == "licence"]
    text = sum(len(document.text.encode()) for document in documents)
    print(f"{len(documents):,} documents, {text:,} bytes of text")
    with tempfile.TemporaryDirectory() as folder:
        plain, whole = folder_bytes(Path(folder) / "plain", documents, None)
        print(f"store without passages: {100 * whole / text:5.1f} % of the text")
        for run in RUNS:
            tokens, _ = folder_bytes(Path(folder) / str(run), documents, run)
            _, without = folder_bytes(Path(folder) / f"{run} without texts", documents, run, no_text=True)
            print(
                f"{run:3} words: {100 * (tokens - plain) / text:5.1f} % of the text more; "
                f"a store without texts {100 * without / text:5.1f} %"
            )


if __name__ == "__main__":
    main()
