"""Error messages for people, and errors passed between programs."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl import errors
from whorl.errors import (
    EngineResponseError,
    EngineUnavailableError,
    NoSketchesError,
    ParameterError,
    QueryError,
    QuerySyntaxError,
    Span,
    StoppedError,
    UnknownDocumentError,
    WhorlError,
)

SHOWN = [
    (
        ("a AND", Span(5, 5), "Write more."),
        ["what", "  a AND", "       ^", "Write more."],
    ),
    (
        ("a\nb\x1b[31m", Span(2, 3), ""),
        ["what", "  a·b·[31m", "    ^"],
    ),
    (
        ("x" * 200, Span(100, 103), ""),
        ["what", "  …" + "x" * 103 + "…", "  " + " " * 61 + "^^^"],
    ),
    (
        ("x" * 500, Span(0, 500), ""),
        ["what", "  " + "x" * 140 + "…", "  " + "^" * 140],
    ),
    (("", Span(0, 0), ""), ["what", "  ", "  ^"]),
]


@pytest.mark.parametrize(("parts", "lines"), SHOWN)
def test_the_place_in_a_query(parts: tuple[str, Span, str], lines: list[str]) -> None:
    """
    A query error shows the query on one line, shortened around the span, without control characters.
    """
    query, span, hint = parts
    assert str(QuerySyntaxError("what", query=query, span=span, hint=hint)).splitlines() == lines


@given(st.text(max_size=400), st.integers(0, 400), st.integers(0, 400))
def test_the_caret_is_under_its_place(query: str, one: int, other: int) -> None:
    """
    For any query, the message has three lines; the last one marks the first character of the span.
    """
    start, end = sorted((min(one, len(query)), min(other, len(query))))
    message, shown, marks = str(QueryError("what", query=query, span=Span(start, end))).split("\n")
    assert message == "what"
    assert len(shown) <= 144
    at = marks.index("^")
    if start < len(query):
        assert shown[at] == (query[start] if query[start].isprintable() else "·")
    else:
        assert at == len(shown)
    assert len(marks) - at <= max(1, end - start)


MADE = [
    QuerySyntaxError("what", query="a AND", span=Span(5, 5), hint="Write more."),
    UnknownDocumentError("a"),
    EngineUnavailableError("gone", is_temporary=True),
    EngineResponseError("bad", status=500, detail="why"),
    NoSketchesError(),
    StoppedError("the time is up"),
]


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_errors_pass_from_one_process_to_another(error: WhorlError) -> None:
    """
    Pickling and copying an error keeps all its attributes, so that process pools pass errors on.
    """
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_the_documented_tree_of_errors_is_complete() -> None:
    """
    The tree in the module's docstring matches the classes.
    """
    drawn: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for branch, name in re.findall(r"^([ │├└─]*)(\w+Error)\b", errors.__doc__ or "", re.MULTILINE):
        above = [ancestor for ancestor in above if ancestor[0] < len(branch)]
        drawn[name] = above[-1][1] if above else "Exception"
        above.append((len(branch), name))
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, WhorlError)]
    assert drawn == {kind.__name__: kind.__bases__[0].__name__ for kind in kinds}


@pytest.mark.parametrize("kind", [ParameterError, UnknownDocumentError, errors.DocumentError])
def test_bad_values_are_value_errors(kind: type[Exception]) -> None:
    """
    Errors of bad values are also ValueErrors, for callers that catch those.
    """
    with pytest.raises(ValueError, match="a"):
        raise kind("a")


def test_messages_of_all_front_ends_name_no_flags() -> None:
    """
    Texts of modules that the service uses name flags only as part of a command in quotation marks; `--fail-on` has no
    other front end.
    """
    source = Path(errors.__file__).parent
    modules = [*source.glob("search/**/*.py"), source / "output/checked_quotations.py"]
    modules += [source / f"duplicates/{name}.py" for name in ("retention", "options", "results", "clusters")]
    named = [
        f"{module.name}: {node.value}"
        for module in modules
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value
        if re.search(r"--[a-z]", re.sub("'whorl [^']*'", "", node.value)) and "--fail-on" not in node.value
    ]
    assert named == []
