"""Detection of encodings, with and without byte order marks."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl.errors import DocumentError
from whorl.ingest.extraction.detect_encoding import _lines_near_high_bytes, decode

GERMAN = "Müller aß am Donnerstag fünf Äpfel – und das „kostete“ 3 €. Größe ist überall schön, sagte Jürgen."
#: A sentence in several languages, each with its encodings before UTF-8.
SENTENCES = {
    "L'été dernier, le propriétaire a décidé d'augmenter le loyer à la fin du mois d'août.": ["cp1252", "iso8859_15"],
    "Der Mieter zahlt die Miete für den Monat im Voraus; größere Schäden meldet er später.": ["cp1252"],
    "El inquilino pagará el alquiler cada año; la reparación de los daños será por su cuenta.": ["cp1252"],
    "O inquilino não pagará a reparação; a decisão é do proprietário e será comunicada até amanhã.": ["cp1252"],
    "L'inquilino pagherà l'affitto perché così è più facile; ciò che non può pagare sarà detratto.": ["cp1252"],
    "Hyresgästen betalar hyran i förskott och får därför inte säga upp avtalet före årets slut.": ["cp1252"],
    "Lejeren betaler lejen på forhånd og må derfor ikke opsige aftalen før årets udløb.": ["cp1252"],
    "Najemca płaci czynsz z góry, więc nie może rozwiązać umowy przed końcem roku, chyba że się wyprowadzi.": [
        "cp1250",
        "iso8859_2",
    ],
    "Nájemce platí nájemné předem, a proto nemůže smlouvu vypovědět před koncem běžného roku.": ["cp1250"],
    "A bérlő előre fizeti a bért, ezért nem mondhatja fel a szerződést az év vége előtt.": ["cp1250"],
    "Арендатор платит за квартиру вперёд и поэтому не может расторгнуть договор до конца года.": ["cp1251", "koi8_r"],
    "Ο ενοικιαστής πληρώνει το ενοίκιο προκαταβολικά και δεν μπορεί να καταγγείλει τη σύμβαση.": ["cp1253"],
    "Kiracı kirayı peşin öder ve bu yüzden yıl bitmeden sözleşmeyi feshedemez; değişiklik yazılıdır.": ["cp1254"],
    "השוכר משלם את שכר הדירה מראש ולכן אינו יכול לבטל את החוזה לפני סוף השנה": ["cp1255"],
    "借主は家賃を前払いするため、年末までに契約を解除することはできません。": ["cp932", "euc_jp"],
    "承租人预先支付租金，因此在年底之前不能解除合同，除非房东同意。": ["gb18030"],
    "承租人預先支付租金，因此在年底之前不能解除合約，除非房東同意。": ["big5"],
    "임차인은 임대료를 미리 지불하므로 연말 이전에는 계약을 해지할 수 없습니다.": ["cp949"],
}


@pytest.mark.parametrize(
    ("text", "encoding"), [(text, encoding) for text, encodings in SENTENCES.items() for encoding in encodings]
)
def test_old_encodings_are_recognised(text: str, encoding: str) -> None:
    """
    A sentence in an encoding of its language is read correctly.
    """
    assert decode(text.encode(encoding)) == text


def test_characters_far_from_the_beginning() -> None:
    """
    The beginning of a long text shows its encoding; a later byte that the encoding does not define is replaced.
    """
    (text, *_) = SENTENCES
    long = text * 5_000
    assert decode(long.encode("cp1252") + b"\x93\x81\x94") == f"{long}“\N{REPLACEMENT CHARACTER}”"


#: Texts in encodings of DOS, older Macs, and mail, and in UTF-16 without a byte order mark.
UNUSUAL = [
    *((text, encoding) for text in SENTENCES if text.startswith("Арендатор") for encoding in ("cp866", "mac_cyrillic")),
    *((text, "cp852") for text in SENTENCES if text.startswith("Najemca")),
    *((text, "mac_roman") for text in SENTENCES if text.startswith("L'été")),
    *((text, encoding) for text in SENTENCES if text.startswith("借主") for encoding in ("iso2022_jp", "iso2022_jp_2")),
    *((text, "iso2022_kr") for text in SENTENCES if text.startswith("임차인")),
    *((f"1. {text}\r\n", encoding) for text in SENTENCES for encoding in ("utf-16-le", "utf-16-be")),
    ("no mark", "utf-16-le"),
]


@pytest.mark.parametrize(("text", "encoding"), UNUSUAL)
def test_unusual_encodings_are_recognised(text: str, encoding: str) -> None:
    """
    A sentence in an encoding without a mark that was used before Unicode, or in UTF-16, is read correctly.
    """
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize("text", ["the landlord’s roof", "the rent is 5 €", "The rent © 2020", "all marks ® and ™"])
def test_few_characters_outside_ascii(text: str) -> None:
    """
    A text with one or two characters outside ASCII is not decoded with an encoding of DOS.
    """
    assert decode(text.encode("cp1252")) == text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings_are_recognised(encoding: str) -> None:
    """
    Encodings with a byte order mark, UTF-8 and Windows-1252 are recognised and give the same text.
    """
    assert decode(GERMAN.encode(encoding)) == GERMAN


def test_big_endian_marks() -> None:
    """
    A byte order mark determines the encoding and is not part of the text.
    """
    assert decode(b"\xfe\xff" + GERMAN.encode("utf-16-be")) == GERMAN
    assert decode(b"\0\0\xfe\xff" + GERMAN.encode("utf-32-be")) == GERMAN


@pytest.mark.parametrize(
    "raw",
    [
        bytes(range(256)) * 8,
        b"\0\0\0",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(200),
        b"\xff\xfe" + bytes(range(256)) * 8,
        b"\xff\xfe\0\0" + bytes(range(256)) * 8,
        b"".join(number.to_bytes(4, "little") for number in range(1000)),
        b"".join(number.to_bytes(2, "big") for number in range(500)),
        bytes(range(128, 256)) * 10,
    ],
    ids=["bytes", "nul", "png", "like-utf-16", "like-utf-32", "numbers-of-32-bits", "numbers-of-16-bits", "high"],
)
def test_binary_files_are_refused(raw: bytes) -> None:
    """
    Binary files are refused, even if they begin with a byte order mark.
    """
    with pytest.raises(DocumentError, match="this is not text"):
        decode(raw)


def test_a_few_odd_characters_do_not_cost_a_text() -> None:
    """
    Texts are read even if they have a NUL character, a truncated last character, or replacement characters.
    """
    assert decode(b"word " * 100 + b"\0") == "word " * 100 + "\0"
    assert decode((GERMAN * 2).encode("utf-16")[:-1]) == (GERMAN * 2)[:-1] + "\ufffd"
    assert decode(GERMAN.replace("gen.", "ü").encode()[:-1]) == GERMAN.replace("gen.", "\ufffd")
    assert decode(b"a\0b c d") == "a\0b c d"
    damaged = "M\ufffdller a\ufffd"
    assert decode(damaged.encode()) == decode(damaged.encode("utf-8-sig")) == damaged


@pytest.mark.parametrize("text", [text for text in SENTENCES if len(text.encode()) > len(text) + 4])
@pytest.mark.parametrize("broken", [b"\xff", b" caf\xe9 ", b"\xc3\n"])
def test_invalid_bytes_do_not_change_the_encoding(text: str, broken: bytes) -> None:
    """
    A few invalid bytes in a text in UTF-8 are replaced; all other characters stay.
    """
    half = len(text) // 2
    raw = text[:half].encode() + broken + text[half:].encode()
    read = decode(raw)
    assert read.startswith(text[:half])
    assert read.endswith(text[half:])


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (b'<meta charset="iso-8859-1"><p>\xa35 and \xa9 2024', "£5 and © 2024"),
        (b"<meta charset=latin1><p>it\x92s \x93quoted\x94", "it’s “quoted”"),
        (
            b'<META http-equiv="Content-Type" content="text/html; charset=ISO-8859-1"><p>perch\xe9 cos\xec \xe8 pi\xf9',
            "perché così è più",
        ),
        (b'<?xml version="1.0" encoding="windows-1251"?><p>\xcc\xe8\xf0', "Мир"),
        (b"<meta charset=iso-8859-15><p>\x97 \x93Le Zo\xe9\x94", "— “Le Zoé”"),
        ('<meta charset="iso-8859-1"><p>Größe'.encode(), "Größe"),
        ('<meta charset="utf-8"><p>Größe'.encode("cp1252"), "Größe"),
        ('<meta charset="x-nothing"><p>Größe'.encode("cp1252"), "Größe"),
    ],
)
def test_the_encoding_that_a_page_declares(page: bytes, expected: str) -> None:
    """
    A page is read in the encoding that it declares, with the supersets that browsers read. UTF-8 precedes it, and a
    declaration that is unknown or wrong is ignored.
    """
    assert decode(page).endswith(expected)


@pytest.mark.parametrize(
    ("text", "declared", "written"),
    [
        ("it’s “quoted”", "iso-8859-1", "cp1252"),
        ("こんにちは世界の皆さん", "x-sjis", "cp932"),
        ("朱镕基你好世界", "gb2312", "gb18030"),
        ("똠방각하 안녕", "ks_c_5601-1987", "cp949"),
        ("Größe", "hex", "utf-8"),
        ("Die Müller kommen für Straße", "us-ascii", "cp1252"),
        ("Größe", "utf-7", "utf-7"),
    ],
)
def test_the_encoding_that_a_mail_declares(text: str, declared: str, written: str) -> None:
    """
    A text is read in the declared encoding, or its superset; a declaration that is unknown or wrong is ignored.
    """
    assert decode(text.encode(written), declared) == text


def test_invalid_bytes_in_a_declared_encoding() -> None:
    """
    Bytes that the declared encoding does not define are replaced.
    """
    assert decode(b"M\xfcller f\xfcr \x81 Stra\xdfe", "windows-1252") == "Müller für \ufffd Straße"


@pytest.mark.parametrize(("language", "encoding"), [("Der Mieter", "cp1252"), ("Арендатор", "koi8_r")])
@pytest.mark.parametrize("ascii_lines", [2, 5_000])
def test_letters_far_behind_ascii_text(language: str, encoding: str, ascii_lines: int) -> None:
    """
    The lines with other characters show the encoding, however long the ASCII text before them is.
    """
    text = next(sentence for sentence in SENTENCES if sentence.startswith(language))
    long = "The tenant shall pay the rent on the first day of each month.\n" * ascii_lines + f"{text}\n" * 20
    assert decode(long.encode(encoding)) == long
    one_line = long.replace("\n", " ")
    assert decode(one_line.encode(encoding)) == one_line


@settings(max_examples=500)
@given(raw=st.text("ab\n\n\ré", max_size=14).map(lambda text: text.encode("latin-1")))
def test_the_examined_lines(raw: bytes) -> None:
    """
    The examined lines are those with a byte above 127, and the lines before and after each.
    """
    lines = [b"", *raw.splitlines(), b""]
    expected = [lines[at] for at in range(1, len(lines) - 1) if not b"".join(lines[at - 1 : at + 2]).isascii()]
    assert list(_lines_near_high_bytes(raw)) == expected


def test_millions_of_lines_take_little_memory() -> None:
    """
    The detection of an encoding does not make an object for each of millions of ASCII lines.
    """
    text = "\n" * 2_000_000 + next(sentence for sentence in SENTENCES if sentence.startswith("Der Mieter"))
    raw = text.encode("cp1252")
    assert decode(raw) == text
    tracemalloc.start()
    try:
        decode(raw)
        assert tracemalloc.get_traced_memory()[1] < 6 * len(raw)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["utf-8", "cp1251"])
def test_decoding_takes_little_more_memory_than_the_text(encoding: str) -> None:
    raw = ("Арендатор платит за квартиру вперёд.\n" * 50_000).encode(encoding)
    tracemalloc.start()
    try:
        text = decode(raw)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Each of the text's characters takes two bytes.
    assert peak < 2 * len(text) + 10 * len(raw)
