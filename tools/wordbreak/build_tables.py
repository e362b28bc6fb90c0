"""Writes whorl's word-break tables from the jars that Lucene and ICU4J released.

usage: JAVA_HOME=... python tools/wordbreak/build_tables.py [--jars FOLDER] [PROFILE ...]

Needs Maven, Java 21 or later and numpy. It writes
src/whorl/fingerprint/words/tables/PROFILE.npz, the same bytes every time.
"""

import argparse
import gzip
import hashlib
import io
import json
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from jars import VERSIONS, ask, fetch, sha256
from numpy.typing import NDArray

TABLES = Path(__file__).parents[2] / "src" / "whorl" / "fingerprint" / "words" / "tables"
CODE_POINTS = 0x110000
CJK_ENGINE = 5
#: The profile whose icu4j jar has ICU's licence; the jar of icu77 lacks it.
LICENSED = "icu74"
NOTICE = """\
The files in this folder are data, made by tools/wordbreak/build_tables.py from released jars:

    icu70.npz  lucene-analysis-icu 9.10.0  icu4j 70.1
    icu74.npz  lucene-analysis-icu 9.12.2  icu4j 74.2
    icu77.npz  lucene-analysis-icu 10.3.2  icu4j 77.1

Each .npz names its jars and their SHA-256 in "about". The word-break rules of Apache Lucene (Default.brk) are

    Copyright 2001-2025 The Apache Software Foundation

and are used under the Apache License, Version 2.0. Everything else, the .dict.gz files included, comes from ICU,
under the terms below, which are ICU's own.

======================================================================

{terms}
"""
DEFAULT_RULES = "org/apache/lucene/analysis/icu/segmentation/Default.brk"
Arrays = dict[str, Any]


def runs(values: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the start and the value of each run of equal values."""
    starts = np.flatnonzero(np.diff(values.astype(np.int64), prepend=-1))
    return starts.astype(np.int32), values[starts].astype(np.uint8)


def code_point_trie(raw: bytes) -> NDArray[np.int64]:
    """Return the value of every code point in a serialised trie (ICU4J CodePointTrie.fromBinary)."""
    signature, options, index_length, data_length, _, _, high = struct.unpack(">IHHHHHH", raw[:16])
    if signature != 0x54726933 or (options >> 6) & 3 != 0:
        raise ValueError("not a fast CodePointTrie")
    data_length |= (options & 0xF000) << 4
    index = np.frombuffer(raw, ">u2", index_length, 16).astype(np.int64)
    value_type = {0: ">u2", 1: ">u4", 2: "u1"}[options & 7]
    data = np.frombuffer(raw, value_type, data_length, 16 + 2 * index_length).astype(np.int64)
    values = np.full(CODE_POINTS, data[-2])
    bmp = np.arange(0x10000)
    values[:0x10000] = data[index[bmp >> 6] + (bmp & 63)]
    for c in range(0x10000, high << 9):
        block = index[index[(c >> 14) + 1020] + (c >> 9 & 31)]
        third = c >> 4 & 31
        if block & 0x8000:
            raise ValueError("18-bit index blocks are not read here")
        values[c] = data[index[block + third] + (c & 15)]
    return values


def break_rules(raw: bytes, name: str) -> Arrays:
    """Return the forward state machine of a compiled break rule file (ICU4J RBBIDataWrapper)."""
    header = struct.unpack(">H", raw[:2])[0]
    if raw[12:16] != b"Brk " or raw[header + 4] != 6:
        raise ValueError("not a break rule file of format 6")
    body = raw[header:]
    forward, _, _, _, trie, trie_length, _, _, status, status_length = struct.unpack(">10I", body[16:56])
    states, row_length, dictionary, lookahead, flags = struct.unpack(">5I", body[forward : forward + 20])
    if lookahead or flags != 4:
        raise ValueError("look-ahead rules, start-of-text rules or wide rows are not read here")
    rows = np.frombuffer(body, "u1", states * row_length, forward + 20).reshape(states, row_length)
    accepting, tags, following = rows[:, 0], rows[:, 2], rows[:, 3:]
    # Column 1 is the end of text. No rule of these files uses it, so a text can be cut into pieces.
    if following[:, 1].any() or accepting.max() > 1:
        raise ValueError("end-of-text rules are not read here")
    groups = np.frombuffer(body, ">i4", status_length // 4, status)
    # A tag points to a group: its length, then its status values in ascending order. ICU reports the last.
    statuses = np.array([groups[tag + groups[tag]] for tag in tags])
    starts, categories = runs(code_point_trie(body[trie : trie + trie_length]))
    return {
        f"{name}_starts": starts,
        f"{name}_categories": categories,
        f"{name}_next": following,
        f"{name}_accepting": accepting,
        f"{name}_word": (statuses != 0).astype(np.uint8),
        f"{name}_dictionary": np.array(dictionary, np.int32),
    }


def mappings(path: Path, name: str, only: NDArray[np.bool_] | None = None) -> Arrays:
    """Return a file of "code point, its mapping" as sorted keys and newline-joined UTF-8."""
    lines = [line.split() for line in path.read_text().splitlines()]
    lines = [line for line in lines if only is None or only[int(line[0], 16)]]
    values = "\n".join("".join(chr(int(part, 16)) for part in line[1:]) for line in lines)
    return {
        f"{name}_keys": np.array([int(line[0], 16) for line in lines], np.int32),
        f"{name}_values": np.frombuffer(values.encode(), np.uint8),
    }


def run_table(path: Path, name: str, bit: int = 0xFF) -> Arrays:
    """Return a file of one byte per code point as runs, reduced to these bits."""
    starts, values = runs(np.frombuffer(path.read_bytes(), np.uint8) & bit)
    return {f"{name}_starts": starts, f"{name}_values": values}


def joins(path: Path) -> Arrays:
    """Return the characters that continue every script run, and (character, script) for the other joiners."""
    lines = [line.split() for line in path.read_text().splitlines()]
    marks = np.zeros(CODE_POINTS, np.uint8)
    marks[[int(line[0], 16) for line in lines if line[1] == "*"]] = 1
    starts, values = runs(marks)
    pairs = [(int(line[0], 16), int(s)) for line in lines if line[1] != "*" for s in line[1:]]
    return {"mark_starts": starts, "mark_values": values, "joins": np.array(pairs, np.int32).reshape(-1, 2)}


def compositions(path: Path) -> NDArray[np.int32]:
    """Return rows of first character, second character, composite."""
    return np.array([[int(c, 16) for c in line.split()] for line in path.read_text().splitlines()], np.int32)


def engines(folder: Path) -> Arrays:
    """Return each character's dictionary engine and its role there, and the NFKC form of characters of CJK_ENGINE."""
    engine = np.frombuffer((folder / "engine.bin").read_bytes(), np.uint8)
    role = np.frombuffer((folder / "role.bin").read_bytes(), np.uint8)
    joint = np.frombuffer((folder / "joint.bin").read_bytes(), np.uint8)
    arrays = mappings(folder / "nfkc.txt", "nfkc", only=engine == CJK_ENGINE)
    arrays["engine_starts"], arrays["engine_values"] = runs(engine)
    # A role is meaningful only to the character's engine.
    arrays["role_starts"], arrays["role_values"] = runs(np.where(engine > 0, role, 0))
    arrays["nfkc_joint"] = np.flatnonzero((engine == CJK_ENGINE) & (joint & 2 > 0)).astype(np.int32)
    return arrays


def write_dictionaries(icu_jar: Path, profile: str) -> tuple[dict[str, str], dict[str, str]]:
    """Pack ICU's dictionaries; return for each one its file and ICU's SHA-256.

    A dictionary that is identical in an earlier profile is not written again.
    """
    files, checksums = {}, {}
    order = list(VERSIONS)
    with zipfile.ZipFile(icu_jar) as archive:
        for member in archive.namelist():
            if not member.endswith(".dict"):
                continue
            raw, name = archive.read(member), Path(member).stem
            for candidate in order[: order.index(profile) + 1]:
                path = TABLES / f"{name}-{candidate}.dict.gz"
                if path.exists() and gzip.decompress(path.read_bytes()) == raw:
                    break
            else:
                path.write_bytes(gzip.compress(raw, mtime=0))
            files[name], checksums[name] = path.name, hashlib.sha256(raw).hexdigest()
    return files, checksums


def write_notice(jar_folder: Path) -> None:
    """Write the origin and the licences of the tables, with ICU's own text."""
    (icu_jar,) = (jar for jar in fetch(LICENSED, jar_folder) if jar.name.startswith("icu4j"))
    with zipfile.ZipFile(icu_jar) as archive:
        terms = archive.read("LICENSE").decode()
    # After the dictionaries the licence describes parts of ICU that are not used here.
    terms = terms[: terms.index("Time Zone Database")].rstrip("-\n")
    (TABLES / "NOTICE").write_text(NOTICE.format(terms=terms), encoding="utf-8")


def build(profile: str, jar_folder: Path) -> None:
    TABLES.mkdir(exist_ok=True)
    jars = fetch(profile, jar_folder)
    lucene_jar, icu_jar = jars[2:]
    with zipfile.ZipFile(lucene_jar) as archive:
        default = archive.read(DEFAULT_RULES)
    with zipfile.ZipFile(icu_jar) as archive:
        (word,) = (archive.read(name) for name in archive.namelist() if name.endswith("/brkitr/word.brk"))
    arrays = break_rules(default, "default") | break_rules(word, "cjk")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ask(jars, "properties", folder)
        icu, unicode = (folder / "versions.txt").read_text().split()
        arrays |= run_table(folder / "script.bin", "script")
        arrays |= run_table(folder / "emoji.bin", "emoji")
        arrays |= run_table(folder / "class.bin", "class")
        arrays |= run_table(folder / "joint.bin", "joint", bit=1)
        arrays |= engines(folder)
        arrays |= joins(folder / "joins.txt")
        arrays |= mappings(folder / "fold.txt", "fold")
        arrays |= mappings(folder / "decompose.txt", "decompose")
        arrays["compose"] = compositions(folder / "compose.txt")
    files, checksums = write_dictionaries(icu_jar, profile)
    lucene_version, icu_version = VERSIONS[profile]
    about = {
        "profile": profile,
        "lucene": lucene_version,
        "icu4j": icu_version,
        "icu": icu,
        "unicode": unicode,
        "sha256": {jar.name: sha256(jar) for jar in (lucene_jar, icu_jar)} | checksums,
        "dictionaries": files,
        "licence": "Apache-2.0 (Lucene) and Unicode-3.0 (ICU), see NOTICE",
    }
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    (TABLES / f"{profile}.npz").write_bytes(packed.getvalue())
    print(f"{profile}: {len(packed.getvalue()):,} bytes, Lucene {lucene_version}, ICU {icu}, Unicode {unicode}")


def main() -> None:
    """Build the profiles on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profiles", nargs="*", default=list(VERSIONS), metavar="PROFILE", help=", ".join(VERSIONS))
    parser.add_argument("--jars", type=Path, default=Path("jars"), help="where Maven copies the jars")
    arguments = parser.parse_args()
    for profile in arguments.profiles:
        build(profile, arguments.jars)
    write_notice(arguments.jars)


if __name__ == "__main__":
    main()
