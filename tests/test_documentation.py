"""Runs the examples of the README and the pages: console blocks, Python, queries of the tables, codes of `check`."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from whorl import Document, open_store, parse
from whorl.cli.main import main
from whorl.ingest.files import documents_in

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WHORL = Path(sys.executable).parent / "whorl"
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_REPORT = "sources --store {} examples/letter.txt --html letter.html"
_CELL = re.compile(r"^\| ((?:\\.|[^|])*?) \|", re.MULTILINE)


def sessions(page: Path) -> list[tuple[str, str]]:
    """Return a page's commands with the output that it shows, in order."""
    blocks = "".join(_CONSOLE.findall(page.read_text(encoding="utf-8")))
    parts = re.split(r"^\$ (.*)\n", blocks, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("documentation")
    shutil.copytree(ROOT / "examples", made / "examples")
    return made


@pytest.mark.process
@pytest.mark.parametrize("page", [page for page in PAGES if sessions(page)], ids=lambda page: page.name)
def test_console_blocks(page: Path, folder: Path) -> None:
    """
    Each command of a console block prints the output on the page.
    """
    for command, shown in sessions(page):
        done = subprocess.run(
            [str(WHORL), *shlex.split(command)[1:]],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.stdout.rstrip() == shown.rstrip(), command


@pytest.mark.process
def test_the_python_example_runs(folder: Path) -> None:
    """
    examples/python_api.py succeeds.
    """
    script = folder / "examples" / "python_api.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert "minutes: 58 of 512 tokens shared" in done.stdout


def test_tutorial_python_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    The tutorial's Python finds the same documents as its console block.
    """
    monkeypatch.chdir(folder)
    with open_store("first.whorl") as store:
        store.index(
            document
            for path in sorted(Path("examples/contracts").iterdir())
            for document in documents_in(path, lambda problem: pytest.fail(str(problem)))
        )
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tutorial.md").read_text("utf-8"), re.DOTALL)
    exec(compile(code, "tutorial.md", "exec"), {})
    leases = [f"examples/contracts/{name}.txt 0.278481" for name in ("lease-2023", "lease_2024")]
    assert [line[: len(leases[0])] for line in capsys.readouterr().out.splitlines()] == leases


def test_python_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The blocks of docs/python.md run one after the other, and find b, which begins with a.
    """
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text("utf-8"), re.DOTALL):
        exec(compile(block, "python.md", "exec"), names)
    assert [similar.hit.id for similar in names["found"].found] == ["b"]
    names["store"].close()


def test_sources_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """
    The Python of docs/sources.md prints the result of its console block, without the minutes, which add nothing.
    """
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    with open_store("office.whorl") as store:
        store.index(
            document
            for path in sorted(Path("examples/contracts").iterdir())
            for document in documents_in(path, lambda problem: pytest.fail(str(problem)))
        )
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "sources.md").read_text("utf-8"), re.DOTALL)
    exec(compile(block, "sources.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[1:] == ["29", "24"]
    assert [line.split()[1:3] for line in lines if line.startswith("examples/")] == [
        ["54", "54"],
        ["29", "29"],
        ["53", "7"],
    ]


@pytest.mark.process
def test_duplicates_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Each command of the guide to duplicates and of its reference succeeds on a few documents with duplicates.
    """
    monkeypatch.chdir(tmp_path)
    page = " ".join(f"w{at}" for at in range(40))
    rows = [
        {"id": str(at), "url": f"u{at}", "text": text, "body": text, "lang": "en", "quality": at}
        for at, text in enumerate([page, page + " more", "another text of a few words"])
    ]
    for name in ("dump", "test", "monday", "tuesday"):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("train.jsonl").write_text(json.dumps(rows[0]) + "\n")
    Path("data").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), "data/0.parquet")
    for folder in ("letters", "src"):
        Path(folder).mkdir()
        for row in rows:
            Path(folder, f"{row['id']}.txt").write_text(str(row["text"]))
    with open_store("STORE") as store:
        store.index(Document(str(row["id"]), str(row["text"]), properties={"modified": "2020-05-01"}) for row in rows)
    text = "".join((ROOT / "docs" / f"{page}.md").read_text("utf-8") for page in ("duplicates", "duplicates-reference"))
    blocks = re.split(r"^```.*$", text, flags=re.MULTILINE)[1::2]
    commands = [line for block in blocks for line in block.splitlines() if re.match(r"(cat \S+ \| )?whorl dup", line)]
    assert len(commands) >= 8
    for command in commands:
        source, _, words = command.rpartition("whorl duplicates ")
        given = Path(source.split()[1]).read_bytes() if source else b""
        done = CliRunner().invoke(main, ["duplicates", *shlex.split(words, comments=True)], input=given)
        assert (done.exit_code, command) == (0, command), done.output
    assert pq.read_table("clean/0.parquet").to_pylist() == rows[::2]
    assert pq.read_table("best/0.parquet").to_pylist() == rows[1:]
    assert pq.read_table("marked/0.parquet")["is_principal"].to_pylist() == [True, False, True]
    assert pq.read_table("unique/0.parquet").to_pylist() == rows
    assert Path("untainted/train.jsonl").read_text() == ""
    assert Path("ids.txt").read_text() == "0\n"


@pytest.mark.process
def test_decontamination_page_runs(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    The pipeline of docs/decontaminate.md leaves the rows without an item, and its Python finds both rows.
    """
    text = (ROOT / "docs" / "decontaminate.md").read_text("utf-8")
    pipeline = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)[-1]
    for name, source in (("training", "training"), ("evaluation", "tests")):
        (tmp_path / name).mkdir()
        shutil.copy(folder / "examples" / "exam" / f"{source}.jsonl", tmp_path / name / "a.jsonl")
    environment = {**os.environ, "PATH": f"{WHORL.parent}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", pipeline], cwd=tmp_path, env=environment, capture_output=True, check=True)
    clean = [json.loads(line)["id"] for line in (tmp_path / "clean" / "a.jsonl").read_text().splitlines()]
    assert clean == ["recipe-4", "recipe-5"]
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "decontaminate.md", "exec"), {})
    assert [line.split(" ")[1:3] for line in capsys.readouterr().out.splitlines()] == [["0", "1.0"], ["1", "1.0"]]


@pytest.mark.process
def test_the_example_report_is_what_the_command_writes(folder: Path) -> None:
    """
    docs/examples/letter.html is the command's report on the example documents.
    """
    for words in ("index --store letter.whorl examples/contracts", _REPORT.format("letter.whorl")):
        subprocess.run([str(WHORL), *words.split()], cwd=folder, capture_output=True, check=True)
    assert (folder / "letter.html").read_text("utf-8") == (ROOT / "docs" / "examples" / "letter.html").read_text(
        "utf-8"
    )


def table_queries() -> list[str]:
    """Return the queries in the first column of the tables of queries, with escaped bars unescaped."""
    language = (ROOT / "docs" / "afts.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| query \|.*\n\|---.*\n((?:\|.*\n)+)", language, re.MULTILINE)
    cells = [cell.replace("\\|", "|") for table in tables for cell in _CELL.findall(table)]
    return [query for cell in cells for query in re.findall(r"`([^`]+)`", cell) if "…" not in query and query != "( )"]


@pytest.mark.parametrize("query", table_queries())
def test_queries_in_tables(query: str) -> None:
    """
    Every query in the tables can be parsed.
    """
    parse(query)


@pytest.mark.parametrize("engine", ["solr", "opensearch"])
def test_doctor_codes_are_documented(engine: str) -> None:
    """
    The page of an engine lists exactly the codes of its findings.
    """
    engines = ROOT / "src" / "whorl" / "engine"
    sources = [engines / "check_findings.py", *(engines / engine).glob("*.py")]
    source = "".join(path.read_text(encoding="utf-8") for path in sources)
    used = set(re.findall(r'\b(?:error|warning|note|ok|report)\)?\(\s*"([a-z-]+)"', source))
    used -= {"version", "token-source"} if engine == "solr" else set()
    table = (ROOT / "docs" / f"{engine}.md").read_text(encoding="utf-8").split("| code | what |")[1].split("\n\n")[0]
    documented_codes = {code for row in table.splitlines() for code in re.findall(r"`([a-z-]+)`", row.split(" | ")[0])}
    assert documented_codes == used
