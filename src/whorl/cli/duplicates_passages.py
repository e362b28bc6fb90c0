"""`whorl duplicates --level passage`: words that stand in several places of files, exactly so."""

from __future__ import annotations

import click
from click.core import ParameterSource

from whorl.cli.duplicates_asked import Asked
from whorl.cli.render.console import problem_lines, reading_bar
from whorl.cli.render.duplicates import rewrite, write_clusters_to, write_list, write_pairs_to
from whorl.duplicates import Keep, passages_among
from whorl.duplicates.passages import WORDS
from whorl.duplicates.processes import worthwhile_workers
from whorl.duplicates.reading import Reading
from whorl.errors import ParameterError
from whorl.wire.duplicates import not_compared_line
from whorl.wire.text import counted


def require_of_passages(asked: Asked) -> None:
    """Raise where something is asked that passages, which are equal word for word, have no answer to."""
    given = [
        f"--{name}"
        for name in ("metric", "threshold", "recall")
        if click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    for option, is_given in {
        "--state": asked.state is not None, "--common-above": asked.common_above is not None,
        "--boilerplate": bool(asked.boilerplate_files), "--shingle": asked.shingle is not None,
        "--characters": asked.characters, "--keep": asked.keep not in (None, Keep("first")),
    }.items():  # fmt: skip
        given += [option] if is_given else []
    if given:
        raise ParameterError(
            f"{given[0]} is not for passages: they are equal word for word, the first stays, and --words N says how "
            "long they are"
        )


def write_passages(asked: Asked, reading: Reading) -> int:
    """Find the passages of files and write what is asked of them, and return among how many documents."""
    words = asked.words or WORDS
    with (
        reading_bar(lambda: reading.share) as tell,
        passages_among(
            reading.documents(),
            words,
            reference=reading.reference() if asked.reference else (),
            within=asked.within,
            workers=asked.workers or worthwhile_workers(reading.share[1]),
            on_repeated=reading.note_repeated,
            progress=tell,
        ) as found,
    ):
        tell("", 0)
        if asked.wants_clusters:
            marks = asked.filtered is not None
            told = write_clusters_to(asked.file, found.clusters(), asked.form, "passage", marks_principal=marks)
        else:
            told = write_pairs_to(asked.file, found.pairs(), asked.form)
        click.echo(f"{told}, of {counted(found.documents, 'document')} in all", err=True)
        if asked.delete_list is not None:
            write_list(found.clusters(), Keep("first"), asked.delete_list)
        if asked.folders:
            rewrite(found.clusters(), reading, asked.folders)
        if found.too_short:
            click.echo(
                f"note: {not_compared_line(found.too_short, 'document', f'of fewer than {words} words')}", err=True
            )
    for line in problem_lines(reading.problems, "could not be read as they are"):
        click.echo(line, err=True)
    return found.documents
