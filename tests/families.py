"""Families of similar texts (copies with edits, passages, boilerplate) and their exact similarities from plain sets."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

from whorl.model import Document

SHINGLE = 5


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Return the set of shingles of a text of lower-case words, as tuples instead of hashes."""
    words = text.split()
    return frozenset(tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1))


def edited(words: list[str], share: float, chance: random.Random) -> list[str]:
    """Replace, drop or double a share of the words."""
    out: list[str] = []
    for word in words:
        if chance.random() >= share:
            out.append(word)
        elif (kind := chance.randrange(3)) == 0:
            out.append(f"e{chance.randrange(10**6)}")
        elif kind == 1:
            out += [word, word]
    return out


def family_documents(families: int = 60, seed: int = 1, *, longest: int = 2_000) -> list[Document]:
    """
    Return families of one to seven texts, shuffled. Texts have 4 to `longest` words, and some end in the same
    long footer.
    """
    chance = random.Random(seed)
    footer = [f"f{at}" for at in range(120)]
    made: dict[str, list[str]] = {}
    for family in range(families):
        length = round(4 * (longest / 4) ** chance.random())
        original = [f"w{chance.randrange(30_000)}" for _ in range(length)]
        made[f"{family:03}"] = original
        for child in range(chance.randrange(7)):
            words = edited(original, chance.choice([0.0, 0.002, 0.01, 0.02, 0.04, 0.1]), chance)
            if chance.random() < 0.3:
                words = words[len(words) // 3 :]
            made[f"{family:03}/{child}"] = words
        if chance.random() < 0.4:
            for name in [name for name in made if name.startswith(f"{family:03}")]:
                made[name] = made[name] + footer
    names = list(made)
    chance.shuffle(names)
    return [Document(name, " ".join(made[name]), f"text {name}") for name in names]


def version_documents(families: int = 40, seed: int = 1) -> list[Document]:
    """Return families of one to eleven versions, each edited from the previous one, shuffled."""
    chance = random.Random(seed)
    made = []
    for family in range(families):
        words = [f"w{chance.randrange(30_000)}" for _ in range(chance.randrange(40, 200))]
        for version in range(chance.randrange(1, 12)):
            made.append(Document(f"{family:03}/{version:02}", " ".join(words)))
            words = [word if chance.random() > 0.01 else f"e{chance.randrange(10**6)}" for word in words]
    chance.shuffle(made)
    return made


@lru_cache(maxsize=4)
def _shared(
    texts: tuple[tuple[str, str], ...],
) -> tuple[dict[str, frozenset[tuple[str, ...]]], Counter[tuple[str, str]]]:
    """Return the shingles of each text and the number of shingles that each pair of texts shares."""
    sets = {name: shingles(text) for name, text in texts}
    holders: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, own in sets.items():
        for shingle in own:
            holders[shingle].append(name)
    shared: Counter[tuple[str, str]] = Counter()
    for there in holders.values():
        if len(there) > 1:
            shared.update(combinations(there, 2))
    return sets, shared


def true_pairs(documents: list[Document], metric: str, percent: int) -> dict[frozenset[str], Fraction]:
    """Return the ids of all pairs at or above a threshold, with their similarity."""
    sets, shared = _shared(tuple((document.id, document.text) for document in documents))
    shares = {}
    for (a, b), common in shared.items():
        sizes = len(sets[a]), len(sets[b])
        union = sum(sizes) - common
        if common * 100 >= percent * (union if metric == "jaccard" else min(sizes)):
            shares[frozenset((a, b))] = Fraction(common, union)
    return shares


def true_components(pairs: dict[frozenset[str], Fraction]) -> set[frozenset[str]]:
    """Return the connected components of the pairs."""
    groups: list[set[str]] = []
    for pair in pairs:
        touched = [group for group in groups if group & pair]
        groups = [group for group in groups if not group & pair]
        groups.append(set(pair).union(*touched))
    return {frozenset(group) for group in groups}
