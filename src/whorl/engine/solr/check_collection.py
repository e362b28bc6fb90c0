"""`whorl solr check`: checks whether and how a collection can be searched by fingerprint, and reports problems.

No check changes the collection. A finding states a fact, its consequence and a remedy. `compare_sample` compares the
indexed tokens with the tokens that whorl makes from the stored texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from whorl.engine.check_findings import (
    Finding,
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
from whorl.engine.server_engine import guard_response
from whorl.engine.solr.client import Json, SolrClient, texts
from whorl.engine.solr.document_fields import count_coverage
from whorl.engine.solr.field_definitions import SKETCH_FIELDS
from whorl.engine.solr.inspect_collection import (
    STEMS,
    Schema,
    SolrCollection,
    TokenSource,
    analyzer,
    find_filter,
    find_text_fields,
    inspect,
    minhash_chain,
    read_schema,
    read_version,
    select_tokens,
)
from whorl.engine.solr.request_body import (
    EVERYTHING,
    empty_sketches,
    lacks_passages,
    search_request,
    without_sketch,
    without_tokens,
)
from whorl.errors import EngineResponseError, SchemaError, format_names
from whorl.fingerprint.fingerprint_texts import sign
from whorl.query.plan.nodes import Bool, BoundPlan, DocumentsByScore, SharedTokens

#: For each major version, the oldest version that whorl is tested with.
TESTED_VERSIONS = ("8.11", "9")
_OUR_TYPE = "give the field the type text_min_hash of solr/configset and index again (whorl index --all)"


@guard_response
def check(client: SolrClient, names: FieldNames) -> list[Finding]:
    return sort_findings([*_findings(client, names)])


def _findings(client: SolrClient, names: FieldNames) -> Iterator[Finding]:
    version = read_version(client)
    try:
        version.require()
    except SchemaError as cause:
        yield error("old-version", str(cause), "use Solr 9")
        return
    schema = read_schema(client)
    text_fields = find_text_fields(client, schema, names)
    likely = guess_name_field(names, schema.is_stored)
    init = init_command(f"whorl solr init {client.url}", text_fields, names, likely)
    if not is_tested(version.solr, TESTED_VERSIONS):
        remedy = "see 'whorl solr check --sample 200' for whether both make the same fingerprints"
        yield untried_version_warning(f"Solr {version.solr}", "8.11 and 9", remedy)
    if len(aliased := client.aliased_collections()) > 1:
        problem = f"the URL is an alias of {len(aliased)} collections, {format_names(aliased, 5)}"
        limit = "it can be searched, but documents are indexed, deleted and given sketches in a collection"
        remedy = "name a collection in the URL for index, delete, init, backfill and --write-ids"
        yield warning("alias", f"{problem}: {limit}", remedy)
    if client.has_implicit_router():
        problem = "the router is 'implicit', with which Solr finds no shard by a document's id"
        limit = "whorl searches the collection, and does not index, delete or give sketches there"
        yield warning("router", f"{problem}: {limit}", "copy the documents into one with the router 'compositeId'")
    yield from _texts(client, schema, names, text_fields, init)
    if (schema.describe(names.name) or {}).get("type") == "text_whorl":
        remedy = "give the field the type text_whorl_names of solr/configset, then index the documents again"
        yield unsplit_names_note(repr(names.name), remedy)
    if likely:
        yield missing_name_note(names.name, init)
    try:
        collection = inspect(client, names)
    except SchemaError as cause:
        yield error("no-fingerprints", str(cause), init)
        return
    yield from _minhash(client, collection, names) if collection.has_minhash else _no_minhash(client, collection)
    yield from _identifiers(collection, names)
    if not (likely or collection.names.name):
        yield missing_name_note(names.name, "")
    yield from _sketches(client, collection, has_text=any(field.name == names.content for field in text_fields))
    yield from _passages(client, collection)
    yield from _words(collection, names)
    yield from _uncommitted_documents(client)


def _texts(
    client: SolrClient, schema: Schema, names: FieldNames, text_fields: list[TextField], init: str
) -> Iterator[Finding]:
    """Report the fields with stored texts, and problems that prevent fingerprinting the texts."""
    name = names.content
    if text_fields:
        yield note("text-fields", f"stored texts are in {describe_fields(text_fields)}")
    field = schema.describe(name) or {}
    is_counted = field.get("indexed", True) or not schema.is_stored(name)
    if is_counted and all(field.name != name for field in text_fields) and client.count(EVERYTHING):
        remedy = ""
        if guess_text_field(text_fields, names):
            remedy = init + (" --repair" if schema.is_set_up(names) else "")
        problem = f"no document has a stored text in {name!r}, where whorl looks for it"
        yield warning("no-text", f"{problem}: none can be given a sketch or be compared whole", remedy)
    if schema.is_multivalued(name):
        minhash = schema.fields.get(names.minhash)
        if minhash is not None and name in schema.sources(names.minhash) and not minhash.get("multiValued"):
            problem = f"{name!r} can have several values and {names.minhash!r} takes one"
            message = f"{problem}: Solr refuses documents that have several"
            yield warning("one-value", message, f"whorl solr init {client.url} --repair")
        else:
            reading = "whorl reads them as one text with one fingerprint, while Solr indexes the tokens of each"
            result = "so a document is also found by what it shares in one of them"
            yield note("several-values", f"{name!r} can have several values: {reading}, {result}")


def _no_minhash(client: SolrClient, collection: SolrCollection) -> Iterator[Finding]:
    # The token field is optional, so a missing field is an error only if the user has configured it.
    report = note if collection.names.minhash == FieldNames().minhash else error
    problem = f"there is no field {collection.names.minhash!r}, so FINGERPRINT fails"
    version = f"Solr {collection.version.solr}, words broken as {collection.scheme.profile} by its version"
    message = f"{problem}; 'whorl similar' and other searches by sketches work ({version})"
    yield report("no-minhash", message, f"to use FINGERPRINT: whorl solr init {client.url}")


def _minhash(client: SolrClient, collection: SolrCollection, names: FieldNames) -> Iterator[Finding]:
    yield from _token_source(client, collection)
    yield from _field(collection)
    yield from _analysis(collection)
    yield from _content(client, collection, names)
    yield from _without_fingerprint(client, collection)


def _token_source(client: SolrClient, collection: SolrCollection) -> Iterator[Finding]:
    name = collection.names.minhash
    known = "as its analysis of a text shows" if collection.profile_is_seen else "by its version"
    versions = f"Solr {collection.version.solr}, Lucene {collection.version.lucene}"
    tokens = f"{name!r} holds {collection.names.token_encoding.value}"
    yield ok("version", f"{versions}, words broken as {collection.scheme.profile} ({known}); {tokens}")
    if collection.schema.is_text(name) and not collection.profile_is_seen:
        problem = f"the analysis of {name!r} makes other tokens of a text than whorl does under any word-break profile"
        result = "texts given to whorl (--source) may not find what they should"
        remedy = "see 'whorl solr check --sample 200' for how many documents differ"
        message = f"{problem}, or /analysis/field cannot be asked: {result}"
        yield warning("other-words", message, f"{remedy}; whorl's own chain is in its configset")
    if collection.sources:
        others = ", then ".join(source.value for source in collection.sources[1:])
        also = f" (also there: {others})" if others else ""
        yield ok("token-source", f"a source's tokens are read from {collection.sources[0].value}{also}")
    else:
        vectors = f"{name!r} has no term vectors with a handler to read them"
        message = f"no source of tokens: {vectors}, is not a stored string field, and the text is not stored"
        remedy = f"set termVectors=true on {name!r} or stored=true on the text, and index again (whorl index --all)"
        yield error("no-token-source", message, f"whorl solr init {client.url}, then {remedy}")
    if collection.sources == (TokenSource.TEXT,):
        cost = "a source's whole text is fetched and fingerprinted for every query"
        saving = f"term vectors of {name!r} would save that for long texts"
        yield note("text-only", f"{cost}; {saving}, and take as much of the index as the tokens themselves")
    if collection.schema.fields[name].get("termVectors") and collection.vector_handler is None:
        message = f"{name!r} has term vectors, but no request handler answers with them"
        yield warning("no-vector-handler", message, f"whorl solr init {client.url}")


def _field(collection: SolrCollection) -> Iterator[Finding]:
    name = collection.names.minhash
    described = collection.schema.fields[name]
    is_text = collection.schema.is_text(name)
    if not described.get("indexed"):
        message = f"{name!r} is not indexed, so nothing can match"
        yield error("not-indexed", message, "set indexed=true, index again (whorl index --all)")
    if is_text and not described.get("omitNorms"):
        yield warning("norms", f"{name!r} keeps norms, which no fingerprint query reads", "set omitNorms=true")
    if is_text and not described.get("omitTermFreqAndPositions"):
        message = f"{name!r} keeps frequencies and positions: about a tenth more index for nothing"
        yield warning("positions", message, "set omitTermFreqAndPositions=true")
    if is_text and described.get("stored"):
        message = f"{name!r} is a stored text field: what is stored is the text once more, not its tokens"
        yield warning("stored-text", message, "set stored=false")


def _analysis(collection: SolrCollection) -> Iterator[Finding]:
    name = collection.names.minhash
    field_type = collection.schema.types[collection.schema.fields[name]["type"]]
    if not collection.schema.is_text(name):
        yield note("filled-outside", f"{name!r} is a string field: something else, as Alfresco, fills in its tokens")
        return
    chain = minhash_chain(field_type)
    minhash = find_filter(chain, "minhash")
    if minhash is None:
        message = f"the index analysis of {name!r} (type {field_type['name']!r}) makes no MinHash tokens"
        yield error("wrong-analyzer", message, _OUR_TYPE)
        return
    if find_filter(analyzer(field_type, "query").get("filters", []), "minhash") is not None:
        problem = f"{name!r} makes MinHash tokens at query time as well"
        message = f"{problem}; whorl sends tokens that are not analysed, other clients' term queries will not match"
        yield warning("query-analyzer", message, "give the type a query analyzer of one KeywordTokenizer")
    tokenizer = analyzer(field_type, "index").get("tokenizer", {})
    if "icu" not in str(tokenizer.get("name", tokenizer.get("class"))).lower():
        problem = f"the words come from {tokenizer.get('name', tokenizer.get('class'))}, not from ICU"
        message = f"{problem}: fingerprints made by whorl from a text do not match this index"
        yield warning("tokenizer", message, _OUR_TYPE)
    yield from _filters(collection, chain, minhash)
    if find_filter(chain, "truncate") is None:
        message = f"{name!r} keeps tokens of 128 bits; 64 find the same documents in half the index"
        remedy = "add TruncateTokenFilterFactory prefixLength=4 after MinHashFilterFactory, then whorl index --all"
        yield warning("no-truncation", message, remedy)


def _filters(collection: SolrCollection, chain: list[Json], minhash: Json) -> Iterator[Finding]:
    name = collection.names.minhash
    normalizer = find_filter(chain, "icunormalizer2")
    # The filter's parameter is `name` in Solr 8, and `form` in later versions. Its default is nfkc_cf.
    forms = {normalizer.get(parameter, "nfkc_cf") for parameter in ("form", "name")} if normalizer else {None}
    if not forms <= {"nfkc_cf", "icuNormalizer2"}:
        yield warning(
            "no-folding",
            f"{name!r} does not fold with nfkc_cf: capitals and ligatures make different fingerprints",
            'add ICUNormalizer2FilterFactory form="nfkc_cf" mode="compose" before the shingles, then whorl index --all',
        )
    rotates = str(minhash.get("withRotation", "true")) == "true"
    buckets = int(minhash.get("bucketCount", 512))
    if rotates and not collection.schema.fields[name].get("omitTermFreqAndPositions"):
        problem = f"{name!r} fills empty buckets by rotation and keeps frequencies"
        message = f"{problem}: a short text's repeated tokens are written down each time"
        remedy = "set omitTermFreqAndPositions=true: the repeats are then free, and term vectors still count them"
        yield warning("rotation", message, remedy)
    elif rotates:
        repeats = "a short text's tokens count several times. With omitTermFreqAndPositions that costs no index"
        yield note("rotation", f"{name!r} fills empty buckets by rotation, as Alfresco does: {repeats}")
    else:
        repeats = "how often a short text's tokens repeat is worked out from the buckets"
        yield note("no-rotation", f"{name!r} does not rotate: {repeats}, and Solr's own parser counts each once")
    if collection.scheme.shingle_size != 5:
        message = f"{name!r} has shingles of {collection.scheme.shingle_size} words; 5 is what Alfresco and whorl use"
        yield note("shingles", message)
    if buckets != 512:
        yield note("buckets", f"{name!r} has {buckets} buckets; 512 is what Alfresco and whorl use")


def _content(client: SolrClient, collection: SolrCollection, names: FieldNames) -> Iterator[Finding]:
    name = collection.names.minhash
    if not collection.schema.is_text(name):
        return
    sources = collection.schema.sources(name)
    if not sources:
        message = f"nothing is copied into {name!r}: only documents that bring the text twice have a fingerprint"
        yield warning("no-copy-field", message, f"whorl solr init {client.url}")
    elif names.content not in sources:
        message = (
            f"{name!r} is filled from {', '.join(map(repr, sources))}, not from {names.content!r}, where whorl writes"
        )
        yield warning("other-copy-field", message, f"whorl solr init {client.url} --content {sources[0]}")
    if collection.content is None:
        problem = f"the text is not stored under {names.content!r}: the order of some tokens cannot be told"
        yield note("text-not-stored", f"{problem}, so banded queries cut a few bands otherwise than Solr's own parser")


def _identifiers(collection: SolrCollection, names: FieldNames) -> Iterator[Finding]:
    if collection.dbid is None:
        problem = f"there is no field {names.dbid!r}"
        message = f"{problem}: FINGERPRINT:1234 is looked up as the unique key {collection.names.key!r} instead"
        yield note("no-dbid", message)
    if collection.noderef is None:
        message = f"there is no field {names.noderef!r}: node references and UUIDs are looked up as unique keys"
        yield note("no-noderef", message)


def _without_fingerprint(client: SolrClient, collection: SolrCollection) -> Iterator[Finding]:
    bare = without_tokens(collection.names.minhash)
    without = client.count(bare)
    if not without:
        return
    remedy = "index those again (whorl index --all)"
    if collection.schema.has_sketches and collection.content:
        # A backfill gives a sketch and tokens to every document with a text, so recommend it if documents lack both.
        unsketched = without_sketch(collection.sketch_schemes, collection.searchable_text)
        lacking = {"bool": {"filter": [bare, unsketched]}}
        if client.count(lacking):
            remedy = f"whorl solr backfill {client.url}"
        elif without < client.count(EVERYTHING):
            remedy = ""
    short = f"their text has fewer than {collection.scheme.shingle_size} words"
    old = f"they were indexed before {collection.names.minhash!r} was filled"
    yield note("without-fingerprint", f"{without:,} documents have no fingerprint: {short}, or {old}", remedy)


def _sketches(client: SolrClient, collection: SolrCollection, *, has_text: bool) -> Iterator[Finding]:
    missing = ", ".join(repr(name) for name in SKETCH_FIELDS if name not in collection.schema.fields)
    can_be_made = has_text or not client.count(EVERYTHING)
    if missing:
        reason = (
            "" if can_be_made else ", and there is no stored text to make it from: they are searched by their tokens"
        )
        problem = f"there is no field {missing}"
        message = f"{problem}: documents cannot carry the sketch that searches with a promised recall need{reason}"
        remedy = f"whorl solr init {client.url}, then whorl solr backfill {client.url}" if can_be_made else ""
        yield note("no-sketches", message, remedy)
        return
    if defects := collection.schema.sketch_defects:
        wrong = ", ".join(f"{name!r} is not {wanted}" for name, wanted in defects)
        remedy = "define the field as solr/configset does and index again (whorl index --all)"
        yield warning("sketch-fields", f"{wrong}, so no sketches are kept or searched", remedy)
        return
    name = collection.sketch_schemes
    covered = count_coverage(client, name, collection.searchable_text)
    yield ok("sketches", f"{covered.by_scheme.get(name, 0):,} of {covered.documents:,} documents have a sketch")
    remedy = f"whorl solr backfill {client.url}" if can_be_made and collection.content else "index them again"
    unsketched = covered.without_any_sketch(name)
    if unsketched > 0:
        message = f"{unsketched:,} documents have no sketch, so searches with a promised recall do not find them"
        yield note("without-sketch", message, remedy)
    if covered.by_scheme.get(name, 0) > covered.searchable.get(name, 0):
        yield from _empty_sketches(client, collection, name)
    for other, count in covered.by_scheme.items():
        if other != name:
            message = f"{count:,} documents have a sketch under {other}, which is not compared with those under {name}"
            yield warning("other-sketch-scheme", message, remedy)
    if covered.lost:
        problem = f"{covered.lost:,} documents have lost the tokens of their sketch"
        cause = "as an atomic update by somebody else leaves them"
        yield warning("lost-sketches", f"{problem}, {cause}: no search by sketches finds them", remedy)


def _passages(client: SolrClient, collection: SolrCollection) -> Iterator[Finding]:
    scheme = collection.schema.passage_scheme
    if scheme is None:
        return
    unread = client.count(lacks_passages(scheme, collection.searchable_text))
    if not unread:
        yield ok("passages", f"passages of {scheme.run_words} words are found with certainty")
        return
    remedy = f"whorl solr backfill {client.url}" if collection.content else "index them again (whorl index --all)"
    yield missing_passages_warning(unread, remedy)


def _words(collection: SolrCollection, names: FieldNames) -> Iterator[Finding]:
    """Report whether searches for words and phrases find the words of the texts."""
    name, words = names.content, collection.words
    if collection.schema.describe(name) is None:
        return
    lost = "'verify' proves no absence, and 'similar' promises nothing for short texts"
    if words is None:
        message = f"no field has the words of {name!r}: searches for words find names only, {lost}"
        remedy = f"index {name!r} as a text field, or copy it whole into one (copyField)"
        yield warning("words-not-indexed", message, f"{remedy}, and index again (whorl index --all)")
        return
    if words != name:
        yield note("words-copied", f"the words of {name!r} are looked up in {words!r}, into which the schema copies it")
    if collection.schema.has_stems(words):
        yield note("stems", STEMS.format(words))
    if altered := collection.schema.altered_words(words):
        message = f"{words!r} is indexed through {altered}, which makes other tokens than words: {lost}"
        remedy = f"copy {name!r} into a field of the type text_whorl of solr/configset"
        yield warning("altered-words", message, f"{remedy}, and index again (whorl index --all)")


def _empty_sketches(client: SolrClient, collection: SolrCollection, scheme: str) -> Iterator[Finding]:
    remedy = f"whorl solr backfill {client.url} --repair"
    wrong = client.count(empty_sketches(scheme, collection.names.minhash)) if collection.has_minhash else 0
    if wrong:
        message = f"{wrong:,} documents have tokens, and a sketch of no text: it was made while the text was not known"
        yield warning("empty-sketches", message, remedy)
    if collection.searchable_text:
        unsure = client.count(empty_sketches(scheme, collection.searchable_text)) - wrong
        # If Solr makes the MinHash tokens from the text field, a document without tokens certainly has a short text.
        sources = collection.schema.sources(collection.names.minhash) if collection.has_minhash else []
        is_certain = collection.content in sources
        if unsure > 0:
            other_cause = "" if is_certain else ", or was not known when the sketch was made"
            problem = f"{unsure:,} documents with a text have an empty sketch"
            message = f"{problem}: their text has fewer than {collection.scheme.shingle_size} words{other_cause}"
            yield note("short-texts", message, "" if is_certain else remedy)


def _uncommitted_documents(client: SolrClient) -> Iterator[Finding]:
    try:
        answer = client.get("admin/mbeans", cat="UPDATE", key="updateHandler", stats="true", **{"json.nl": "map"})
    except EngineResponseError:
        return
    for key in ("solr-mbeans", "UPDATE", "updateHandler", "stats"):
        answer = answer.get(key, {})
    pending = int(answer.get("UPDATE.updateHandler.docsPending", 0) or 0)
    if pending:
        message = f"{pending:,} documents are not committed on the node that answered, so no search finds them yet"
        yield warning("uncommitted", message, "commit, or set autoSoftCommit")


#: Number of sampled documents to fetch per request, each with its whole text.
_AT_ONCE = 20


@guard_response
def compare_sample(client: SolrClient, names: FieldNames, count: int) -> Finding:
    """Compute the MinHash tokens of the first `count` documents by id, and compare them with the indexed tokens."""
    collection = inspect(client, names)
    if collection.content is None or not collection.sources or not collection.has_minhash:
        message = "a sample needs both the stored text and tokens, and one of them is missing"
        return warning("nothing-to-compare", message)
    compared = 0
    differing: list[tuple[str, int, int, int | None]] = []
    for document in _sample_documents(client, collection, count):
        # Solr makes tokens for each value of the text separately.
        values = texts(document.get(collection.content))
        signatures = [sign(text, collection.scheme, collection.names.token_encoding) for text in values]
        made = {token for signature in signatures for token in signature.tokens}
        compared += 1
        key, tokens = str(document[collection.names.key]), document.get(collection.names.minhash)
        indexed = set(tokens if isinstance(tokens, dict) else texts(tokens))
        if collection.sources[0] is TokenSource.TEXT:
            shared = _shared(client, collection, key, {*chain.from_iterable(own.integers for own in signatures)})
            if shared != len(made):
                differing.append((key, shared, len(made), None))
        elif made != indexed:
            differing.append((key, len(made & indexed), len(made), len(indexed)))
    if not compared:
        return note("nothing-to-compare", "there are no documents to compare yet")
    return _sample_finding(collection, compared, differing)


def _shared(client: SolrClient, collection: SolrCollection, document_id: str, tokens: set[int]) -> int:
    if not tokens:
        return 0
    only = DocumentsByScore(document_id, ((0.0, (document_id,)),))
    plan = BoundPlan(Bool(must=(SharedTokens(document_id, tuple(sorted(tokens))), only)))
    hits = client.select(search_request(plan, collection.names, start=0, rows=1)).documents
    return round(float(hits[0]["score"])) if hits else 0


def _sample_finding(
    collection: SolrCollection, compared: int, differing: list[tuple[str, int, int, int | None]]
) -> Finding:
    if not differing:
        agreement = f"whorl makes the very tokens that the index holds ({collection.scheme.name})"
        return ok("sample-agrees", f"{compared:,} stored texts compared: {agreement}")
    name, shared, made, indexed = differing[0]
    indexed_count = "" if indexed is None else f", {indexed} in the index"
    problem = f"{len(differing):,} of {compared:,} stored texts give other tokens here than in the index"
    message = f"{problem}; the first is {name!r}: {made} tokens made here{indexed_count}, {shared} the same"
    consequence = "texts given to whorl (--source) are compared by other words than the index"
    remedy = f"index it again if its text or the schema has changed since; else {consequence}"
    return warning("sample-differs", message, remedy)


def _sample_documents(client: SolrClient, collection: SolrCollection, count: int) -> Iterator[Json]:
    """Yield the first documents by id, each with its text and its tokens (see `select_tokens`)."""
    body = {"query": EVERYTHING, "sort": f"{collection.names.key} asc"}
    for start in range(0, count, _AT_ONCE):
        rows = {"offset": start, "limit": min(_AT_ONCE, count - start)}
        yield from select_tokens(client, collection, {**body, **rows}, [str(collection.content)])
