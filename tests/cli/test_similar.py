"""Tests of calibrated search in Python and on the command line: pages, totals, exact values, sources, errors."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Collection
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from whorl import Document, open_store
from whorl.cli.main import main
from whorl.engine.embedded.engine import EmbeddedEngine

SHINGLE = 5


def texts() -> dict[str, str]:
    """Return a text of 4,000 words, copies of it with every n-th word replaced, a passage of it, and other texts."""
    chance = random.Random(3)
    words = [f"w{chance.randrange(50_000)}" for _ in range(4_000)]
    made = {"whole": words, "passage": words[1_000:1_300]}
    for every in (15, 30, 60, 120, 250, 500, 1_000):
        made[f"every {every}"] = [f"x{at}" if at % every == 7 else word for at, word in enumerate(words)]
    for number in range(5):
        made[f"other {number}"] = [f"y{chance.randrange(50_000)}" for _ in range(500)]
    return {name: " ".join(words) for name, words in made.items()}


TEXTS = texts()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("similar") / "store"
    with open_store(made) as store:
        store.index(Document(name, text, f"the {name}", {"kind": name[:5]}) for name, text in TEXTS.items())
    return made


# Tests of the command.


def similar(folder: Path, *arguments: str, text: str | None = None) -> Result:
    result = CliRunner().invoke(main, ["similar", "--store", str(folder), *arguments], input=text)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result


def hits(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return [hit["id"] for hit in json.loads(result.stdout)["hits"]]


def test_a_source_is_an_id_a_text_or_a_file(folder: Path, tmp_path: Path) -> None:
    """
    An id, a text and a file as the source give the same hits, and a text of the store is not among its own hits.
    """
    file = tmp_path / "passage.txt"
    file.write_text(TEXTS["passage"], encoding="utf-8")
    arguments = ("--metric", "contains", "--threshold", "50", "--json")
    by_id = hits(similar(folder, "passage", *arguments))
    assert "whole" in by_id
    assert "passage" not in by_id
    for given in (
        similar(folder, "--file", str(file), *arguments),
        similar(folder, "--text", TEXTS["passage"], *arguments),
        similar(folder, "--text", "-", *arguments, text=TEXTS["passage"]),
    ):
        assert set(hits(given)) == set(by_id)
        assert "is in the store as 'passage'" in given.stderr
        assert "is in the store as 'passage'" in json.loads(given.stdout)["warnings"][0]


def test_json_has_shares_with_intervals(folder: Path) -> None:
    """
    JSON has shares as fractions, each within its interval.
    """
    output = json.loads(similar(folder, "whole", "--metric", "jaccard", "--threshold", "50", "--json").stdout)
    assert (output["metric"], output["threshold"], output["recall"], output["promised"]) == ("jaccard", 0.5, 0.95, True)
    assert output["total"] == len(output["hits"]) > 2
    for hit in output["hits"]:
        assert ("intervals" in hit) is not hit["exact"]
        for name in ("jaccard", "a_in_b", "b_in_a"):
            low, high = hit.get("intervals", {}).get(name, [hit[name], hit[name]])
            assert 0 <= low <= hit[name] <= high <= 1
        assert hit["score"] == pytest.approx(100 * hit["jaccard"], abs=1e-3)


def test_a_filter_and_the_stock_plan(folder: Path) -> None:
    """
    --filter removes hits; --plan stock is the FINGERPRINT query of the same numbers, which also finds the source.
    """
    assert set(hits(similar(folder, "whole", "--json", "--filter", "kind:passa", "--threshold", "0.01"))) == {"passage"}
    stock = json.loads(similar(folder, "whole", "--plan", "stock", "--threshold", "50", "--json").stdout)
    assert stock["query"] == "FINGERPRINT:whole_50_95"
    assert stock["hits"][0]["id"] == "whole"


@pytest.mark.parametrize(
    ("threshold", "recall", "query"),
    [("0.01", "0.5", "_0.01_50"), ("1", "0.005", "_100_0.005"), ("1.5", "100", "_1.5_100"), ("70", "95", "_70_95")],
)
def test_percentages_of_the_stock_plan(folder: Path, threshold: str, recall: str, query: str) -> None:
    """
    Percentages of the stock plan are read as in a query: numbers up to 1 are fractions.
    """
    arguments = ("--plan", "stock", "--threshold", threshold, "--recall", recall, "--json")
    assert json.loads(similar(folder, "whole", *arguments).stdout)["query"] == f"FINGERPRINT:whole{query}"


@pytest.mark.parametrize("option", ["--threshold", "--recall"])
@pytest.mark.parametrize("value", ["1 OR *", "", "0", "101", "1e-300", "1/3"])
def test_the_stock_plan_takes_numbers_alone(folder: Path, option: str, value: str) -> None:
    """
    An invalid percentage for the stock plan is refused, and cannot become query syntax.
    """
    result = similar(folder, "whole", "--plan", "stock", option, value)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "must be" in result.stderr


def test_a_filter_stays_a_filter(folder: Path) -> None:
    """
    Brackets in a filter cannot end the surrounding query; a filter removes hits and does not score.
    """
    arguments = ("whole", "--plan", "stock", "--threshold", "20", "--json", "--filter")
    broken = similar(folder, *arguments, "zzz) OR (*")
    assert (broken.exit_code, broken.stdout) == (2, "")
    assert "zzz) OR (*" in broken.stderr
    assert hits(similar(folder, *arguments, "zzz OR kind:passa")) == ["passage"]


@pytest.mark.parametrize(
    "option",
    [("--metric", "contains"), ("--exact",), ("--ignore-common",)],
    ids=" ".join,
)
def test_options_that_mean_nothing_with_the_stock_plan(folder: Path, option: tuple[str, ...]) -> None:
    """
    Options without a meaning for the stock plan are refused, not ignored.
    """
    result = similar(folder, "whole", "--plan", "stock", *option)
    assert result.exit_code == 2
    assert f"{' '.join(option)} means nothing with --plan stock" in result.stderr


def test_the_terminal_says_what_was_promised(folder: Path) -> None:
    """
    The terminal shows a table, the total and the promised recall; with --explain, the plan comes first.
    """
    shown = similar(folder, "whole", "--metric", "jaccard", "--threshold", "80", "--explain").stdout
    assert "find documents with at least 80 % of both texts together in common (jaccard)" in shown
    assert "every 250" in shown
    assert "at least 95 of 100 documents just at the threshold are found" in shown


def test_explaining_fetches_the_source_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The search runs the printed plan: the source is resolved, and then looked up once, with its sketch.
    """
    requests = list[tuple[str, list[str]]]()

    def watch(name: str) -> None:
        method = getattr(EmbeddedEngine, name)

        def watched(self: EmbeddedEngine, names: Collection[str]) -> object:
            requests.append((name, list(names)))
            return method(self, names)

        monkeypatch.setattr(EmbeddedEngine, name, watched)

    for name in ("resolve", "resolve_sketches", "sketches"):
        watch(name)
    assert similar(folder, "whole", "--threshold", "80", "--explain").exit_code == 0
    assert [request for request in requests if "whole" in request[1]] == [
        ("resolve", ["whole"]),
        ("resolve_sketches", ["whole"]),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name one source"),
        (("nosuch",), "no document 'nosuch'"),
        (("whole", "--text", "b"), "name one source"),
        (("whole", "--threshold", "0"), "threshold must be a percentage"),
        (("whole", "--recall", "many"), "recall must be a percentage"),
        (("whole", "--filter", "kind:("), "^"),
        (("--file", "nosuch.txt"), "nosuch.txt cannot be read"),
    ],
)
def test_mistakes_exit_with_2(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    """
    An error is one message with exit code 2, without a traceback.
    """
    result = similar(folder, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_explain_with_a_calibrated_plan(folder: Path) -> None:
    """
    `explain --plan calibrated` prints the numbers of found and verified documents instead of tokens.
    """
    result = CliRunner().invoke(
        main, ["explain", "--store", str(folder), "--plan", "calibrated", "FINGERPRINT:whole_50 AND kind:every"]
    )
    assert result.exit_code == 0, result.output
    assert "found and verified, by their percentage" in result.stdout


@pytest.mark.parametrize("command", [("explain",), ("search", "--explain")], ids=" ".join)
def test_calibrated_fingerprints_are_explained(folder: Path, command: tuple[str, ...]) -> None:
    """
    Each FINGERPRINT is listed with its threshold and promised recall, even if two have the same source.
    """
    query = "FINGERPRINT:whole_50 OR FINGERPRINT:whole_80_90"
    result = CliRunner().invoke(
        main, [*command, "--store", str(folder), "--plan", "calibrated", "--metric", "jaccard", query]
    )
    assert result.exit_code == 0, result.output
    for share, recall in ((50, 95), (80, 90)):
        assert f"find documents with at least {share} % of both texts together in common (jaccard)" in result.stdout
        assert f"at least {recall} of 100 documents just at the threshold are found" in result.stdout
    assert result.stdout.count("FINGERPRINT of 'whole':\n") == 2


def test_common_text_counts_for_nothing(folder: Path, tmp_path: Path) -> None:
    """
    A document that shares only boilerplate is not a hit; without a frequency the limit is 1 %, which needs a store with
    passages.
    """
    form = tmp_path / "form.txt"
    form.write_text(texts()["whole"], encoding="utf-8")
    assert hits(similar(folder, "whole", "--threshold", "10", "--json", "--boilerplate", str(form))) != []
    ignored = similar(folder, "whole", "--threshold", "10", "--boilerplate", str(form), "--ignore-common")
    assert ignored.exit_code == 0
    assert "; all of the source is common, so nothing is left to look for" in ignored.stdout
    usual = similar(folder, "whole", "--ignore-common")
    assert (usual.exit_code, "does not have the passages of all its documents" in usual.stderr) == (2, True)


@pytest.mark.parametrize("arguments", [(), ("--plan", "stock")])
@pytest.mark.parametrize("value", ["1", "1.0"])
def test_a_threshold_of_exactly_one_says_how_it_was_read(folder: Path, arguments: tuple[str, ...], value: str) -> None:
    """
    1 prints a note, since it could mean 1 % or 100 %; 100 or a fraction prints none.
    """
    note = "note: threshold 1 means 100 %, since a number up to 1 is a fraction; write 0.01 for 1 %"
    assert note in similar(folder, "whole", "--threshold", value, *arguments).stderr.splitlines()
    for clear in ("100", "0.99", "2"):
        assert "means 100" not in similar(folder, "whole", "--threshold", clear, *arguments).stderr


def test_the_default_is_either_share(folder: Path) -> None:
    """
    Without options, the hits are the union of both directions of containment at 10 %.
    """
    for source in ("passage", "every 15"):
        either = {*hits(similar(folder, source, "--metric", "a_in_b", "--threshold", "10", "--json"))}
        either |= {*hits(similar(folder, source, "--metric", "b_in_a", "--threshold", "10", "--json"))}
        assert {*hits(similar(folder, source, "--json"))} == either
        assert "(containment)" in similar(folder, source).stdout.splitlines()[-1]


def test_the_nearest_miss_can_be_shown(folder: Path) -> None:
    """
    Without a hit, the last line has the best document below the threshold, and a command that finds it.
    """
    missed = similar(folder, "passage", "--threshold=90", "--metric", "jaccard")
    assert missed.stdout.startswith("0 documents with at least 90 % of both texts together in common (jaccard);")
    nearest, _, command = missed.stdout.splitlines()[-1].partition("; to see it: ")
    assert nearest.startswith("nearest: whole  the whole with ~7.")
    words = shlex.split(command)
    assert words == ["whorl", "similar", "--store", str(folder), "passage", "--metric", "jaccard", "--threshold", "7"]
    assert "whole" in hits(CliRunner().invoke(main, [*words[1:], "--json"]))
    alone = similar(folder, "--text", "nothing that any of these has said in any line")
    assert "nearest" not in alone.stdout


@pytest.mark.parametrize("words_around", [100, 60, 33])
def test_a_nearest_miss_of_one_or_two_percent(tmp_path: Path, words_around: int) -> None:
    """
    The suggested command finds the document, although a threshold of 1 would mean 100 %.
    """
    source = " ".join(f"one{number}" for number in range(words_around))
    store = str(tmp_path / "s.whorl")
    with open_store(store) as opened:
        opened.index([Document("near", " ".join(source.split()[:5]))])
    missed = CliRunner().invoke(main, ["similar", "--store", store, "--text", source, "--metric", "jaccard"])
    command = missed.stdout.splitlines()[-1].partition("; to see it: ")[2]
    assert hits(CliRunner().invoke(main, [*shlex.split(command)[1:], "--json"])) == ["near"]


def test_a_folder_instead_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The documents are the files in the folder, by their paths, and a file in it may be the source; no store remains. A
    file that cannot be read ends the promise.
    """
    monkeypatch.chdir(tmp_path)
    Path("texts").mkdir()
    for name in ("whole", "every 15", "other 1"):
        Path("texts", name).write_text(TEXTS[name], encoding="utf-8")
    Path("passage.txt").write_text(TEXTS["passage"], encoding="utf-8")
    by_file = CliRunner().invoke(main, ["similar", "passage.txt", "--in", "texts", "--json"])
    assert (set(hits(by_file)), by_file.stderr) == ({"texts/whole", "texts/every 15"}, "")
    assert hits(CliRunner().invoke(main, ["similar", "texts/whole", "--in", "texts", "--json"])) == ["texts/every 15"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["passage.txt", "texts"]
    for words, message in (
        (["--in", "texts", "--store", "s"], "exclude each other"),
        (["--in", "nosuch"], "no text could be read in nosuch"),
    ):
        refused = CliRunner().invoke(main, ["similar", "passage.txt", *words])
        assert refused.exit_code == 2
        assert message in refused.stderr
    Path("texts", "broken").write_bytes(b"\x00\x01\x02\xff" * 50)
    page = json.loads(CliRunner().invoke(main, ["similar", "passage.txt", "--in", "texts", "--json"]).stdout)
    lost = "1 document could not be read, and so cannot be found"
    assert (len(page["hits"]), page["promised"], page["warnings"]) == (2, False, [lost])
    unknown = CliRunner().invoke(main, ["similar", "unlike", "--in", "texts"])
    assert "no such file; name a file, or a document in texts" in unknown.stderr
