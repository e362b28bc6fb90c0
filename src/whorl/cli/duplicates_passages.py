"""`whorl duplicates --level passage`: words that stand in several places of files, exactly so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from whorl.cli.render.console import problem_lines, reading_bar
from whorl.cli.render.duplicates import rewrite, write_clusters_to, write_list, write_pairs_to
from whorl.duplicates import Keep, passages_among
from whorl.duplicates.passages import WORDS
from whorl.duplicates.processes import worthwhile_workers
from whorl.duplicates.reading import Reading
from whorl.errors import ParameterError
from whorl.wire.duplicates import not_compared_line
from whorl.wire.text import counted


def require_of_passages(
    keep: Keep | None,
    state: Path | None,
    common_above: str | None,
    boilerplate: Sequence[str],
    shingle: int | None,
    *,
    characters: bool,
) -> None:
    """Raise where something is asked that passages, which are equal word for word, have no answer to."""
    asked = [
        f"--{name}"
        for name in ("metric", "threshold", "recall")
        if click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    for option, value in {
        "--state": state, "--common-above": common_above, "--boilerplate": boilerplate or None, "--shingle": shingle,
        "--characters": characters or None, "--keep": None if keep in (None, Keep("first")) else keep,
    }.items():  # fmt: skip
        asked += [option] if value is not None else []
    if asked:
        raise ParameterError(
            f"{asked[0]} is not for passages: they are equal word for word, the first stays, and --words N says how "
            "long they are"
        )


def write_passages(
    reading: Reading,
    words: int | None,
    *,
    has_reference: bool,
    within: str | None,
    workers: int | None,
    form: str,
    output: Path | None,
    wants_clusters: bool,
    delete_list: Path | None,
    filtered: Path | None,
) -> int:
    """Find the passages of files and write them, and return of how many documents.

    Args:
        reading: The files.
        words: Of a passage, at least; None for the usual number.
        has_reference: Whether there is a reference.
        within: The column that has to be the same in documents that are compared.
        workers: Processes that read; None for as many as are worth it.
        form: json, csv, parquet or table.
        output: Where to write; None for standard output.
        wants_clusters: Whether clusters are wanted, or pairs.
        delete_list: Where to write the ids of what comes again.
        filtered: The folder for the files without it.
    """
    words = words or WORDS
    with (
        reading_bar(lambda: reading.share) as tell,
        passages_among(
            reading.documents(),
            words,
            reference=reading.reference() if has_reference else (),
            within=within,
            workers=workers or worthwhile_workers(reading.share[1]),
            on_repeated=reading.note_repeated,
            progress=tell,
        ) as found,
    ):
        tell("", 0)
        if wants_clusters:
            told = write_clusters_to(output, found.clusters(), form, "passage", marks_principal=filtered is not None)
        else:
            told = write_pairs_to(output, found.pairs(), form)
        click.echo(f"{told}, of {counted(found.documents, 'document')} in all", err=True)
        if delete_list is not None:
            write_list(found.clusters(), Keep("first"), delete_list)
        if filtered is not None:
            rewrite(found.clusters(), reading, {filtered: False})
        if found.too_short:
            click.echo(
                f"note: {not_compared_line(found.too_short, 'document', f'of fewer than {words} words')}", err=True
            )
    for line in problem_lines(reading.problems, "could not be read as they are"):
        click.echo(line, err=True)
    return found.documents
