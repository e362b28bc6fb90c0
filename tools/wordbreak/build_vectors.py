"""Writes words split by real Lucene, for the tests to compare with.

usage: JAVA_HOME=... python tools/wordbreak/build_vectors.py [--jars FOLDER]

Needs Maven and Java 21 or later. Writes tests/vectors/words-PROFILE.json, the same texts for every profile.
"""

import argparse
import json
import random
import struct
import tempfile
from pathlib import Path

from jars import VERSIONS, ask, fetch

VECTORS = Path(__file__).parents[2] / "tests" / "vectors"

WRITTEN = [
    "",
    " ",
    "one two three four",
    "don't can't rock'n'roll 'quoted' l’été O'Neill's",
    "url:http 12:30 a:b:c A:1 1:A x:y. ﹕：",
    "1,000.50 3.14 1,2,3 1;2 .5 5. 1'000 192.168.0.1 1,a a,1 v2.0",
    "foo_bar __init__ _ __ a_ _1 snake_case_2",
    "e-mail well-known C++ C# .NET a.b.c. U.S.A. e.g.",
    "user@example.com https://example.com/a?b=c&d=1#e",
    "ﬁne oﬃce ﬂow Straße STRASSE ſ ẞ İstanbul ıssız ΣΊΣΥΦΟΣ",
    "so\u00adft\u00adhy\u00adphen zero\u200bwidth join\u200der non\u200cjoiner \ufeffbom word\u2060joiner",
    "a\u0316\u0323 a\u0323\u0302 \u0b47\u0b3e \u0dd9\u0dcf\u0dca #\u20e3 \U000200c1\U00016ff0 漢\U00016ff1",
    "\ua805\u09eb\ua805\u09eb\u0980 \u196a\u1040\u1955\u1040\u1016 \U00011174\u0966\U00011163\u0966\u0907",
    "cafe\u0301 café cafe\u0301\u0327 e\u0327\u0301 \u0301alone a \u0301b",
    "①②③ ½ x² H₂O ℡ ™ ℃ Ⅳ ㎏ ﷺ",
    "ＦＵＬＬ ｗｉｄｔｈ １２３ ｶﾞｷﾞｸﾞ ﾊﾟﾝ",
    "👩‍👩‍👧‍👦 ❤️ ❤ 👍🏽 🇫🇷🇩🇪 #️⃣ 1️⃣ *️⃣ # * 1 © ©️ ™️ 〰️ 😀😀 a😀b 🏴\U000e0067\U000e0062\U000e007f",
    "Привет, мир! Ёлка шёл. helloмир mixedтекст αβγабв",
    "שלום עולם צה״ל ג'ירפה ב\"כ א'",
    "السلام عليكم مُحَمَّد كتابٌ ـــ لا الله",
    "हिन्दी में लिखा हुआ। क्‍ष क्ष बांग्লা",
    "தமிழ் తెలుగు ಕನ್ನಡ മലയാളം සිංහල",
    "한국어 형태소 분석. \u1112\u1161\u11ab\u1100\u116e\u11a8 \u3164 ㄱㄴ 한국과 日本",
    "日本語の文章を単語に分ける。カタカナ・テスト、ひらがな",
    "東京都庁に行きました。ソフトウェアエンジニア ーー アー 々 〆切 ゛",
    "クタキャリッ ナカリクエス カクソネユー コントローラー ディスクリプター のファイルサイズ",
    "アアアアアアアアアアアアアアアアアアアアアアア",
    "中文分词测试，我们在北京大学。繁體中文測試",
    "ABC社のXMLデータ2025年１２月 NHKニュース a漢b 1漢2",
    "㍿アメリカ ㌀ ㋐㋑ ｶﾀｶﾅ ガ が\u3099 か\u3099",
    "𠀋𠂢 𝐀𝐁𝐂 𝟏𝟐 𐐀𐐨 𞤀𞤁 𐍈",
    "สวัสดีชาวโลก ภาษาไทยไม่มีการเว้นวรรค ฯลฯ ต่างๆ ไทย123ไทย พ.ศ. ๒๕๖๘",
    "และๆ และฯ อันๆ ทุกฯ ๆๆ ฯๆ จะมุ่งถั่นๆฯและคว ฤละสวัสดิกๆๆหรืออ",
    "ສະບາຍດີ ພາສາລາວ ບໍ່ມີການຍະຫວ່າງ",
    "សួស្តីពិភពលោក ភាសាខ្មែរមិនមានដកឃ្លា",
    "ង្គម ល្បៈ ផ្សេ ញ្ញៈ",
    "မင်္ဂလာပါကမ္ဘာ မြန်မာဘာသာစကား ၁၂၃",
    "ᨲᩫ᩠ᩅᨾᩮᩬᩥᨦ ᦅᦻᦉᦲᧇ ᥖᥭᥰ ꪼꪕ",
    "a\u0e34b กa\u0e31 ไt ก\u0301",
    "\0 a\0b \x01 \x7f \x85 \ufffd \uffff \ufffe \ue000",
    "\ud800 a\ud800b \udc00 x\udbff \ud83d \ude00 😀\ud83d",
    "line\nbreak\r\nnext\u2028para\u2029end\x0bvt\x0cff\u00a0nbsp\u3000wide",
    "“quoted” ‘single’ «guillemets» …ellipsis—dash–en a‐b a‑b a·b l·l a.b a․b a‧b",
    "\U0001ec71 \U00011f04\U00011f02 \U0002ebf0 \U00016d40\U00016d41 \U00010d50 \U0001fae9 \U0001f6d8",
]
BLOCKS = [
    *[(0x20, 0x7F)] * 3,
    *[(0x20, 0x250), (0x300, 0x370), (0x370, 0x600), (0x590, 0x780), (0x900, 0xE00), (0xE01, 0xE4F), (0xE81, 0xEDF)],
    *[(0x1000, 0x10A0), (0x1100, 0x1200), (0x1780, 0x17D4), (0x1950, 0x1B00), (0x2000, 0x2070), (0x2460, 0x2800)],
    *[(0x3000, 0x3100), (0x3041, 0x30FF), (0x4E00, 0x5200), (0xAA60, 0xAAE0), (0xAC00, 0xAC80), (0xD800, 0xE000)],
    *[(0xF900, 0x10000), (0xFF61, 0xFFA0), (0x10000, 0x11000), (0x11000, 0x12000), (0x1D400, 0x1D800)],
    *[(0x1F1E6, 0x1F200), (0x1F300, 0x1F650), (0x20000, 0x20100), (0xE0000, 0xE0200), (0, 0x110000)],
]
GLUE = "    \n'.:,;_\"-\u00ad\u00b7\u200b\u200c\u200d\u2019\u0301\u0308\u3099\u30fc\uff9e\ufe0f\u20e3#*1a漢ก"


def hostile(chance: random.Random) -> str:
    """Return a short text of characters from a few blocks, with characters between them that join or separate words."""
    blocks = chance.sample(BLOCKS, chance.randint(1, 3))
    return "".join(
        chance.choice(GLUE) if chance.random() < 0.25 else chr(chance.randrange(*chance.choice(blocks)))
        for _ in range(chance.randint(1, 40))
    )


def texts() -> list[str]:
    """Return the texts of the vectors: handwritten ones, then hostile ones from a fixed seed."""
    chance = random.Random(1)
    return WRITTEN + [hostile(chance) for _ in range(400)]


def lucene_words(profile: str, jar_folder: Path, sketches: list[str]) -> list[list[str]]:
    """Return the words of each text, as the profile's jars split it."""
    with tempfile.TemporaryDirectory() as temporary:
        source, target = Path(temporary, "texts"), Path(temporary, "words")
        units = [text.encode("utf-16-be", "surrogatepass") for text in sketches]
        source.write_bytes(b"".join(struct.pack(">i", len(text) // 2) + text for text in units))
        ask(fetch(profile, jar_folder), "words", source, target)
        answer = target.read_bytes()
    words, place = [], 0
    for _ in sketches:
        (count,) = struct.unpack_from(">i", answer, place)
        place += 4
        words_of_text = []
        for _ in range(count):
            (length,) = struct.unpack_from(">i", answer, place)
            words_of_text.append(answer[place + 4 : place + 4 + 2 * length].decode("utf-16-be", "surrogatepass"))
            place += 4 + 2 * length
        words.append(words_of_text)
    return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jars", type=Path, default=Path("jars"), help="where Maven copies the jars")
    arguments = parser.parse_args()
    sketches = texts()
    VECTORS.mkdir(exist_ok=True)
    for profile, (lucene, icu) in VERSIONS.items():
        pairs = zip(sketches, lucene_words(profile, arguments.jars, sketches), strict=True)
        # One pair a line, so that a diff shows it; escaped, so that lone surrogates can be written.
        lines = ",\n".join(json.dumps(pair) for pair in pairs)
        made_by = json.dumps(f"tools/wordbreak/build_vectors.py, with lucene-analysis-icu {lucene} and icu4j {icu}")
        (VECTORS / f"words-{profile}.json").write_text(f'{{"made by": {made_by},\n"words": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
