"""`whorl opensearch check`: checks whether an index can be searched by fingerprint, and reports problems.

No check changes the index. A finding states a fact, its consequence and a remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from whorl.engine.check_findings import (
    Finding,
    Severity,
    error,
    is_tested,
    missing_name_note,
    missing_passages_warning,
    note,
    ok,
    sort_findings,
    unsplit_names_note,
    untried_version_warning,
    warning,
)
from whorl.engine.configured_fields import (
    FieldNames,
    TextField,
    describe_fields,
    guess_name_field,
    guess_text_field,
    init_command,
)
from whorl.engine.opensearch.backfill_and_labels import missing_fields_query
from whorl.engine.opensearch.client import RESULT_WINDOW, IndexClient
from whorl.engine.opensearch.create_index import (
    definition_differences,
    field_definition,
    find_text_fields,
    has_own_fields_in_source,
    missing_texts_reason,
    properties_conflict,
    searchable_text,
    splits_names,
)
from whorl.engine.opensearch.document_fields import (
    ID,
    MAPPING,
    MINHASH,
    OWN,
    PASSAGES,
    SCHEME,
    IndexFeatures,
    Json,
    passage_scheme,
)
from whorl.engine.opensearch.foreign_minhash import (
    LONG_PROBE,
    MinHashField,
    choose_field,
    minhash_fields,
    probe_field,
    token_count,
)
from whorl.engine.opensearch.request_body import sort_keys
from whorl.engine.server_engine import MAX_CLAUSES, guard_response
from whorl.errors import EngineError, EngineResponseError, SchemaError
from whorl.model import Order
from whorl.query.plan.nodes import Kind

_NAMES = {"opensearch": "OpenSearch", "elasticsearch": "Elasticsearch"}
#: Oldest and newest versions that whorl is tested with, keyed by distribution.
TESTED_VERSIONS = {"opensearch": ("2.11", "3.8"), "elasticsearch": ("8.19", "9.5")}


@guard_response
def check(client: IndexClient, names: FieldNames) -> list[Finding]:
    """Return all findings about an index, errors first."""
    findings = _if_permitted(lambda: _version(client.about()))
    try:
        mapping = client.mapping()
    except SchemaError as cause:
        return sort_findings([*findings, error("several-indexes", str(cause), "name the one to search")])
    if mapping is None:
        makes = f"'whorl opensearch init {client.store_url}' makes it, and so does the first 'whorl index'"
        return sort_findings([*findings, error("no-index", f"{client.url} is not an index", makes)])
    settings = client.settings()
    foreign_fields = minhash_fields(mapping, settings)
    # If the index has none of whorl's fields, FINGERPRINT uses the tokens that the cluster makes.
    is_foreign = bool(foreign_fields) and not field_definition(mapping, ID)
    has_vectors = any(field.has_vectors for field in foreign_fields)
    texts = find_text_fields(client, mapping, names)
    likely = guess_name_field(names, partial(field_definition, mapping))
    init = init_command(f"whorl opensearch init {client.store_url}", texts, names, likely)
    findings += [
        *_if_permitted(lambda: _health(client)),
        *_fields(mapping, init, is_needed=not is_foreign),
        *_texts(texts, init, names),
        *([missing_name_note(names.name, init)] if likely else []),
        *_source(mapping, names, is_needed=not (is_foreign and has_vectors)),
        *_routing(client, mapping),
        *_limits(client, settings),
        *_foreign_fields(client, foreign_fields),
        *(_foreign_tokens(client, foreign_fields, names) if is_foreign else ()),
    ]
    if not is_foreign and not any(finding.level is Severity.ERROR for finding in findings):
        findings += [*_no_minhash(client, mapping), *_documents(client, mapping, names), *_scripts(client)]
    return sort_findings(findings)


def _if_permitted(find: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """Return findings about the cluster, or a note if the user has rights only to the index."""
    try:
        return list(find())
    except EngineResponseError as cause:
        if cause.status != 403:
            raise
        return [note("not-permitted", f"not checked, as the user may not monitor the cluster: {cause.detail}")]


def _version(about: Json) -> Iterator[Finding]:
    version = about.get("version", {})
    distribution, number = version.get("distribution", "elasticsearch"), str(version.get("number", "?"))
    name = _NAMES.get(distribution, distribution)
    yield note("version", f"this is {name} {number}, Lucene {version.get('lucene_version', '?')}")
    if not is_tested(number, TESTED_VERSIONS.get(distribution, ())):
        tried = " and ".join(f"{_NAMES[server]} {', '.join(numbers)}" for server, numbers in TESTED_VERSIONS.items())
        yield untried_version_warning(f"{name} {number}", tried, "try it on a copy of some documents first")


def _health(client: IndexClient) -> Iterator[Finding]:
    if (health := client.health())["status"] == "red":
        message = f"{health['unassigned_shards']} shards of the index are on no node: searches fail"
        yield error("red", message, "GET _cluster/allocation/explain says why")


def _fields(mapping: Json, init: str, *, is_needed: bool) -> Iterator[Finding]:
    missing = sorted(name for name in MAPPING if not field_definition(mapping, name))
    if missing:
        report = error if is_needed else note
        yield report("missing-fields", f"the mapping lacks {', '.join(missing)}", init)
    if differing := list(definition_differences(mapping)):
        message = f"fields of whorl's names are others: {'; '.join(differing)}"
        yield error("other-fields", message, "index the documents into a new index, made by 'whorl opensearch init'")
    if conflict := properties_conflict(mapping):
        yield warning("other-properties", conflict)
    if not missing and not differing:
        yield ok("fields", "the index has all fields that are searched")
        if not splits_names(mapping):
            yield unsplit_names_note("names", "index the documents into a new index")


def _texts(texts: Sequence[TextField], init: str, names: FieldNames) -> Iterator[Finding]:
    if texts:
        yield note("text-fields", f"texts are in {describe_fields(texts)}")
    if guess_text_field(texts, names):
        yield warning("no-text", f"no document has a text in {names.content!r}, where whorl looks for it", init)


def _source(mapping: Json, names: FieldNames, *, is_needed: bool) -> Iterator[Finding]:
    if reason := missing_texts_reason(mapping, names.content):
        report, remedy = error if is_needed else note, "index the documents into a new index that keeps them"
        yield report("no-source", f"texts cannot be read again: {reason}", remedy)
    if has_own_fields_in_source(mapping):
        remedy = "only a new index can be told not to: let 'whorl opensearch init' make it, and reindex"
        yield note("kept-twice", f"the source of a document keeps {OWN} a second time, at about twice the disk", remedy)


def _routing(client: IndexClient, mapping: Json) -> Iterator[Finding]:
    if mapping.get("_routing", {}).get("required"):
        message = "the index requires a routing, so it refuses new documents from whorl"
        yield warning("routing", message, "add them with another client, then run 'whorl opensearch backfill'")
    elif client.is_routed:
        yield note("routing", "documents have a routing, which whorl keeps; it stores new documents without one")


def _limits(client: IndexClient, settings: Json) -> Iterator[Finding]:
    limit = client.cluster_setting("indices.query.bool.max_clause_count")
    if limit is not None and int(limit) < MAX_CLAUSES:
        message = f"the cluster takes {limit} clauses in a query, and queries are made for {MAX_CLAUSES:,}"
        yield warning("clause-limit", message, "raise indices.query.bool.max_clause_count")
    window = settings.get("index.max_result_window")
    if window is not None and int(window) < RESULT_WINDOW:
        message = f"pages end at {window} hits: index.max_result_window"
        yield warning("result-window", message, f"set it to {RESULT_WINDOW:,}")
    blocks = [f"index.blocks.{kind}" for kind in ("read_only", "read_only_allow_delete", "write")]
    if active := [name for name in blocks if settings.get(name) == "true"]:
        message = f"the index accepts no documents ({', '.join(active)})"
        yield warning("blocked", message, "see the cluster's room on disk, then set the block to null")
    if settings.get("index.translog.durability", "").lower() == "async":
        message = "a crash may lose documents that were acknowledged some seconds before"
        yield warning("durability", message, "set index.translog.durability to request")


def _no_minhash(client: IndexClient, mapping: Json) -> Iterator[Finding]:
    if not field_definition(mapping, MINHASH):
        problem = f"there is no field {MINHASH!r}, so FINGERPRINT fails; 'whorl similar' works without it"
        remedy = f"to use FINGERPRINT: whorl opensearch init {client.store_url}, then backfill"
        yield note("no-minhash", problem, remedy)


def _documents(client: IndexClient, mapping: Json, names: FieldNames) -> Iterator[Finding]:
    total, without = client.total(), client.count(missing_fields_query())
    with_text = client.count(missing_fields_query(text=searchable_text(mapping, names)))
    others = client.count({"bool": {**missing_fields_query()["bool"], "filter": [{"exists": {"field": SCHEME}}]}})
    passages = passage_scheme(field_definition(mapping, PASSAGES))
    unread = client.count(missing_fields_query(IndexFeatures(passages, minhash=False))) - without if passages else 0
    has_tokens = bool(field_definition(mapping, MINHASH))
    tokenless = client.count(missing_fields_query(IndexFeatures())) - without if has_tokens else 0
    if total:
        message = f"{total - without:,} of {total:,} documents can be found by fingerprint"
        yield (ok if total > without else warning)("documents", message)
    if textless := without - with_text:
        message = f"{textless:,} documents lack our fields, as they have no text: no search finds them"
        yield note("without-text", message)
    if with_text:
        problem = f"{with_text:,} documents lack our fields and are not found"
        message = f"{problem}: indexed by others, or changed in part by others"
        yield warning("without-fields", message, f"whorl opensearch backfill {client.store_url}")
    if tokenless:
        message = f"{tokenless:,} documents have no MINHASH tokens, so FINGERPRINT does not find them"
        yield warning("without-minhash", message, f"whorl opensearch backfill {client.store_url}")
    if unread:
        yield missing_passages_warning(unread, f"whorl opensearch backfill {client.store_url}")
    if others:
        message = f"{others:,} of them have fingerprints of another version of whorl"
        yield warning("other-scheme", message, f"whorl opensearch backfill {client.store_url}")


def _scripts(client: IndexClient) -> Iterator[Finding]:
    by_name = sort_keys([Order("name", True, ((Kind.KEYWORD, "name"),))])
    try:
        client.hits({"query": {"exists": {"field": ID}}, "size": 1, "_source": False, "sort": by_name})
    except EngineResponseError as cause:
        remedy = "allow inline scripts (script.allowed_types), or order by score or id alone"
        yield warning("no-scripts", f"hits cannot be sorted by a field: {cause.detail}", remedy)


def _foreign_fields(client: IndexClient, fields: Sequence[MinHashField]) -> Iterator[Finding]:
    """Report unexpected properties of the cluster's MinHash fields."""
    for field in fields:
        problem = f"a `match` with a text on {field.name!r} finds whatever shares one token"
        cause = "all tokens have one position, which makes them synonyms, and minimum_should_match is ignored"
        remedy = "ask whorl (FINGERPRINT, whorl similar), or send each token as a term of its own"
        yield warning("match-any", f"{problem}: {cause}", remedy)
        yield from _options(client, field)


def _foreign_tokens(client: IndexClient, fields: Sequence[MinHashField], names: FieldNames) -> Iterator[Finding]:
    """Report the tokens that FINGERPRINT uses in an index without whorl's fields."""
    try:
        field = choose_field(fields, names.minhash)
        tokens = probe_field(client, field) if field else None
    except SchemaError as cause:
        yield error("own-tokens", str(cause), "name another field, or add whorl's own (init, backfill)")
        return
    if tokens is None:
        return
    message = f"FINGERPRINT asks {tokens.name!r}, whose tokens are the cluster's own ({tokens.scheme.name})"
    yield ok("own-tokens", message)
    if not tokens.is_sorted:
        problem = (
            "the cluster sorts nothing by _id: hits of one score are in the order of their ids within a page alone"
        )
        remedy = "set indices.id_field_data.enabled, or add whorl's own fields (init, backfill)"
        yield warning("no-id-order", f"{problem}, and pages end at {RESULT_WINDOW:,} hits", remedy)
    if not tokens.is_made_by_whorl:
        problem = f"{tokens.name!r} has its words from another analysis than ICU's with nfkc_cf"
        source = "the cluster is asked for the tokens of texts that are given to whorl"
        message = f"{problem}: {source}, and languages without blanks have others than elsewhere"
        yield warning("other-words", message, "add whorl's own fields (init, backfill), which need no plug-in")


def _options(client: IndexClient, field: MinHashField) -> Iterator[Finding]:
    if not field.rotation:
        repeats = "how often a short text's tokens repeat is worked out from the buckets"
        yield note("no-rotation", f"{field.name!r} does not rotate: {repeats}, and queries of others count each once")
    try:
        meant, made = token_count(field.scheme()), len(client.terms_of(LONG_PROBE, field.text_field, field.name))
    except EngineError:
        return
    if made != meant:
        problem = f"{field.name!r} makes {made:,} tokens of a long text where its filter says {meant:,}"
        cause = (
            "OpenSearch before pull request 15293 and Elasticsearch before 84753 ignore bucket_count and hash_set_size"
        )
        message = f"{problem}: {cause}"
        yield warning("ignored-options", message, "the fingerprints change with an upgrade: index again then")
