"""Tests of `whorl opensearch …`: from an existing cluster to a search, and errors."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import ids, run_page, search_json, whorl
from tests.sampling import thorough
from whorl.engine.local.jars import Server
from whorl.engine.local.opensearch import ELASTICSEARCH, OPENSEARCH, free_port
from whorl.engine.opensearch.client import IndexClient

TEXT = "The quick brown fox jumps over the lazy dog and then it sleeps all day in the warm sun."


@pytest.mark.parametrize("command", ["check", "init", "backfill"])
def test_commands_name_the_server_without_an_answer(folder: Path, command: str) -> None:
    """
    An unreachable server is exit code 1 with its address; an invalid address is 2.
    """
    result = whorl("opensearch", command, "opensearch+http://127.0.0.1:1/docs")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("whorl: no cluster answers at http://127.0.0.1:1/docs")
    assert whorl("opensearch", command, "docs").exit_code == 2


#: Runs commands in a process that cannot import the client's package.
_WITHOUT_CLIENT = """
import sys
sys.modules["opensearchpy"] = None
from click.testing import CliRunner
from whorl.cli.main import main
for command in ("check", "init", "backfill"):
    ended = CliRunner().invoke(main, ["opensearch", command, "opensearch+http://127.0.0.1:1/docs"])
    print(ended.exit_code, ended.stderr.partition(" (")[0])
"""


@pytest.mark.process
def test_commands_name_the_package_that_is_missing(folder: Path) -> None:
    """
    Without the extra for OpenSearch, the error names the package to install.
    """
    ended = subprocess.run([sys.executable, "-c", _WITHOUT_CLIENT], capture_output=True, text=True, check=True)
    message = "2 whorl: for opensearch+http install: pip install 'whorl[opensearch]'"
    assert ended.stdout.splitlines() == [message] * 3


def test_up_names_the_versions(folder: Path) -> None:
    """
    An unknown version, and exclusive options, are errors before any download.
    """
    unknown = whorl("opensearch", "up", "--version", "2.12", "--dir", "home")
    assert unknown.exit_code == 2
    assert unknown.stderr == "whorl: OpenSearch '2.12' cannot be started here, only one of 3.8.0, 2.19.1, 2.11.0\n"
    other = whorl("opensearch", "up", "--elasticsearch", "--version", "2.19", "--dir", "home")
    assert (other.exit_code, "only one of 9.5.3, 8.19.21" in other.stderr) == (2, True)
    nodes = whorl("opensearch", "up", "--elasticsearch", "--nodes", "2", "--dir", "home")
    assert (nodes.exit_code, "started as one node" in nodes.stderr) == (2, True)
    assert list(folder.iterdir()) == []


@thorough
@pytest.mark.parametrize(
    ("options", "server"),
    [
        ([], OPENSEARCH[0]), (["--version", "2.19"], OPENSEARCH[1]), (["--version", "2.11.0"], OPENSEARCH[2]),
        (["--elasticsearch"], ELASTICSEARCH[0]), (["--elasticsearch", "--version", "8"], ELASTICSEARCH[1]),
    ],
)  # fmt: skip
def test_up_starts_the_version_that_is_named(
    opensearch_jars: Callable[[Server], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    server: Server,
) -> None:
    """
    The chosen version starts as far as the JVM, which refuses the heap size.
    """
    # Without the fixture `folder`, whose empty cache would download the jars once more.
    opensearch_jars(server)
    monkeypatch.chdir(tmp_path)
    result = whorl("opensearch", "up", *options, "--heap", "much", "--dir", "home", "--port", str(free_port(0)))
    assert result.exit_code == 1
    assert result.stdout == f"Starting {server.name} {server.version} in home …\n"
    assert f"{server.name} did not start" in result.stderr
    assert "Invalid maximum heap size: -Xmxmuch" in result.stderr


def test_from_an_existing_index_to_an_answer(other_url: str, folder: Path) -> None:
    """
    On an existing index, check, init, backfill, check and a search work, and each can be repeated.
    """
    client = IndexClient(other_url)
    client.create({"mappings": {"properties": {"text": {"type": "text"}}}})
    for name, text in {
        "a": TEXT,
        "b": TEXT.replace("warm sun", "cold rain"),
        "c": "Nothing of the kind is said.",
    }.items():
        client.raw.index(index=client.index, id=name, body={"text": text}, params={"refresh": "true"})
    result = whorl("opensearch", "check", "--json", other_url)
    assert result.exit_code == 1
    codes = {finding["code"] for finding in json.loads(result.stdout)}
    assert codes == {"version", "missing-fields", "text-fields", "no-text", "kept-twice"}
    assert "would add the fields" in whorl("opensearch", "init", "--dry-run", "--content", "text", other_url).stdout
    assert "add the fields" in whorl("opensearch", "init", "--content", "text", other_url).stdout
    assert "nothing to add" in whorl("opensearch", "init", "--content", "text", other_url).stdout
    assert (folder / "whorl.toml").read_text("utf-8") == f'store = "{other_url}"\n\n[fields]\ncontent = "text"\n'
    assert whorl("opensearch", "backfill", "--dry-run", other_url).stdout == "3 documents would be checked\n"
    assert "3 documents given a fingerprint." in whorl("opensearch", "backfill", other_url).stdout
    assert "0 documents given a fingerprint." in whorl("opensearch", "backfill", other_url).stdout
    assert whorl("opensearch", "check", other_url).exit_code == 0
    assert ids(search_json("FINGERPRINT:a_50", store=other_url)) == ["a", "b"]
    similar = whorl("similar", "a", "--threshold", "50")
    assert (similar.exit_code, "b" in similar.stdout) == (0, True)
    client.close()


def test_the_commands_of_the_page(other_url: str, folder: Path) -> None:
    """
    The commands at the top of docs/opensearch.md work literally on an index that was created and filled by other
    means, without a file written by hand; `check` names the next command.
    """
    with contextlib.closing(IndexClient(other_url)) as client:
        client.create({"mappings": {"properties": {"body": {"type": "text"}}}})
        for name, text in {"c": "Nothing of the kind.", "b": TEXT.replace("warm sun", "cold rain"), "a": TEXT}.items():
            client.raw.index(index=client.index, id=name, body={"body": text}, params={"refresh": "true"})
    done = run_page("opensearch.md", "## Setting up an existing index", other_url)
    assert f"→ whorl opensearch init {other_url} --content body" in done[0]
    assert done[2].endswith("Ask for the near-copies of a document: whorl similar a\n")
    assert [line.split()[0] for line in done[3].splitlines() if "█" in line] == ["b"]


def test_backfill_without_texts(other_url: str, folder: Path) -> None:
    """
    `init` refuses a field that no document has, unless it is named, also if the documents are not searchable yet; a
    backfill without text exits with 1.
    """
    client = IndexClient(other_url)
    # A field that the first document added would be missing on some nodes for a moment.
    fields = {"mappings": {"properties": {"text": {"type": "text"}}}}
    client.create({**fields, "settings": {"refresh_interval": "-1"}})
    client.raw.index(index=client.index, id="a", body={"text": TEXT})
    checked = json.loads(whorl("opensearch", "check", "--json", other_url).stdout)
    assert "texts are in text (1 document)" in [finding["message"] for finding in checked]
    refused = whorl("opensearch", "init", other_url)
    assert refused.exit_code == 1
    assert f"whorl opensearch init {other_url} --content text, or --content content" in refused.stderr
    assert whorl("opensearch", "init", other_url, "--content", "content").exit_code == 0
    result = whorl("opensearch", "backfill", other_url)
    assert result.exit_code == 1
    assert "1 document left alone: no text in 'content'." in result.stderr
    client.close()


def test_files_into_an_index(other_url: str, notes: Path) -> None:
    """
    The first indexed file creates the index; search, compare, duplicates and delete work on it.
    """
    indexed = whorl("index", "--store", other_url, "notes")
    assert indexed.exit_code == 0, indexed.stderr
    names = ids(search_json("FINGERPRINT:notes/a.txt_50", store=other_url))
    assert [name.rpartition("/")[2] for name in names] == ["a.txt", "b.txt"]
    compared = whorl("compare", "--store", other_url, *names)
    assert compared.exit_code == 0, compared.stderr
    pairs = whorl("duplicates", "--store", other_url, "--threshold", "50", "--pairs", "--format", "json")
    assert pairs.exit_code == 0, pairs.stderr
    assert "b.txt" in pairs.stdout
    assert whorl("delete", "--store", other_url, names[0]).exit_code == 0
    assert ids(search_json("*", store=other_url)) == sorted([*names[1:], names[0].replace("a.txt", "c.txt")])
