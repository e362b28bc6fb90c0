"""Helpers that reduce the results of a search for duplicates to document ids."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.duplicates.results import Duplicates, Pair


def ids(pairs: Iterator[Pair]) -> list[frozenset[str]]:
    """Return the ids of the documents of each pair."""
    return [frozenset((pair.a.id, pair.b.id)) for pair in pairs]


def clusters(duplicates: Duplicates, *, complete: bool = False) -> set[frozenset[str]]:
    """Return the ids of the members of each cluster."""
    return {frozenset(member.id for member in cluster.members) for cluster in duplicates.clusters(complete=complete)}
