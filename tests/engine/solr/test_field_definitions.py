"""The configset and `init` define the same fields."""

from __future__ import annotations

from tests.engine.solr.bare import schema_of
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.add_missing_fields import initialise
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.field_definitions import (
    PASSAGE_PROPERTIES,
    WHOLE_PREFIXES,
    definitions,
    passage_scheme,
    scheme_value,
)
from whorl.engine.solr.inspect_collection import kind_of
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.winnowing import PassageScheme


def test_init_agrees_with_the_configset(solr_cloud_url: str) -> None:
    """
    A collection made from the configset lacks nothing, and its definitions equal those of `init`.
    """
    lines = list(initialise(SolrClient(solr_cloud_url), FieldNames(), dry_run=True))
    assert lines == ["nothing to add: all is there"]
    schema = schema_of(solr_cloud_url)
    types = {field_type["name"]: field_type for field_type in schema["fieldTypes"]}  # type: ignore[attr-defined]
    for name, definition in definitions("fieldType").items():
        assert types[name] == definition


def test_the_configset_has_a_field_for_each_type_of_values() -> None:
    """
    The configset has a dynamic field for the whole values of each type, and Solr's field classes are known for it.
    """
    assert {f"{prefix}*" for prefix in WHOLE_PREFIXES.values()} <= definitions("dynamicField").keys()
    types = definitions("fieldType")
    for kind, prefix in WHOLE_PREFIXES.items():
        assert kind_of(definitions("dynamicField")[f"{prefix}*"], types) is kind


def test_sketches_are_named_by_all_that_they_depend_on() -> None:
    """
    Sketches with other words, another shingle size or another sampling have another scheme name.
    """
    names = {
        scheme_value(scheme, sketch_scheme)
        for scheme in (Scheme(), Scheme("icu77"), Scheme(shingle_size=4))
        for sketch_scheme in (SketchScheme(), SketchScheme(floor_level=1))
    }
    assert len(names) == 6
    assert scheme_value(Scheme().name, SketchScheme()) == scheme_value(Scheme(), SketchScheme())


def test_passage_field_of_an_older_version() -> None:
    """
    The field of a collection made before apostrophes were folded has the same parameters, so a backfill can use it.
    """
    field = {"type": "passages1-t12-k8-b32", **dict.fromkeys(PASSAGE_PROPERTIES, True)}
    assert passage_scheme(field) == PassageScheme.for_runs(12)
