"""The GitHub workflows, checked from their files; no test asks GitHub."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import release_check
from tests import opensearch_runtime, solr_runtime

ROOT = Path(__file__).parents[1]
WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text("utf-8")) for path in sorted((ROOT / ".github/workflows").glob("*.yml"))
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
JOBS = [(f"{file}:{name}", job) for file, workflow in WORKFLOWS.items() for name, job in workflow["jobs"].items()]
TARGETS = set(re.findall(r"^([\w./-]+):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, job in JOBS:
        yield from ((name, step) for step in job["steps"])


def test_actions_are_pinned() -> None:
    """
    Actions are pinned by commit hash, with the version in a comment; an action has the same commit everywhere.
    """
    lines = "\n".join(path.read_text("utf-8") for path in (ROOT / ".github/workflows").glob("*.yml"))
    used = set(re.findall(r"uses: (.*)", lines))
    pinned = [match for line in used if (match := re.fullmatch(r"([\w./-]+)@[0-9a-f]{40} # v\d+\.\d+\.\d+", line))]
    assert len(pinned) == len(used)
    assert len({match[1] for match in pinned}) == len(pinned)


@pytest.mark.parametrize(("name", "job"), JOBS, ids=[name for name, _ in JOBS])
def test_jobs_have_only_necessary_permissions(name: str, job: dict[str, Any]) -> None:
    """
    A job has only the permissions that it needs and a time limit; only the release and the site may write or obtain an
    identity token.
    """
    assert WORKFLOWS[name.partition(":")[0]]["permissions"] == {}
    assert job["timeout-minutes"] <= 120
    assert job["runs-on"] == "ubuntu-24.04"
    powers = {key for key, value in job["permissions"].items() if value == "write"}
    assert powers == {
        "docs.yml:publish": {"pages", "id-token"},
        "release.yml:publish": {"id-token", "attestations"},
        "release.yml:announce": {"contents"},
    }.get(name, set())


def test_scripts_contain_no_expressions() -> None:
    """
    No script contains an expression, so titles and branch names cannot inject code; credentials do not stay in the
    clone.
    """
    for name, step in steps():
        assert "${{" not in step.get("run", ""), name
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False, name


def test_make_targets_and_files_exist() -> None:
    """
    The make targets and files that the workflows use exist.
    """
    for name, step in steps():
        for targets in re.findall(r"^(?:\s*)make (.*)$", step.get("run", ""), re.MULTILINE):
            assert set(targets.split()) <= TARGETS, name
        for file in re.findall(r"(?<![\w$/])(?:tools|tests|\.ci)/\S+", step.get("run", "")):
            assert (ROOT / file).is_file(), name


@pytest.mark.process
def test_scripts_are_bash() -> None:
    """
    bash can parse the scripts.
    """
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    scripts = "\n".join(step["run"] for _, step in steps() if "run" in step)
    done = subprocess.run([bash, "-n"], input=scripts, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_matrix_has_all_versions() -> None:
    """
    The matrix has each Python of the classifiers, the servers of the tests, and the variables of the tests.
    """
    jobs = WORKFLOWS["tests.yml"]["jobs"]
    named = re.findall(r":: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    assert jobs["quick"]["strategy"]["matrix"]["python"] == named
    servers = jobs["engines"]["strategy"]["matrix"]["include"]
    assert {f"opensearchproject/opensearch:{server['opensearch']}" for server in servers} == {opensearch_runtime.IMAGE}
    assert {f"solr:{server['solr']}" for server in servers} == {solr_runtime.IMAGE}
    known = [opensearch_runtime.EXTERNAL, opensearch_runtime.REQUIRED, solr_runtime.EXTERNAL, solr_runtime.REQUIRED]
    assert sorted(jobs["engines"]["env"]) == sorted(known)


@pytest.mark.parametrize(("file", "needed"), [("bug.yml", "did got expected store versions"), ("wish.yml", "aim")])
def test_issue_forms_require_their_fields(file: str, needed: str) -> None:
    """
    Each form requires the necessary fields, and has each field once.
    """
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / file).read_text("utf-8"))
    fields = [item for item in form["body"] if item["type"] != "markdown"]
    assert [field["id"] for field in fields if field.get("validations", {}).get("required")] == needed.split()
    assert len({field["id"] for field in fields}) == len(fields)


def test_a_release_is_refused_until_it_is_ready(tmp_path: Path) -> None:
    """
    A release is refused for a tag of another version, or a changelog without the version.
    """
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 1.2.2\n")
    assert len(list(release_check.problems("v1.2.4", tmp_path))) == 2
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3, 2027-01-01\n")
    assert list(release_check.problems("v1.2.3", tmp_path)) == []
