"""Lists the functions of a Python repository that come from other code, even with other names and without comments.

python examples/copied_functions.py REPOSITORY OTHERS

Both are folders. Each line has the place of a function, the place of the one that it comes from, and their Jaccard
similarity. The exit status is 1 if there are any, so that a job in CI fails.
"""

import ast
import io
import keyword
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from whorl import Document, find_in_documents, parse_pair_options

#: Shorter functions resemble each other by chance.
LEAST_WORDS = 60
WORDS = {tokenize.NAME: "name", tokenize.STRING: "string", tokenize.NUMBER: "number"}


def words_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return a word for each token of a function: the same for all names, and one for each keyword and operator."""
    if ast.get_docstring(function) is not None:
        function.body = function.body[1:] or [ast.Pass()]
    words = []
    for token in tokenize.generate_tokens(io.StringIO(ast.unparse(function)).readline):
        if keyword.iskeyword(token.string):
            words.append(token.string)
        elif token.type == tokenize.OP:
            words.append("op" + token.string.encode().hex())
        elif token.type in WORDS:
            words.append(WORDS[token.type])
    return words


def functions(folder: str) -> Iterator[Document]:
    """Yield the functions of a folder's Python files that are long enough to be compared."""
    for file in sorted(Path(folder).rglob("*.py")):
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError) as error:
            print(f"{file}: {error}", file=sys.stderr)
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(words := words_of(node)) >= LEAST_WORDS:
                yield Document(f"{file}:{node.lineno}:{node.name}", " ".join(words))


def main(repository: str, others: str) -> int:
    """Print the copied functions, and return the exit status."""
    found = find_in_documents(functions(repository), functions(others), parse_pair_options("jaccard", 80, 95))
    lines = [f"{pair.b.id}\t{pair.a.id}\t{pair.shares.jaccard:.0%}" for pair in found.pairs()]
    print(*lines, sep="\n", end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
