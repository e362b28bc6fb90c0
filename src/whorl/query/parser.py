"""Parses query text into a syntax tree.

Lark's contextual lexer and LALR parser use one of two grammars, afts.lark or alfresco.lark. `TokenChecks` checks each
token before the parser gets it, and `Builder` builds the tree. No step is recursive, so nesting cannot overflow the
stack.

Building a grammar's tables takes far longer than parsing a query, so they are cached on disk. A cached file is replaced
if it is damaged or if other users can write to it.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from hashlib import sha256
from io import BytesIO
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import lark
import platformdirs
from lark import Lark, Token
from lark.common import LexerConf
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from lark.lexer import ContextualLexer

from whorl.errors import ParameterError, Span, UnsupportedQueryError
from whorl.query import ast
from whorl.query import strict_alfresco_tokens_and_errors as alfresco
from whorl.query.ast import Operator, ParseOptions, QueryLimits
from whorl.query.ast_builder import Builder, Language, expand_templates
from whorl.query.literals import read_boost, read_bound, read_field, read_similarity, read_slop, read_word
from whorl.query.messages import (
    FIELDS,
    Mistake,
    bad_character_error,
    empty_query_error,
    misplaced_token_error,
    missing_space_error,
    span_of,
    too_deep_error,
    too_many_clauses_error,
    unfinished_query_error,
)

_OPTIONS = {"parser": "lalr", "start": "query", "maybe_placeholders": False}
_DIGEST_SIZE = sha256().digest_size


class _Lexer(ContextualLexer):
    """Lark's contextual lexer without a check for overlapping terminals, which takes minutes with interegular."""

    def __init__(
        self, conf: LexerConf, states: dict[int, Collection[str]], always_accept: Collection[str] = ()
    ) -> None:
        conf.skip_validation = True
        super().__init__(conf, states, always_accept)


class _PlainUnpickler(pickle.Unpickler):
    """Unpickles only plain values and tokens, so that a file cannot run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) != ("lark.lexer", "Token"):
            raise pickle.UnpicklingError(f"{module}.{name} is not expected in the tables of a grammar")
        return lark.Token


def parser_of(grammar: str, splitter: alfresco.Splitter | None) -> Lark:
    """Load the parser of a grammar from the cache, or build and cache it; `splitter` is Lark's postlex step, if any."""
    # Lark does not save these options, so pass them when loading, too.
    plugins = {"postlex": splitter, "_plugins": {"ContextualLexer": _Lexer}}
    accepted = () if splitter is None else tuple(splitter.always_accept)
    key = repr((grammar, _OPTIONS, accepted, lark.__version__, sys.version))
    path = platformdirs.user_cache_path("whorl") / "grammars" / sha256(key.encode()).hexdigest()[:32]
    # Build the tables again if they cannot be read, or if this version of Lark cannot load them.
    with suppress(Exception):
        tables = _PlainUnpickler(BytesIO(_read_cached_tables(path))).load()
        load: Callable[..., Lark] = Lark._load_from_dict
        return load(tables["data"], tables["memo"], **plugins)
    built = Lark(grammar, **_OPTIONS, **plugins)
    content = BytesIO()
    built.save(content, exclude_options=plugins)
    # If the cache cannot be written, each process builds its tables.
    with suppress(OSError):
        _write(path, content.getvalue())
    return built


def _read_cached_tables(path: Path) -> bytes:
    """Return the content of a cached file; raise OSError or ValueError if it is missing, damaged or not private."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if os.name == "posix" and (status.st_uid != os.getuid() or status.st_mode & 0o022):
            raise ValueError(f"{path} is not private")
        digest, content = file.read(_DIGEST_SIZE), file.read()
    if sha256(content).digest() != digest:
        raise ValueError(f"{path} is damaged")
    return content


def _write(path: Path, content: bytes) -> None:
    """Replace a cached file atomically, so that no process reads an incomplete file."""
    # If the user has no home directory, the path is relative, so do not cache in the current folder.
    if not path.is_absolute():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(sha256(content).digest() + content)
            file.close()
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
            raise


_OUTSIDE_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def parse(
    query: str,
    *,
    strict: bool = False,
    default_operator: Operator = Operator.OR,
    field_operator: Operator = Operator.OR,
    templates: Mapping[str, str] | None = None,
    default_field: str = "",
    limits: QueryLimits = QueryLimits(),  # noqa: B008 - frozen
) -> ast.Node:
    """Return the syntax tree of a query.

    Args:
        query: The query, in the language of docs/afts.md.
        strict: Whether to parse with Alfresco's own, stricter grammar.
        default_operator: Operator between adjacent words.
        field_operator: Operator between words in a group after a field.
        templates: Query templates, keyed by name, ignoring case, with the placeholder `%field` or `%(field field)` for
            the searched words. In the query, `name:word` is replaced by the template, filled with `word`.
        default_field: Field of words that name no field. If a template has this name, it replaces these words, too.
        limits: Size limits for the query and each template.

    Raises:
        QuerySyntaxError: The text is not in the language.
        UnsupportedQueryError: The query uses an unsupported construct, or exceeds the limits.
        ParameterError: Templates refer to each other in a circle, or two templates have the same name.

    >>> parse("big type:pdf~0.8").children[0]
    Term(text='big', field=None, form=<Form.DEFAULT: ''>)
    """
    options = ParseOptions(default_operator, field_operator, strict, limits=limits)
    if templates:
        inside = replace(options, is_template=True)
        trees = {name.lower(): _parse(text, inside) for name, text in templates.items()}
        if len(trees) < len(templates):
            raise ParameterError(f"two templates have the same name, case aside: {', '.join(sorted(templates))}")
        trees = expand_templates(trees, limits.clauses)
        options = replace(options, templates=trees, default_template=trees.get(default_field.lower()))
    return _parse(query, options)


def _parse(query: str, options: ParseOptions) -> ast.Node:
    language = _ALFRESCO if options.strict else _WHORL
    try:
        _check_text(query, options.limits.length)
        tree = Builder(query, options, language).build(_parse_tree(query, options, language))
        most = min(options.limits.depth, ast.MAX_DEPTH)
        if too_deep := next(islice(ast.levels(tree), most + 1, None), None):
            raise too_deep_error(too_deep[0].span, most)
        return tree
    except Mistake as mistake:
        raise mistake.error(query) from None


def _parse_tree(query: str, options: ParseOptions, language: Language) -> Any:
    checks = TokenChecks(query, options)
    parser = _cached_parser(language.grammar).parse_interactive(query)
    try:
        for token in parser.iter_parse():
            checks.add_token(token)
        return parser.feed_token(Token("$END", ""))
    except UnexpectedCharacters as error:
        raise language.bad_character_error(query, error.pos_in_stream or 0, checks.seen) from None
    except UnexpectedToken as error:
        token = error.token
        if token.type == "$END":
            raise language.unfinished_query_error(query, checks.seen) from None
        if token.type in _PARTS:
            raise language.bad_character_error(query, span_of(token).start, checks.seen) from None
        # If `checks` has seen the token, the parser has refused it; otherwise, the lexer has refused it.
        was_seen = checks.seen and checks.seen[-1] is token
        raise language.misplaced_token_error(query, token, checks.seen[:-1] if was_seen else checks.seen) from None


# Parts of literals. If no token fits the context, Lark's lexer tries all tokens, and may return one of these.
_PARTS = frozenset({"BOUND", "ID", "REFERENCE"})


_WHORL = Language(
    "afts.lark",
    *(read_word, read_bound, read_field, read_boost, read_similarity, read_slop),
    *(bad_character_error, misplaced_token_error, unfinished_query_error),
)
_ALFRESCO = Language(
    "alfresco.lark",
    *(
        alfresco.read_word,
        alfresco.read_bound,
        alfresco.read_name,
        alfresco.read_number,
        alfresco.read_number,
        alfresco.read_slop,
    ),
    *(alfresco.bad_character_error, alfresco.refused_token_error, alfresco.early_end_error),
)


def build_grammars() -> None:
    """Build both parsers in advance, so that the first queries do not wait."""
    for language in (_WHORL, _ALFRESCO):
        lexer: Any = _cached_parser(language.grammar).parser.lexer
        # A postlex step wraps the lexer, so take the lexer out of the wrapper.
        lexer = getattr(lexer, "lexer", lexer)
        for contextual in (*lexer.lexers.values(), lexer.root_lexer):
            # The first access compiles the scanner's regular expression.
            _ = contextual.scanner


@cache
def _cached_parser(grammar: str) -> Lark:
    splitter = alfresco.Splitter() if grammar == _ALFRESCO.grammar else None
    return parser_of(Path(__file__).with_name(grammar).read_text(encoding="utf-8"), splitter)


def _check_text(query: str, longest: int) -> None:
    if len(query) > longest:
        message = f"a query can have at most {longest:,} characters, got {len(query):,}"
        raise Mistake(message, Span(longest, len(query)), "", UnsupportedQueryError)
    if bad := _OUTSIDE_TEXT.search(query):
        half = bad[0] >= "\ud800"
        message = f"U+{ord(bad[0]):04X} is {'half of a surrogate pair' if half else 'a control character'}"
        hint = "Remove it." if half else f"Remove it, or write \\u{ord(bad[0]):04x}"
        raise Mistake(message, Span(*bad.span()), hint)
    if not query.strip():
        raise empty_query_error(query)


_WORDS = frozenset({"WORD", "ADDRESS", "PHRASE"})
# Tokens that each become one leaf of the tree. A token of `_JOINS` joins two leaves into one.
_LEAVES = _WORDS | {"QUALIFIED_NAME", "RANGE_START", "EVERYTHING", "ID", "TEMPLATE", "TEMPLATE_GROUP"}
# In Alfresco's grammar, up to `_PIECES_OF_A_WORD` of these tokens form a word. So `TokenChecks` accepts some queries
# with too many clauses, and the builder counts the leaves exactly.
_PIECES = frozenset({"NAME", "WORD", "STAR", "QUESTION_MARK", "INTEGER", "DECIMAL", "DATE", "QUALIFIED"})
_PIECES_OF_A_WORD = 5
_JOINS = frozenset({"DOTDOT", "NEAR"})
_FINGERPRINT_ENDS = frozenset({"ID", "OVERLAP", "PROBABILITY"})
_ENDS = _WORDS | _FINGERPRINT_ENDS | {"QUALIFIED_NAME", "RANGE_END", "EVERYTHING", "REFERENCE"}
_ENDS |= {"BOOST", "SIMILARITY", "SLOP"}
_STARTS = _LEAVES - {"ID"} | FIELDS | {"FINGERPRINT", "FORM", "NOT", "PLUS", "MINUS"}


class TokenChecks:
    """Checks each token before the parser gets it: raises `Mistake` if it is misplaced or exceeds a limit.

    `seen` has the accepted tokens.
    """

    def __init__(self, query: str, options: ParseOptions) -> None:
        self.seen: list[Token] = []
        self._query, self._options = query, options
        self._open: list[Operator] = []
        self._pieces = 0
        self._nots = 0

    def add_token(self, token: Token) -> None:
        before = self.seen[-1] if self.seen else None
        if before is not None and before.end_pos == token.start_pos and not self._options.strict:
            self._check_space(before, token)
        self._check_limits(token, before)
        if token.type in ("_OR", "_AND"):
            self._check_idle(token, before)
        self.seen.append(token)

    def _check_limits(self, token: Token, before: Token | None) -> None:
        limits = self._options.limits
        if self._options.strict:
            self._pieces += 1 if token.type in _PIECES else _PIECES_OF_A_WORD * (token.type == "PHRASE")
        else:
            self._pieces += _PIECES_OF_A_WORD * ((token.type in _LEAVES) - (token.type in _JOINS))
        if self._pieces > _PIECES_OF_A_WORD * limits.clauses:
            raise too_many_clauses_error(span_of(token), limits.clauses)
        if token.type == "LPAR":
            is_field = before is not None and before.type in FIELDS
            self._open.append(self._options.field_operator if is_field else self._operator())
        elif token.type == "RPAR" and self._open:
            self._open.pop()
        self._nots = self._nots + 1 if token.type == "NOT" else 0
        if max(len(self._open), self._nots) > limits.depth:
            raise too_deep_error(span_of(token), limits.depth)

    def _operator(self) -> Operator:
        return self._open[-1] if self._open else self._options.default_operator

    def _check_idle(self, token: Token, before: Token | None) -> None:
        """Raise an error if AND or OR precedes the first operand, unless it is the default operator."""
        is_first = before is None or before.type == "LPAR" or (before.type, token.type) == ("_OR", "_AND")
        if is_first and token.type != "_" + self._operator().value:
            raise misplaced_token_error(self._query, token, self.seen)

    def _check_space(self, before: Token, token: Token) -> None:
        """Raise an error if a token follows an operand without a space: the user may have meant one word."""
        is_quoted_id = before.type == "PHRASE" and [token.type for token in self.seen[-2:-1]] == ["FINGERPRINT"]
        is_id = is_quoted_id or before.type in _FINGERPRINT_ENDS
        if before.type not in _ENDS or not (token.type in _STARTS or (is_id and token.type == "LPAR")):
            return
        if is_quoted_id and token.type == "WORD":
            message = "only _<overlap>_<probability> can follow the closing quote"
            raise Mistake(message, span_of(token), 'As in FINGERPRINT:"my_doc"_20_80')
        if token == "~" and before.type in _WORDS:
            raise Mistake("a number must follow ~ directly", span_of(token), 'As in word~0.8, or "some words"~2')
        if is_id:
            hint = 'An id with blanks, parentheses, quotes or ^ is quoted, as in FINGERPRINT:"report (1).pdf"'
            raise missing_space_error(token, span_of(token), hint)
        raise missing_space_error(token, span_of(token))
