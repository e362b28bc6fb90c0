"""The release: sdist and wheel are complete, and the wheel alone works as the README promises."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator, Sequence
from email import message_from_bytes
from email.message import Message
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.sampling import thorough
from tests.test_documentation import sessions

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an sdist, and with the wheel that is built from the sdist instead of the repository."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        capture_output=True,
        check=True,
    )
    return folder


@pytest.fixture(scope="module")
def metadata(built: Path) -> Message:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        (name,) = [name for name in files.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(files.read(name))


@pytest.fixture(scope="module")
def environment(built: Path, metadata: Message, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with the dependencies of `pip install whorl` and nothing else.

    The dependencies are linked from the environment of the tests instead of being downloaded.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for installed in required(metadata.get_all("Requires-Dist") or [], set()):
        for top in {file.parts[0] for file in installed.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            (packages / top).symlink_to(str(installed.locate_file(top)))
    (wheel,) = built.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(folder / "bin" / "python")]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True)
    return folder / "bin"


def required(requirements: Sequence[str], visited: set[str]) -> Iterator[Distribution]:
    """Yield the installed distributions that the requirements lead to, without extras."""
    for requirement in map(Requirement, requirements):
        name = canonicalize_name(requirement.name)
        if name not in visited and (not requirement.marker or requirement.marker.evaluate({"extra": ""})):
            visited.add(name)
            installed = distribution(requirement.name)
            yield installed
            yield from required(installed.requires or [], visited)


@thorough
def test_the_sdist_is_complete(built: Path) -> None:
    """
    The sdist contains everything needed to build, test and read, and no generated files.
    """
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    wanted = [
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "Makefile",
        "docs/tutorial.md",
        "examples/letter.txt",
        "tests/conftest.py",
    ]
    assert set(wanted) <= names
    assert {name for name in names if re.search(r"\.venv|__pycache__|\.whorl/|benchmarks/data", name)} == set()


def test_the_wheel_has_exactly_the_package(built: Path) -> None:
    """
    The wheel contains exactly the files of src/whorl and the configset, and all licences.
    """
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        names = {name for name in files.namelist() if ".dist-info/" not in name}
        licences = {name.partition("/licenses/")[2] for name in files.namelist() if "/licenses/" in name}
    tracked = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "whorl").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    configset = {
        f"whorl/engine/local/configset/{path.relative_to(ROOT / 'solr' / 'configset').as_posix()}"
        for path in (ROOT / "solr" / "configset").rglob("*")
        if path.is_file()
    }
    assert names == tracked | configset
    assert licences == set(PROJECT["license-files"])


def test_metadata(metadata: Message) -> None:
    """
    The metadata list Python versions, licence and extras. Built outside of a repository's workflow they have no
    addresses, and no relative links in the README.
    """
    assert (metadata["Name"], metadata["Version"], metadata["License-Expression"]) == (
        "whorl",
        PROJECT["version"],
        "Apache-2.0",
    )
    pythons = {
        match[1]
        for classifier in metadata.get_all("Classifier") or []
        if (match := re.fullmatch(r".* :: (3\.\d+)", classifier))
    }
    assert pythons == {"3.11", "3.12", "3.13", "3.14"}
    assert {extra.lower() for extra in metadata.get_all("Provides-Extra") or []} == set(
        PROJECT["optional-dependencies"]
    )
    assert metadata.get_all("Project-URL") is None
    assert set(links(metadata)) <= {"#"}


def links(metadata: Message) -> list[str]:
    """Return the links of the README in the metadata; those within the page as #."""
    return [re.sub("^#.*", "#", link) for link in re.findall(r"\]\(([^)]+)\)", str(metadata.get_payload()))]


def test_a_workflow_builds_with_the_addresses_of_its_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    In a workflow of GitHub the metadata name its repository, and the README's links also work on PyPI.
    """
    monkeypatch.setenv("GITHUB_REPOSITORY", "ann/whorl")
    metadata = message_from_bytes(project_metadata().encode())
    assert "Source, https://github.com/ann/whorl" in (metadata.get_all("Project-URL") or [])
    assert links(metadata)
    assert [link for link in links(metadata) if not link.startswith(("https://", "#"))] == []


def project_metadata() -> str:
    """Return the metadata as a wheel of the repository would have them now."""
    with tempfile.TemporaryDirectory() as folder:
        hook = [sys.executable, "-c", "import sys; from hatchling.build import prepare_metadata_for_build_wheel as p; "
                "print(p(sys.argv[1]))", folder]  # fmt: skip
        name = subprocess.run(hook, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
        return (Path(folder) / name / "METADATA").read_text(encoding="utf-8")


def run(environment: Path, folder: Path, command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run one of the environment's commands without environment variables that could lead to another environment."""
    program, *words = shlex.split(command)
    return subprocess.run(
        [str(environment / program), *words],
        cwd=folder, input=given, capture_output=True, text=True, check=False, env={"HOME": str(folder)},
    )  # fmt: skip


def test_the_readme_example_needs_no_extra(environment: Path, tmp_path: Path) -> None:
    """
    With whorl alone installed, the README's example prints the output in the README.
    """
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for command, shown in sessions(ROOT / "README.md"):
        done = run(environment, tmp_path, command)
        assert (done.stdout + done.stderr).rstrip() == shown.rstrip(), command


def test_each_console_script_runs(environment: Path, tmp_path: Path) -> None:
    """
    The metadata name exactly these commands, they run, and every subcommand of whorl can be imported.
    """
    assert set(PROJECT["scripts"]) == {"whorl", "simhash-find-all", "simhash-find-clusters"}
    done = run(environment, tmp_path, "whorl --version")
    assert (done.stdout, done.stderr) == (f"whorl, version {PROJECT['version']}\n", "")
    assert (
        run(environment, tmp_path, "simhash-find-all --blocks 5 --distance 2", "1\n3\n1024\n").stdout
        == "[1, 3]\n[1, 1024]\n"
    )
    assert run(environment, tmp_path, "simhash-find-clusters -b 5 -d 1", "1\n3\n1024\n").stdout == "[1, 3]\n"
    program = "from whorl.cli.main import main; [main.get_command(None, name) for name in main.commands]"
    done = run(environment, tmp_path, shlex.join(["python", "-c", program]))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "extra"),
    [("whorl serve --store s", "serve"), ("whorl index --store opensearch+http://localhost/x .", "opensearch")],
)
def test_missing_extras_are_named(environment: Path, tmp_path: Path, command: str, extra: str) -> None:
    """
    A command that needs an extra says how to install it.
    """
    done = run(environment, tmp_path, command)
    assert done.returncode == 2
    assert f"whorl[{extra}]" in done.stderr
    assert "Traceback" not in done.stderr
