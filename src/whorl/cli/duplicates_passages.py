"""Passage level of `whorl duplicates`: finds passages repeated word for word in files."""

from __future__ import annotations

import click
from click.core import ParameterSource

from whorl.cli.duplicates_asked import Asked
from whorl.cli.render.console import problem_lines, reading_bar
from whorl.cli.render.duplicates import print_lines, rewrite, write_clusters_to, write_list, write_pairs_to
from whorl.context import report_progress, reporting
from whorl.duplicates import Keep, passages_among
from whorl.duplicates.input import InputReader
from whorl.duplicates.passages import WORDS
from whorl.duplicates.worker_pool import worthwhile_workers
from whorl.errors import ParameterError
from whorl.output.duplicates import not_compared_line
from whorl.output.format import counted


def require_of_passages(asked: Asked) -> None:
    """Raise for options that do not apply to passages, which are equal word for word."""
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


def write_passages(asked: Asked, reading: InputReader) -> int:
    """Find the repeated passages in files, write the requested output, and return the number of documents."""
    words = asked.words or WORDS
    with (
        reading_bar(lambda: reading.share) as show,
        reporting(show),
        passages_among(
            reading.documents(),
            words,
            reference=reading.reference() if asked.reference else (),
            within=asked.within,
            workers=asked.workers or worthwhile_workers(reading.share[1]),
            on_repeated=reading.note_repeated,
        ) as found,
    ):
        report_progress("", 0)
        lines = []
        # Write files before printing: the reader of standard output may be gone.
        if asked.delete_list is not None:
            lines += write_list(found.clusters(), Keep("first"), asked.delete_list)
        if asked.folders:
            lines += rewrite(found.clusters(), reading, asked.folders)
        if found.too_short:
            lines.append(f"note: {not_compared_line(found.too_short, 'document', f'of fewer than {words} words')}")
        lines += problem_lines(reading.problems, "could not be read as they are")
        try:
            if asked.wants_clusters:
                marks = asked.filtered is not None
                told = write_clusters_to(asked.file, found.clusters(), asked.form, "passage", marks_principal=marks)
            else:
                told = write_pairs_to(asked.file, found.pairs(), asked.form)
            lines.insert(0, f"{told}, of {counted(found.documents, 'document')} in all")
        finally:
            print_lines(lines)
    return found.documents
