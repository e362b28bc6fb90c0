"""Processes that write to or read an embedded store: `python store_process.py TASK PATH [ARGUMENT...]`.

Tests start these processes, read their output, and may kill them at any moment.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from whorl.engine.embedded import database, store_index, text_index
from whorl.engine.embedded import engine as embedded
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import WhorlError
from whorl.fingerprint.shingling import Scheme
from whorl.model import Document
from whorl.query.plan.nodes import BoundPlan, MatchAll

SCHEME = Scheme(shingle_size=2, bucket_count=16)
State = dict[str, str]


def document(document_id: str, stamp: str) -> Document:
    """Return a document with the step that wrote it (`stamp`) as a word and in the name of a property."""
    text = f"{stamp} alpha beta gamma delta {document_id} epsilon"
    return Document(document_id, text, document_id.upper(), {f"of_{stamp}": 1})


def step(number: int) -> tuple[list[Document], list[str]]:
    """Return the documents that a step stores and the ids that it deletes; they depend only on its number."""
    random_of_step = random.Random(number)
    ids = [f"d{random_of_step.randrange(60)}" for _ in range(random_of_step.choice([1, 1, 3, 20]))]
    if number % 5 == 4:
        return [], ids
    return [document(document_id, f"s{number}") for document_id in ids], []


def state_after(steps: int) -> State:
    """Return the number of the step that wrote each document, after a number of steps."""
    state: State = {}
    for number in range(steps):
        stored, deleted = step(number)
        state |= {document.id: f"s{number}" for document in stored}
        state = {document_id: stamp for document_id, stamp in state.items() if document_id not in deleted}
    return state


def say(*words: object) -> None:
    print(*words, flush=True)


def write(path: Path, first: str) -> None:
    """Take one step after another until killed, and acknowledge each."""
    embedded.COMMIT_EVERY, text_index.MOST_RECENT = 7, 5
    with EmbeddedEngine(path, scheme=SCHEME) as engine:
        for number in itertools.count(int(first)):
            stored, deleted = step(number)
            if deleted:
                engine.delete(deleted)
            else:
                engine.index(stored)
            if number % 3 == 0:
                engine.refresh()
            say(number)


def copy_step(number: int) -> dict[str, str | None]:
    """Return the texts that a step stores, by id, and None for documents that it deletes; only six texts occur."""
    random_of_step = random.Random(number)
    texts = [None, *(f"text {which} " + " ".join(map(str, range(which, which + 300))) for which in range(6))]
    return {f"d{random_of_step.randrange(20)}": random_of_step.choice(texts) for _ in range(5)}


def take_copy_step(engine: EmbeddedEngine, number: int) -> None:
    """Store and delete the documents of a step."""
    texts = copy_step(number)
    engine.index([Document(name, text) for name, text in texts.items() if text is not None])
    engine.delete([name for name, text in texts.items() if text is None])


def write_copies(path: Path, first: str) -> None:
    """Take one step with equal texts after another until killed, and acknowledge each."""
    with EmbeddedEngine(path, scheme=SCHEME) as engine:
        for number in itertools.count(int(first)):
            take_copy_step(engine, number)
            say(number)


def crash(path: Path, point: str, when: str, first: str) -> None:
    """Take one step and refresh. The process kills itself before or after the first call of the function `point`."""
    owner, name = {
        "put": (database.RecordDatabase, "put"),
        "replace": (store_index.StoreIndexWriter, "replace"),
        "commit": (store_index.StoreIndexWriter, "commit"),
        "close": (store_index.StoreIndexWriter, "close"),
        "build": (store_index.StoreIndex, "build"),
        "remove": (store_index, "delete_path"),
        "rename": (Path, "rename"),
    }[point]
    original: Callable[..., Any] = getattr(owner, name)

    def killing(*arguments: Any, **named: Any) -> Any:
        if when == "before":
            die()
        original(*arguments, **named)
        die()

    def die() -> NoReturn:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("unreachable")

    if point in ("build", "remove", "rename"):
        setattr(owner, name, killing)
    engine = EmbeddedEngine(path, scheme=SCHEME)
    setattr(owner, name, killing)
    engine.index(step(int(first))[0])
    say("acknowledged")
    engine.refresh()


def index(path: Path, wait_seconds: str, document_id: str) -> None:
    """Store one document, or print the error."""
    try:
        with EmbeddedEngine(path, scheme=SCHEME, wait_seconds=float(wait_seconds)) as engine:
            say("open")
            engine.index([document(document_id, "other")])
            engine.refresh()
        say("stored")
    except WhorlError as error:
        say(type(error).__name__, error)


def count(path: Path) -> None:
    """Print the number of documents that a search finds, for each line of input."""
    with EmbeddedEngine(path, create=False, scheme=SCHEME) as engine:
        say("open")
        for _ in sys.stdin:
            say(engine.search(BoundPlan(MatchAll()), start=0, rows=0).total)


def watch(path: Path) -> None:
    """Search until a hundred documents are found. The number must never fall, and every hit must have its name."""
    with EmbeddedEngine(path, create=False, scheme=SCHEME) as engine:
        say("open")
        before = 0
        while before < 100:
            page = engine.search(BoundPlan(MatchAll()), start=0, rows=200)
            assert page.total == len(page.hits) >= before
            assert all(hit.name == hit.id.upper() for hit in page.hits)
            assert [hit.id for hit in page.hits] == sorted(hit.id for hit in page.hits)
            before = page.total
        say("seen")


def make(path: Path) -> None:
    """Open or create the store that each line of input names, while other processes do the same."""
    for line in sys.stdin:
        try:
            EmbeddedEngine(path / line.strip(), scheme=SCHEME).close()
            say("made")
        except WhorlError as error:
            say(type(error).__name__, error)


def fill(path: Path, what: str) -> None:
    """Store documents and refresh in a process that may not write large files; `what` is the part that gets no room."""
    import resource

    engine = EmbeddedEngine(path, scheme=SCHEME)
    big = [Document(f"big{n}", " ".join(f"word{n}x{m}" for m in range(3000))) for n in range(40)]
    if what == "index":
        engine.index(big)
        say("acknowledged")
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))
    try:
        if what == "records":
            engine.index(big)
            say("acknowledged")
        engine.refresh()
        say("refreshed")
    except WhorlError as error:
        say(type(error).__name__, error)
    engine.close()
    with EmbeddedEngine(path, scheme=SCHEME) as engine:
        say("found", engine.search(BoundPlan(MatchAll()), start=0, rows=0).total)


def deny(path: Path) -> None:
    """Open a store as a user without rights."""
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        EmbeddedEngine(path, scheme=SCHEME)
    except WhorlError as error:
        say(type(error).__name__, error)


def visit(path: Path) -> None:
    """As a user with read permission only, search a store and try to write to it."""
    if os.geteuid() == 0:
        os.setuid(65534)
    with EmbeddedEngine(path, create=False, scheme=SCHEME) as engine:
        say("found", engine.search(BoundPlan(MatchAll()), start=0, rows=0).total)
        try:
            engine.index([document("a", "s")])
        except WhorlError as error:
            say(type(error).__name__)


def fork(path: Path) -> None:
    """Use a store in a child that has inherited it, then in the parent."""
    with EmbeddedEngine(path, scheme=SCHEME) as engine:
        engine.index([document("a", "s0")])
        child = os.fork()
        if child == 0:
            try:
                engine.count()
            except WhorlError as error:
                say(type(error).__name__, error)
            engine.close()
            os._exit(0)
        os.waitpid(child, 0)
        engine.refresh()
        say(engine.search(BoundPlan(MatchAll()), start=0, rows=0).total)


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
