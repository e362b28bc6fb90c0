"""Quotations of a text, and the sources named for them."""

from __future__ import annotations

import pytest

from tests.checks import Checks
from tests.sampling import thorough
from whorl.errors import ParameterError
from whorl.request_context import new_request
from whorl.search.quotations.cited_sources import LINK, NamedSource
from whorl.search.quotations.extract_quotations import (
    _quotations_of_html,
    count_unpaired_marks,
    quotations_in_json,
    quotations_of,
    read_given_quotations,
)
from whorl.search.quotations.results import Quotation


def quotes(text: str) -> list[tuple[str, str | None]]:
    """Return the quotations of a text, each with the name of its source."""
    return [(quotation.quote, quotation.source) for quotation in quotations_of(text)[1]]


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ('He said "the rent is due".', "the rent is due"),
        ("Er sagte „die Miete ist fällig“.", "die Miete ist fällig"),
        ("Il dit « le loyer est dû ».", " le loyer est dû "),
        ("Er sagte »die Miete«.", "die Miete"),
        ("She wrote ‘he’s the landlord’ twice.", "he’s the landlord"),
        ("‹der Mieter›", "der Mieter"),
        ("「家賃」です", "家賃"),
        ("> the rent\n> is due\n", "the rent\nis due"),
        (">> the rent\n", "the rent"),
        ("> “the rent is due”\n", "the rent is due"),
        ("<p>x <q>the <b>rent</b></q></p>", "the rent"),
        ("<blockquote>the rent<br>is due</blockquote>", "the rent\nis due"),
        ("<blockquote><details><summary>the rent</summary>is due</details></blockquote>", "the rent\nis due"),
    ],
)
def test_marks(text: str, quote: str) -> None:
    """
    Quotation marks of several languages, block quotes of Markdown, mail and HTML.
    """
    assert quotes(text) == [(quote, None)]


@pytest.mark.parametrize("text", ['a 5" pipe and a 7" one', "the boys’ rooms and the girls’ rooms", "a > b\n", 'one "'])
def test_no_quotations(text: str) -> None:
    """
    Inches, apostrophes, a sign inside a line, and a single quotation mark are no quotations.
    """
    assert quotes(text) == []


def test_quotation_marks_in_a_footnote_behind_a_link() -> None:
    """
    Quotation marks in a footnote are no quotation, even after a link that the footnote contains.
    """
    footnote = '[^1]: [the lease](docs/lease.md "Lease"), called "the old lease" by the tenants'
    assert quotes(f'"the rent".[^1]\n\n{footnote}\n') == [("the rent", footnote.removeprefix("[^1]: "))]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ('"the rent" (lease.txt)', "lease.txt"),
        ('"the rent" [the lease](docs/lease.md#2)', "[the lease](docs/lease.md#2)"),
        ('"the rent".[^a]\n\n[^a]: lease.txt', "lease.txt"),
        ('"the rent" [1] and more\n\n[1] lease.txt\n', "lease.txt"),
        ('"the rent"¹\n\n¹ lease.txt', "lease.txt"),
        ("> the rent\n> — lease.txt\n", "lease.txt"),
        ("> the rent\n\n— lease.txt\n", "lease.txt"),
        ('<q cite="lease.txt">the rent</q>', "lease.txt"),
        ('"the rent" and more\n\n[1]: lease.txt', None),
    ],
)
def test_sources(text: str, source: str | None) -> None:
    """
    A source is named after the quotation, in a footnote, or by an attribute.
    """
    ((quote, named),) = quotes(text)
    assert (quote, named) == ("the rent", source)
    (quotation,) = quotations_of(text)[1]
    assert source is None or {"lease.txt", "docs/lease.md"} & {*quotation.sources[0].names}


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("> the rent.[^1]\n\n[^1]: lease.txt\n", "lease.txt"),
        ("> the rent [1]\n\n[1] lease.txt\n", "lease.txt"),
        ("> the rent. [1][2]\n\n[1] lease.txt\n[2] minutes.txt\n", "lease.txt; minutes.txt"),
        ("> the rent¹\n\n¹ lease.txt\n", "lease.txt"),
        ("> the rent (lease.txt)\n", "lease.txt"),
        ("> the rent (https://a.example/lease)\n", "https://a.example/lease"),
        ("> the rent. [lease.txt, p. 3].\n", "lease.txt, p. 3"),
        ("> the rent.\n> (lease.txt)\n", "lease.txt"),
        ("> the rent.\n>\n> [the lease](lease.txt)\n", "[the lease](lease.txt)"),
        ("> the rent ([the lease](lease.txt))\n", "[the lease](lease.txt)"),
        ("> the rent.\n>\n> Source: lease.txt\n", "lease.txt"),
        ("> the rent.\n\n*Source:* lease.txt\n", "lease.txt"),
        ('> "the rent" (lease.txt)\n', "lease.txt"),
        ("> “the rent” (Lease)\n", "Lease"),
        ("> the rent. (clause-17)\n", "clause-17"),
        ("> the rent.【lease.txt】\n", "lease.txt"),
        ("<blockquote>the rent. [1]</blockquote><p>[1] lease.txt</p>", "lease.txt"),
        ("<blockquote><p>the rent</p><p>(lease.txt)</p></blockquote>", "lease.txt"),
    ],
)
def test_sources_at_the_end_of_a_block_quote(text: str, source: str) -> None:
    """
    A source at the end of a block quote's own lines is no part of the quotation.
    """
    ((quote, named),) = quotes(text)
    assert (quote.rstrip("."), named) == ("the rent", source)


def test_missing_footnote_of_a_block_quote() -> None:
    """
    A footnote mark without a note is reported for block quotes, too.
    """
    (quotation,) = quotations_of("> the rent. [7]\n")[1]
    assert (quotation.quote, quotation.missing_footnotes) == ("the rent.", ("[7]",))


@pytest.mark.parametrize(
    "quote",
    [
        "the rent (in advance)",
        "the rent. (Applause.)",
        "the x[3]",
        "an area of 5 m²",
        "a [label](lease.md)",
        "[a](b.md)",
    ],
)
def test_words_in_brackets_at_the_end_of_a_block_quote(quote: str) -> None:
    """
    Other brackets at the end of a block quote, indices and exponents are words of the quotation.
    """
    assert quotes(f"> {quote}\n") == [(quote, None)]


@pytest.mark.parametrize(
    ("html", "source"),
    [
        ('<p>“the rent” <a href="lease%20a.txt">1</a></p>', "lease a.txt"),
        ('<p>“the rent” (<a href="x/1?y">lease a.txt</a>)</p>', "lease a.txt"),
        (
            '<p>“the rent”<sup><a href="#fn1">1</a></sup></p><ol><li id="fn1"><p>lease a.txt</p></li></ol>',
            "lease a.txt",
        ),
        ('<p>“the rent” <a href="#fn1">[1]</a></p><ol><li id="fn1">lease a.txt</ol>', "lease a.txt"),
        ('<p>“the rent” [<a href="#fn1">1</a>]</p><ol><li id="fn1">lease a.txt</ol>', "lease a.txt"),
        ('<blockquote>the rent<sup><a href="lease a.txt">1</a></sup></blockquote>', "lease a.txt"),
        ('<blockquote>the rent [<a href="#n">1</a>].</blockquote><div id="n">lease a.txt</div>', "lease a.txt"),
        ('<p>“the rent” <a href="#nowhere">more</a></p>', None),
        ('<p>“the rent” <a name="a">more</a></p><a href="lease.txt"></p>', None),
        ('<ol><li id="fn1">“the rent” <a href="#fn1">up</a></li></ol>', None),
        ('<q>the rent</q><a href="lease a.txt">1</a>', "lease a.txt"),
        ('<q cite="lease%20a.txt">the rent</q>', "lease a.txt"),
    ],
)
def test_links_of_html(html: str, source: str | None) -> None:
    """
    A link of HTML after a quotation names its target and its label, or the source in the footnote that it leads to.
    """
    (quotation,) = quotations_of(html)[1]
    assert quotation.quote == "the rent"
    assert {name for named in quotation.sources for name in named.names} >= ({source} if source else set())
    assert source or not quotation.sources


def test_a_name_in_quotation_marks() -> None:
    """
    Marks in the name of a source are no quotation, and the name is also tried without them.
    """
    (quotation,) = quotations_of('> the rent\n\n— "Lease", page 3\n')[1]
    assert quotation.quote == "the rent"
    assert "Lease" in quotation.sources[0].parts[0]


def test_places() -> None:
    """
    The range of a quotation includes its marks; a quotation inside another one is not listed.
    """
    text = '> he said "the rent" and left\n\nThen “so be it”.'
    plain, quotations = quotations_of(text)
    assert [plain[slice(*(quotation.place or (0, 0)))] for quotation in quotations] == [text[:30], "“so be it”"]


def test_unclosed_elements() -> None:
    """
    Closing tags without an opening one are ignored, however many elements are open.
    """
    assert quotes("<q>" * 50_000 + "</blockquote>" * 50_000) == []
    assert quotes("<blockquote><q>the rent</blockquote> is due</q>") == [("the rent", None)]


@pytest.mark.parametrize("opening", ["<!--", "<a ", "</", "<?", "<!", "<![CDATA[", "<"])
def test_html_that_never_ends(opening: str) -> None:
    """
    Tags and comments that never end are read in linear time as text; quadratic time would not end.
    """
    text, quotations = quotations_of("<q>the rent</q> " + opening * 100_000)
    assert [quotation.quote for quotation in quotations] == ["the rent"]
    assert text == "the rent " + opening * 100_000


def test_unknown_declarations_are_comments() -> None:
    """
    HTML reads an unknown declaration as a comment up to the next >.
    """
    assert quotations_of("<q>the rent</q><![foo[x]]> is due<![CDATA[ x ]]>")[0] == "the rent is due"


@thorough
@pytest.mark.parametrize("part", ['"a" b. ', "“a” b. ", "‘a’ b. ", "„ ", "> a\n\n", "[1] a\n", "<q>a</q> b ", "<p>a "])
@pytest.mark.parametrize("every_sentence", [False, True])
def test_long_texts_check_for_each_portion(part: str, every_sentence: bool) -> None:
    """
    The search for 20,000 quotations checks for cancellation at least once for each 3,000.
    """
    checks = Checks()
    with new_request("", checks):
        quotations_of("<q>x</q>" * part.startswith("<") + part * 20_000, every_sentence=every_sentence)
    assert checks.count >= (7 if "." in part or not every_sentence else 1)


def test_every_sentence() -> None:
    """
    Sentences end with a mark before a blank, or with a paragraph.
    """
    plain, quotations = quotations_of("One is 1.5 here. Two?\n\nA heading\n\nThree", every_sentence=True)
    assert [quotation.quote for quotation in quotations] == ["One is 1.5 here.", "Two?", "A heading", "Three"]
    assert all(quotation.place and plain[slice(*quotation.place)] == quotation.quote for quotation in quotations)


def test_sentences_of_markdown() -> None:
    """
    Marks of Markdown are no words; list items, headings and cells are sentences, and their sources are read.
    """
    text = (
        "# The lease\nIt says:\n> The rent is due\n> in May.\n\n- The roof is kept [1].\n- The keys (lease.txt).\n"
        "1. The office\n   is open.\n\n| Rent | The *sum* of it |\n|---|---|\n| May | 5 a month |\n\n[1]: lease.txt\n"
    )
    quotations = quotations_of(text, every_sentence=True)[1]
    assert [(" ".join(quotation.quote.split()), quotation.source) for quotation in quotations] == [
        ("The lease", None),
        ("It says:", None),
        ("The rent is due in May.", None),
        ("The roof is kept", "lease.txt"),
        ("The keys", "lease.txt"),
        ("The office is open.", None),
        ("Rent", None),
        ("The *sum* of it", None),
        ("---", None),
        ("---", None),
        ("May", None),
        ("5 a month", None),
    ]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("房东付钱。房客付租？！（屋顶漏。）“好。”完", ["房东付钱。", "房客付租？！", "（屋顶漏。）", "“好。”", "完"]),
        ("「はい。」と言った。家賃", ["「はい。」", "と言った。", "家賃"]),
        ("राम घर गया।वह सो गया॥ और", ["राम घर गया।", "वह सो गया॥", "और"]),
        ("هل دفع؟ نعم۔ہاں", ["هل دفع؟", "نعم۔", "ہاں"]),
    ],
)
def test_sentences_without_blanks(text: str, sentences: list[str]) -> None:
    """
    Sentence marks of other scripts end a sentence without a blank after them.
    """
    assert [quotation.quote for quotation in quotations_of(text, every_sentence=True)[1]] == sentences


def test_json() -> None:
    """
    A JSON list holds quotations; any other text does not.
    """
    listed = quotations_in_json(' [{"quote": "a", "source": "b"}, {"quote": "c", "source": null}]')
    assert listed is not None
    named = NamedSource("b", ("b",), (("b",),))
    assert read_given_quotations(listed) == [Quotation("a", None, (named,)), Quotation("c")]
    assert quotations_in_json("[]") == []
    assert quotations_in_json('[{"quotation": "a"}]') == [{"quotation": "a"}]
    others = ("[1] lease", "[1]", '["a"]', "{}", "[" * 100_000, "")
    assert {quotations_in_json(text) for text in others} == {None}


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ('{"quote": "a", "source": "b"}', ["a"]),
        ('{"quote": "a"}\n\n{"quote": "b"}\n', ["a", "b"]),
        ('[{"quote": "a"},\n{"quote": "b"}]', ["a", "b"]),
    ],
)
def test_json_objects(text: str, quotes: list[str]) -> None:
    """
    A single object and JSON lines hold quotations, too.
    """
    assert [quotation.quote for quotation in read_given_quotations(quotations_in_json(text))] == quotes


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[{"quote": "a"},\n]', "line 2, column 1"),
        ('{"quote": "a"', "line 1, column 14"),
        ('{"quote": "a"}\n{"quote": b}', "line 2, column 11"),
    ],
)
def test_broken_json(text: str, place: str) -> None:
    """
    An error in quotations as JSON has the line and the column.
    """
    with pytest.raises(ParameterError, match=place):
        quotations_in_json(text)


NOTATIONS = [
    ('A 5" pipe: "the landlord pays".', ["the landlord pays"]),
    ('5" and 3", "the landlord pays" at last', ["the landlord pays"]),
    ('rent\t"\t5\n"the landlord pays"', ["the landlord pays"]),
    ("Han sade: ”hyresvärden betalar” och ”inget mer”.", ["hyresvärden betalar", "inget mer"]),
    ("Er sagt: ‚der Vermieter zahlt‘.", ["der Vermieter zahlt"]),
    ("He says ``the landlord\npays'' to ``her''.", ["the landlord\npays", "her"]),
    ("He says: “the first.\n\n“The second.\n\n“The third.” End.", ["the first.", "The second.", "The third."]),
    ("> the landlord\nkeeps the roof.\nMy reply.", ["the landlord\nkeeps the roof."]),
    ("> the landlord keeps.\nno, he does not", ["the landlord keeps."]),
    ("1. > the landlord\n2. > keeps", ["the landlord\nkeeps"]),
    ("<p>He says: <blockquote>the landlord keeps<p>the roof", ["the landlord keeps\nthe roof"]),
    ("<p>He says: &ldquo;the <b>landlord</b> keeps&rdquo;</p>", ["the landlord keeps"]),
    ('<DIV class="a">He says: "the <b>landlord</b> keeps"</div> at', ["the landlord keeps"]),
    ("He says: &#8220;the <b>landlord</b> keeps&#8221;", ["the landlord keeps"]),
    ("He writes: “the `<p>` and `</p>` of <b>it</b>”", ["the `<p>` and `</p>` of <b>it</b>"]),
    ("He writes: “List<T> and a</p> of <b>it</b>”", ["List<T> and a</p> of <b>it</b>"]),
    ('他说"房东付钱"。然后说"房客"的说法', ["房东付钱", "房客"]),
    ('彼は"家賃を払う"と言った', ["家賃を払う"]),
    ('เขาพูดว่า"เจ้าของจ่าย"ครับ', ["เจ้าของจ่าย"]),
    ('قال"المالك يدفع"ثم', ["المالك يدفع"]),
    ("他说‘房东付钱’的, 그는 ‘집주인이 낸다’라고", ["房东付钱", "집주인이 낸다"]),
    ('房东付钱"。他说"房客"', ["房客"]),
    ("צה״ל אמר: ״ארה״ב מְשַׁ״לֶּמֶת״ וגם ד״ר", ["ארה״ב מְשַׁ״לֶּמֶת"]),
    ('מְשַׁ"לֶּמֶת אמר', []),
    ('ב־"הארץ משלמת" אמר', ["הארץ משלמת"]),
    ("قال تعالى: ﴿ٱلْحَمْدُ لِلَّهِ﴾ ثم", ["ٱلْحَمْدُ لِلَّهِ"]),
    ('צה"ל אמר "ארה"ב משלמת" וגם ד"ר', ['ארה"ב משלמת']),
    ('Il dit " le loyer est dû ". He says\n"\nthe rent\n"\nend', [" le loyer est dû ", "\nthe rent\n"]),
    ('5 " pipe and 7 " pipe', []),
    ("説＂房東付錢＂的 〝房東〟 ｢家賃｣ ❝rent❞", ["房東付錢", "房東", "家賃", "rent"]),
    ("Han sade: »hyresvärden betalar» och »mer». »gut«, »nein«", ["hyresvärden betalar", "mer", "gut", "nein"]),
    ('It ends". He says "the landlord pays" with _"the roof"_', ["the landlord pays", "the roof"]),
    ("<html><a title='“no one”'>He says &ldquo;the <b>landlord</b> keeps&rdquo;", ["the landlord keeps"]),
]


@pytest.mark.parametrize(("text", "quotes"), NOTATIONS)
def test_notations(text: str, quotes: list[str]) -> None:
    """
    Other notations of quotations, next to signs of inches and ditto marks.
    """
    assert [quotation.quote for quotation in quotations_of(text)[1]] == quotes


MIXED_MARKS = [
    ('Er sagt: „die Miete ist fällig" und „nein".', ["die Miete ist fällig", "nein"]),
    ('She says “the rent is due" and “no".', ["the rent is due", "no"]),
    ('She says "the rent is due” and "no”.', ["the rent is due", "no"]),
    ('Er sagt "die Miete ist fällig“ und "nein“, dann “gut“.', ["die Miete ist fällig", "nein", "gut"]),
    ('Han säger ”hyran" och ”nej”.', ["hyran", "nej"]),
    ("Er sagt: ,,die Miete, die fällig ist'' und (,,nein\").", ["die Miete, die fällig ist", "nein"]),
    ("She says ''it's\nthe rent'' and ''no''.", ["it's\nthe rent", "no"]),
    ("Er sagt ›die Miete‹ und ‹nein› und ›doch‹.", ["die Miete", "nein", "doch"]),
    ("She says &quot;the rent&quot; and &#34;no&#34;.", ["the rent", "no"]),
    ('„fällig in 2023" und mehr', ["fällig in 2023"]),
    (
        '“a 5" pipe and a 7" one” “He said "no" to me” “("a") b”',
        ['a 5" pipe and a 7" one', 'He said "no" to me', '("a") b'],
    ),
    ('"Er sagte „nein“ und ging" "He said “no” to" "Han sa ”nej” till"', None),
    ('“"No" he said” and "a 5” pipe"', ['"No" he said', "a 5” pipe"]),
]


@pytest.mark.parametrize(("text", "quotes"), MIXED_MARKS)
def test_mixed_marks(text: str, quotes: list[str] | None) -> None:
    """
    A mark of another notation closes a quotation if it is the next mark, and looks like a closing one.
    """
    expected = text[1:-1].split('" "') if quotes is None else quotes
    plain, found = quotations_of(text)
    assert [quotation.quote for quotation in found] == expected
    assert not count_unpaired_marks(plain, found)


@pytest.mark.parametrize(
    "text",
    [
        "x = '' if a else '', and f('', '') or b''x''",
        "INSERT 'it''s' and 'he''s'",
        "a pipe of 5'' and a rod of 7'', at 3' 5''",
        "a,,b,''\n,,\n1,,2",
        "Home › Rent › Due",
        "dogs'' and cats''",
    ],
)
def test_no_typed_marks(text: str) -> None:
    """
    Empty strings, inches, empty cells and apostrophes are no quotations.
    """
    assert quotes(text) == []


@pytest.mark.parametrize("end", ["", "</blockquote>" * 3_000])
def test_nested_block_quotes_are_not_copied(end: str) -> None:
    """
    Quotations in other quotations are dropped before their texts are copied, because that takes quadratic memory.
    """
    html = "<q>a</q>" + "<blockquote>b" * 3_000 + end
    assert [quotation.quote[:3] for quotation in _quotations_of_html(html)[1]] == ["a", "b\nb"]


@pytest.mark.parametrize(
    ("text", "quote"), [("<blockquote><q>a</q> b</blockquote>", "a b"), ("<q>“a” or “b”</q>", "“a” or “b”")]
)
def test_the_outermost_quotation_counts(text: str, quote: str) -> None:
    """
    A quotation with another one at its beginning is one quotation.
    """
    assert quotes(text) == [(quote, None)]


def test_footer_of_a_block_quote() -> None:
    """
    The footer of a block quote names the source, and is no part of the quotation.
    """
    html = "<blockquote><p>the landlord keeps</p><footer>— minutes.txt</footer></blockquote><footer>“the end”</footer>"
    first, second = quotations_of(html)[1]
    assert (first.quote, first.source) == ("the landlord keeps", "minutes.txt")
    assert (second.quote, second.source) == ("the end", None)


@pytest.mark.parametrize(
    ("html", "source"),
    [
        ("<figure><blockquote>the rent</blockquote><figcaption>— <cite>a.txt</cite></figcaption></figure>", "a.txt"),
        ("<figure><figcaption>a.txt</figcaption><blockquote>the <q>rent</q></blockquote></figure>", "a.txt"),
        ("<figure><q cite='b.txt'>the rent</q><figcaption>a.txt</figcaption></figure>", "b.txt"),
        ("<blockquote>the rent</blockquote><figure><img><figcaption>A house</figcaption></figure>", None),
        ("<figure><img><figcaption>A house</figcaption></figure><blockquote>the rent</blockquote>", None),
        ("<blockquote>the rent</blockquote></figcaption></figure>", None),
        ("<figure><blockquote>the rent</blockquote></figcaption></figure>", None),
        ("<figure><img><figcaption>She raised <q>the rent</q></figcaption></figure>", None),
        (f"<figure><blockquote>the rent</blockquote><figcaption>{'word ' * 201}</figcaption></figure>", None),
        (
            "<figure><figcaption>A</figcaption><blockquote>the rent<footer>a.txt</footer></blockquote></figure>",
            "a.txt",
        ),
    ],
)
def test_captions_of_figures(html: str, source: str | None) -> None:
    """
    The caption of a figure names the source of the quotation in the figure.
    """
    assert quotes(html) == [("the rent", source)]


def test_blanks_after_a_footnote() -> None:
    """
    A line of blanks after a footnote is read in linear time; quadratic time would take an hour.
    """
    assert quotes("[1] a.txt\n" + " " * 500_000 + "\n“the rent” [1]") == [("the rent", "a.txt")]


def test_brackets_before_a_link() -> None:
    """
    The label of a link begins at the last opening bracket, so a long run of brackets is read once.
    """
    assert quotes("[" * 1_000_000 + " “the rent” [the lease](a.txt)") == [("the rent", "[the lease](a.txt)")]
    assert LINK.findall("[see [the lease](a.txt)") == [("the lease", "", "a.txt")]


@pytest.mark.parametrize("source", ["[[1](a.txt)]", "[[[1](a.txt)]]", "[see [1](a.txt)]", "[see [law](a.txt), p. 3]"])
def test_links_within_brackets(source: str) -> None:
    """
    A link after a quotation names its source, also within brackets and after other words in them.
    """
    assert [quotation.sources[0].names[0] for quotation in quotations_of(f"“the rent” {source}")[1]] == ["a.txt"]


def test_links_within_brackets_at_the_end_of_a_block_quote() -> None:
    """
    A link within brackets names the source of a block quote; a link around a picture names its target.
    """
    found = quotations_of("> The rent is due. [[1](a.txt)]\n\nAnd:\n\n> The rent is due. [![p](p.png)](a.txt)")[1]
    assert [quotation.sources[0].names[0] for quotation in found] == ["a.txt", "a.txt"]
    assert found[0].quote == "The rent is due."


def test_quotations_in_a_footnote() -> None:
    """
    Up to seven words between marks in a footnote are a title, more are a quotation.
    """
    words = "the landlord keeps the roof and walls"
    assert quotes(f"[1] Smith, “{words}”, “{words} in repair” (a.txt)") == [(f"{words} in repair", "a.txt")]


def test_quotations_behind_a_footnote() -> None:
    """
    Further lines of a footnote name sources, and quotations in them are quotations.
    """
    text = '"the rent"[1]\n\n[1] a.txt, and\n  b.txt: "the roof"\n\n  "the walls"'
    assert quotes(text) == [("the rent", 'a.txt, and b.txt: "the roof"'), ("the roof", None), ("the walls", None)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("“open", 1),
        ('He said "so', 1),
        ('He said"so" then', 2),
        ('房东付钱"。', 1),
        ('A 5" pipe', 0),
        ('rent\t"\t5', 0),
        ('ד"ר', 0),
        ('a " b" c', 2),
        ("＂房东", 1),
        ("“all” and «all»", 0),
        ("> a “block\n\nend”", 1),
    ],
)
def test_unpaired_marks(text: str, count: int) -> None:
    """
    Quotation marks without a counterpart in the paragraph are counted.
    """
    plain, quotations = quotations_of(text)
    assert count_unpaired_marks(plain, quotations) == count


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("text", "quotations are a list"),
        ([1], "quotation 1 must be an object"),
        ([{"quote": "a"}, {"source": "b"}], "quotation 2 must be an object"),
        ([{"quote": "a", "sorce": "b"}], "quotation 1 must be an object"),
        ([{"quote": 1}], "quotation 1: quote and source are texts"),
        ([{"quote": "a", "source": 1}], "quotation 1: quote and source are texts"),
    ],
)
def test_other_values(listed: object, message: str) -> None:
    """
    A mistake names the position of the quotation.
    """
    with pytest.raises(ParameterError, match=message):
        read_given_quotations(listed)
