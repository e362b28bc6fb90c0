"""A partial update keeps the values of all other fields, or is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.solr.indexed import (
    stored,
)
from whorl import open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.protocol import ClusterLabel
from whorl.engine.solr.add_missing_fields import initialise
from whorl.engine.solr.backfill_and_labels import backfill, prepare, require_safe
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.field_definitions import SIZE, SKETCH_FIELDS
from whorl.engine.solr.inspect_collection import inspect
from whorl.errors import EngineResponseError, SchemaError

TEXT = "one two three four five six seven"
PLAIN: dict[str, object] = {"id": "a", "content": TEXT}
BODY = '<field name="body" type="plain" stored="{0}"/><copyField source="body" dest="content"/>'
NOTE = '<field name="note" type="plain" stored="true"/>'
#: By case: fields of a schema, documents, and the value that an atomic update would lose; None if it is safe.
SCHEMAS: dict[str, tuple[str, list[dict[str, object]], str | None]] = {
    "nothing else": ("", [PLAIN], None),
    "indexed": (
        '<field name="secret" type="string" stored="false"/>', [{**PLAIN, "secret": "x"}], "'secret' is neither"),
    "not in use": ('<field name="secret" type="string" stored="false"/>', [PLAIN], None),
    "docValues": (
        '<field name="seen" type="plong" stored="false"/><field name="hidden" type="plong" stored="true"/>',
        [{**PLAIN, "seen": 1, "hidden": 2}], None),
    "docValues that are not given back": (
        '<field name="seen-1" type="plong" stored="false" useDocValuesAsStored="false"/>',
        [{**PLAIN, "seen-1": 1}], "'seen-1' is neither"),
    "dynamic": (
        '<dynamicField name="*_u" type="string" stored="false"/>',
        [*({**PLAIN, "id": str(number)} for number in range(20)), {**PLAIN, "x_u": "v"}],
        r"'x_u' is neither stored nor docValues \(1 document\)"),
    "dynamic, not in use": ('<dynamicField name="*_u" type="string" stored="false"/>', [PLAIN], None),
    "copied": (
        f'{NOTE}<field name="all" type="plain" stored="false" multiValued="true"/>'
        '<copyField source="note" dest="all"/><copyField source="content" dest="all"/>',
        [{**PLAIN, "note": "x"}], None),
    "copied, stored": (
        f'{NOTE}<field name="all" type="plain" stored="true" multiValued="true"/><copyField source="note" dest="all"/>',
        [{**PLAIN, "note": "x"}], None),
    "copied from what is not kept": (
        '<field name="gone" type="string" indexed="false" stored="false"/>'
        '<field name="all" type="plain" stored="true"/><copyField source="gone" dest="all"/>',
        [{**PLAIN, "gone": "x"}], "'all' is copied from 'gone'"),
    "filled beside its copies": (
        f'{NOTE}<field name="all" type="plain" stored="true" multiValued="true"/><copyField source="note" dest="all"/>',
        [{**PLAIN, "all": "mine"}], r"'all' holds values that were not copied from 'note' \(1 document\)"),
    "the text is copied": (BODY.format("true"), [{"id": "a", "body": TEXT}], None),
    "the text is copied from what is not kept": (
        BODY.format("false"), [{"id": "a", "body": TEXT}], "'body' is neither"),
    "nested": (
        '<field name="_root_" type="string" indexed="true" stored="false"/><field name="_nest_path_" type="nest"/>'
        '<fieldType name="nest" class="solr.NestPathField"/>',
        [{**PLAIN, "_childDocuments_": [{"id": "b", "content": TEXT}]}, {**PLAIN, "id": "c"}], "documents within"),
    "not nested": ('<field name="_root_" type="string" indexed="true" stored="false"/>', [PLAIN], None),
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEMAS)
def test_backfill_loses_nothing_or_refuses(others: Any, case: str) -> None:
    """
    Backfill refuses and names the field if an atomic update would lose values; otherwise it adds the sketches and keeps
    all stored values.
    """
    more, bare, lost = SCHEMAS[case]
    client = others(more)
    with pytest.raises(SchemaError, match="whorl solr init"):
        prepare(client, FieldNames())
    initialise(client, FieldNames(), dry_run=False)
    client.post("update", bare, commit="true")
    before = stored(client)
    if lost is not None:
        with pytest.raises(SchemaError, match=lost):
            backfill(client, FieldNames())
        assert stored(client) == before
        return
    total = client.post("select", {"query": {"field": {"f": "content", "query": "seven"}}})["response"]["numFound"]
    assert backfill(client, FieldNames()).sent == len(before) == total
    after = stored(client)
    assert all(SIZE in document for document in after)
    assert [
        {name: value for name, value in document.items() if name not in SKETCH_FIELDS} for document in after
    ] == before
    again = client.post("select", {"query": {"field": {"f": "content", "query": "seven"}}})["response"]["numFound"]
    assert again == total


def test_backfill_leaves_out_values_that_were_not_copied(others: Any) -> None:
    """
    Solr would lose values that clients have sent to a copyField destination in addition to the copies. whorl refuses
    these documents, and gives the others sketches and labels.
    """
    client = others(
        f'{NOTE}<field name="number" type="plong" stored="true"/>'
        '<field name="all" type="plain" stored="true" multiValued="true"/>'
        '<field name="some" type="string" stored="true" multiValued="true"/>'
        '<copyField source="note" dest="all"/><copyField source="content" dest="all" maxChars="5"/>'
        '<copyField source="note" dest="some"/><copyField source="number" dest="some"/>'
    )
    initialise(client, FieldNames(), dry_run=False)
    documents = [
        {**PLAIN, "note": "x", "number": 7},
        {**PLAIN, "id": "b", "note": "x", "all": "mine"},
        {**PLAIN, "id": "c", "note": "x", "number": 7, "some": ["x", "mine"]},
    ]
    client.post("update", documents, commit="true")
    before = stored(client)
    done = backfill(client, FieldNames())
    assert done.sent == 1
    assert [document_id for document_id, _ in done.refused] == ["b", "c"]
    assert "'all' holds values that were not copied from 'content', 'note'; Solr would lose them" in done.refused[0][1]
    after = stored(client)
    assert [SIZE in document for document in after] == [True, False, False]
    assert [
        {name: value for name, value in document.items() if name not in SKETCH_FIELDS} for document in after
    ] == before
    with open_store(client.url) as store:
        labels = store.engine.labels
        label = ClusterLabel("a", is_principal=True)
        labels.write({"a": label})
        with pytest.raises(EngineResponseError, match="'some' holds values that were not copied"):
            labels.write({"c": label})
        client.commit()
        assert dict(labels.labels_of(["a", "b", "c"])) == {"a": label}
    assert stored(client)[2]["some"] == before[2]["some"]


def test_backfill_with_a_copy_field_of_all(others: Any) -> None:
    """
    A copyField of * copies the sketch too, as at indexing, and the destination keeps its earlier values.
    """
    client = others(
        '<field name="all" type="plain" stored="true" multiValued="true"/><copyField source="*" dest="all"/>'
    )
    initialise(client, FieldNames(), dry_run=False)
    client.post("update", [PLAIN], commit="true")
    assert backfill(client, FieldNames()).sent == 1
    assert {"a", TEXT} <= set(stored(client)[0]["all"])


def test_backfill_without_versions(client: SolrClient) -> None:
    """
    Without `_version_` partial updates are impossible, and the message says so.
    """
    collection = inspect(client, FieldNames())
    fields = {name: about for name, about in collection.schema.fields.items() if name != "_version_"}
    with pytest.raises(SchemaError, match="_version_"):
        require_safe(client, replace(collection, schema=replace(collection.schema, fields=fields)))
