"""Docstrings and comments are plain English: sentences that match a riddle pattern become fewer, never more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Phrases that replace a noun or a subject. A sentence is usually clearer without them.
RIDDLES = re.compile(
    "|".join(
        (
            r"(?:^|[.;:] )Of (?:several|those|these|a|the|what|one|equal|each|texts|documents|it|that|which)\b",
            r"(?:^|[.;:] )Of (?:pairs|\w+ that)\b",
            r"(?i:\b(?:is|are|was|were|be|been) told\b|\btold of\b|\btells? (?:of|nothing|what|which|whether|how)\b)",
            r"^(?:Return|Yield|Say|Tell) (?:what|where|who|whether|how)\b",
            r"(?i:\b(?:are|is) there\b(?! (?:a|an|no|any)\b))",
            r"(?i:\b(?:nobody|somebody|whoever|everybody|anybody|likewise|so many as|those that|one that)\b)",
            r"(?i:\b(?:by|of|in|from|to|with|behind|among) (?:which|whom|what)\b)",
            r"(?i:\bas (?:they are|it is|that is|these are|it was|they were|before)\b)",
            r"(?i:\blets? go\b|\btak(?:e|es|en) (?:away|along)\b)",
            r"(?i:\bma(?:ke|kes|de) (?:\w+ )?of\b)",
            r"(?i:\b(?:anew|alike|beside|behind|hence|whence|thereby|meanwhile)\b)",
        )
    )
)

#: Suffixes of the checked files.
SUFFIXES = (".py", ".md", ".js")

#: Largest number of riddles in each tree. Lower it after rewriting sentences; never raise it.
CEILINGS = {"src": 0, "tests": 0, "benchmarks": 0, "tools": 0, "docs/decisions": 0, "Makefile": 0}


def sentences(path: Path) -> Iterator[str]:
    """Yield the docstrings without `Args`, and the comment blocks, of a file; for a page, its paragraphs."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                yield (ast.get_docstring(node) or "").split("\n\nArgs")[0]
    elif path.suffix == ".md":
        yield from re.split(r"\n\n|\n(?=- )", text)
        return
    elif path.suffix == ".js":
        text = re.sub(r"^(\s*)(?:/\*\*|\*/|\*|//) ?", r"\1# ", text.replace(" */", ""), flags=re.MULTILINE)
    else:
        yield from re.findall(r"## (.*)", text)
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.lstrip().startswith("#") and "noqa" not in line:
            block.append(line.strip().lstrip("#: "))
        elif block:
            yield " ".join(block)
            block = []


def riddles(tree: str) -> list[str]:
    """Return the sentences of a tree that match a pattern, each with its file."""
    root = ROOT / tree
    files = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.suffix in SUFFIXES)
    return [
        f"{path.relative_to(ROOT)}: {plain[:160]}"
        for path in files
        for sentence in sentences(path)
        if RIDDLES.search(plain := " ".join(sentence.split()))
    ]


@pytest.mark.parametrize("tree", CEILINGS)
def test_riddles_become_fewer(tree: str) -> None:
    """
    The count stays below its ceiling.
    """
    matches = riddles(tree)
    assert len(matches) <= CEILINGS[tree], "\n".join(matches)


@pytest.mark.parametrize(
    ("sentence", "is_riddle"),
    [
        ("Of several documents the first is kept.", True),
        ("Return where to note something; where nobody looks, it is forgotten.", True),
        ("What was told of it is made anew.", True),
        ("Return the current request's trace, or a throw-away one.", False),
        ("Prune documents that could not reach the threshold.", False),
    ],
)
def test_patterns(sentence: str, is_riddle: bool) -> None:
    """
    Examples of sentences that are rewritten, and of their plain versions.
    """
    assert bool(RIDDLES.search(sentence)) == is_riddle
