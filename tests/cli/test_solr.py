"""Tests of `whorl solr …`: output for a real collection, and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import whorl


@pytest.mark.parametrize("command", ["check", "init", "backfill"])
def test_solr_commands_name_the_server_without_an_answer(command: str) -> None:
    """
    An unreachable server is exit code 1 with its address; an invalid address is 2.
    """
    result = whorl("solr", command, "http://127.0.0.1:1/solr/whorl")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("whorl: no Solr answers at http://127.0.0.1:1/solr/whorl")
    assert whorl("solr", command, "whorl").exit_code == 2


@pytest.mark.usefixtures("folder")
def test_solr_check_and_init(core: str) -> None:
    """
    whorl's own configset has no error, init has nothing to add, and JSON has the same findings as the lines.
    """
    result = whorl("solr", "check", core)
    assert result.exit_code == 0
    findings = json.loads(whorl("solr", "check", "--json", core).stdout)
    assert [finding["message"] in result.stdout for finding in findings] == [True] * len(findings)
    assert all(list(finding) == ["level", "code", "message", "remedy"] for finding in findings)
    assert whorl("solr", "init", "--dry-run", core).exit_code == whorl("solr", "init", core).exit_code == 0
    # whorl.toml has the address now.
    assert whorl("solr", "check").stdout == result.stdout
    assert whorl("solr", "backfill").exit_code == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("server", ["solr", "opensearch"])
def test_commands_without_a_url_and_a_configured_store(server: str) -> None:
    """
    Without URL and a store in the settings, the error says what an address looks like.
    """
    result = whorl(server, "check")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is not the address of" in result.stderr


def test_solr_check_of_an_unsuitable_collection(core: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """
    A wrong field name in whorl.toml is found, with the exit code of an error.
    """
    (folder / "whorl.toml").write_text('[fields]\nminhash = "content_of_nothing"', encoding="utf-8")
    monkeypatch.setenv("WHORL_CONFIG", "whorl.toml")
    result = whorl("solr", "check", core)
    assert result.exit_code == 1
    assert "content_of_nothing" in result.stdout


def test_solr_up_names_the_versions_that_can_be_started(folder: Path) -> None:
    """
    An unknown version is refused before any download.
    """
    result = whorl("solr", "up", "--version", "7.7", "--dir", "home")
    assert result.exit_code == 2
    assert "Solr '7.7' cannot be started here, only one of 9.9.0, 8.11.4" in result.stderr
    assert not (folder / "home").exists()
