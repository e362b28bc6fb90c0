"""Shows the Python API: indexes, searches, looks inside, deletes.

python examples/python_api.py
"""

import tempfile
from pathlib import Path

from whorl import Document, open_store

CONTRACTS = Path(__file__).parent / "contracts"


def main() -> None:
    """Index the example contracts into a store that is thrown away and ask about them."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store") as store:
        done = store.index(
            Document(file.stem, file.read_text(encoding="utf-8"), name=file.name, properties={"pages": 1})
            for file in sorted(CONTRACTS.glob("*.txt"))
        )
        print(f"{done.stored} documents stored")

        page = store.search("FINGERPRINT:lease-2023_5 AND NOT content:lentils", with_shared=True)
        for hit in page.hits:
            print(f"{hit.id}: {hit.shared_tokens} of {page.source_tokens} tokens shared")

        signature = store.signature("recipe")
        assert signature is not None
        print(f"recipe: {len(set(signature.tokens))} distinct tokens under {signature.scheme.name}")

        print(f"{store.delete(['recipe'])} document deleted, {store.count()} left")


if __name__ == "__main__":
    main()
