"""docker-compose.yml, Dockerfile and what they name agree with the repository."""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests import opensearch_runtime
from tests.service.served import listening
from whorl import open_store
from whorl.cli.main import main
from whorl.service.app import create_app
from whorl.service.middleware.hosts import Hosts
from whorl.settings.settings import Settings, all_settings

ROOT = Path(__file__).parents[1]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
#: What the image sets.
ENVIRONMENT = dict(line.split("=", 1) for line in re.findall(r"^ENV\s+(\S+)$", DOCKERFILE, flags=re.MULTILINE))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def instruction(name: str) -> list[str]:
    return re.findall(rf"^{name}\s+(.*)$", DOCKERFILE, flags=re.MULTILINE)


def mounts(service: dict) -> list[list[str]]:
    return [volume.split(":") for volume in service.get("volumes", [])]


def test_what_is_mounted_exists():
    """
    A folder of the repository is there, a volume is declared, and the configset is one.
    """
    sources = [source for service in SERVICES.values() for source, *_ in mounts(service)]
    folders = [ROOT / source for source in sources if source.startswith(".")]
    assert all(folder.is_dir() for folder in folders)
    assert {source for source in sources if not source.startswith(".")} == set(COMPOSE["volumes"])
    assert any((folder / "conf" / "solrconfig.xml").is_file() for folder in folders)


def test_ports_are_open_to_this_machine_only():
    """
    Neither Solr nor the service asks for a password by default, so neither listens to the network.
    """
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(published) == 2
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_opensearch_instead_of_solr():
    """
    The other file has the same service, on this machine only, before the image that the tests take; its store is named
    as one of the other service.
    """
    other = yaml.safe_load((ROOT / "docker-compose.opensearch.yml").read_text(encoding="utf-8"))
    services = other["services"]
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert services["opensearch"]["image"] == opensearch_runtime.IMAGE
    ours, theirs = (dict(each["whorl"]["environment"]) for each in (SERVICES, services))
    assert services["opensearch-index"]["command"] == ["opensearch", "init", theirs.pop("WHORL_STORE")]
    ours.pop("WHORL_STORE")
    assert ours == theirs
    assert {volume.split(":")[0] for volume in services["opensearch"]["volumes"]} == set(other["volumes"])


def test_every_setting_is_one_that_whorl_reads():
    """
    A variable with a typing error would be ignored in silence.
    """
    known = {each.variable for each in all_settings()}
    told = set(SERVICES["whorl"]["environment"]) | ENVIRONMENT.keys()
    assert {name for name in told if name.startswith("WHORL_")} <= known
    assert told - known == {"MALLOC_ARENA_MAX"}


def test_the_settings_can_be_used():
    """
    With nothing set outside, what the image and the service say is read, listens for others, and knows its own name.
    """
    environment = SERVICES["whorl"]["environment"]
    unset = {name: "" if value.startswith("${") else value for name, value in environment.items()}
    settings = Settings.load({**ENVIRONMENT, **unset})
    assert settings.is_open
    hosts = Hosts(settings.listen[0], settings.allowed_hosts)
    assert all(map(hosts.admit, ["whorl:8000", "localhost:8000", "127.0.0.1:8000"]))
    assert not hosts.admit("attacker.example:8000")


def test_the_service_has_time_to_stop():
    """
    Docker waits for longer than the service takes to finish what it has accepted.
    """
    assert int(SERVICES["whorl"]["stop_grace_period"].removesuffix("s")) > Settings().shutdown_timeout_seconds


def test_nobody_is_root():
    """
    The image's user has a number, which is the one that was made, and not root's.
    """
    (user,) = instruction("USER")
    assert re.search(rf"useradd .*--uid {user}\b", DOCKERFILE)
    assert int(user) >= 1000
    assert SERVICES["whorl"]["cap_drop"] == ["ALL"]


def test_the_store_is_the_collection_that_is_made():
    """
    Host, port and collection of WHORL_STORE are those of the Solr service and of its create command.
    """
    store = urlsplit(SERVICES["whorl"]["environment"]["WHORL_STORE"])
    (script,) = [part for part in SERVICES["solr-collection"]["command"] if "solr create" in part]
    create = shlex.split(next(line for line in script.splitlines() if "solr create" in line))
    name = create[create.index("-c") + 1]
    assert store.path == f"/solr/{name}"
    assert f'"{name}"' in script.partition("grep")[2].splitlines()[0]
    assert SERVICES["solr"]["ports"] == [f"127.0.0.1:{store.port}:{store.port}"]
    assert store.hostname == SERVICES["solr"]["environment"]["SOLR_HOST"] == "solr"
    assert create[create.index("-d") + 1] in [target for _, target, *_ in mounts(SERVICES["solr-collection"])]


def test_the_icu_classes_of_the_schema_are_loaded():
    """
    The official image has them in a module that is not loaded by default.
    """
    assert "solr.ICUTokenizerFactory" in (ROOT / "solr/configset/conf/managed-schema.xml").read_text(encoding="utf-8")
    assert "analysis-extras" in SERVICES["solr"]["environment"]["SOLR_MODULES"].split(",")


def test_a_service_waits_for_what_it_needs():
    """
    Each service that another waits for is declared, and one waited for as healthy says what healthy is.
    """
    waits = [item for service in SERVICES.values() for item in service.get("depends_on", {}).items()]
    assert waits
    assert all("healthcheck" in SERVICES[name] for name, wait in waits if wait["condition"] == "service_healthy")


def test_the_service_is_asked_where_it_listens():
    """
    Path and port of the health check are those of the service, whatever WHORL_LISTEN says, and no proxy is asked.
    """
    port = ENVIRONMENT["WHORL_LISTEN"].rpartition(":")[2]
    assert SERVICES["whorl"]["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert instruction("EXPOSE") == [port]
    (_, _, program) = health_check()
    (asked,) = re.findall(r"'(/[a-z]+)'", program)
    assert f'"{asked}"' in (ROOT / "src/whorl/service/routes/health.py").read_text(encoding="utf-8")


def health_check() -> list[str]:
    (line,) = instruction("HEALTHCHECK")
    return list(yaml.safe_load(line.partition("CMD ")[2]))


@pytest.mark.process
def test_the_health_check(tmp_path):
    """
    It ends well where a service answers at the port of WHORL_LISTEN, proxies or not, and badly where none does.
    """
    _, option, program = health_check()
    # Whether it ends well does not depend on how fast this machine is.
    patient = program.replace("timeout=4", "timeout=240")
    assert patient != program
    with open_store(tmp_path / "store") as store, listening(create_app(store)) as url:
        proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy"), "http://127.0.0.1:9")
        for port, code in ((urlsplit(url).port, 0), (9, 1)):
            environment = {**os.environ, **proxies, "WHORL_LISTEN": f"0.0.0.0:{port}"}
            run = subprocess.run([sys.executable, option, patient], env=environment, capture_output=True, check=False)
            assert run.returncode == code


def test_versions_are_pinned():
    """
    Of everything that the image's extras need, as the tests have it.
    """
    (run,) = instruction("RUN")
    assert "--constraint constraints.txt" in run
    told = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    names = [line.partition("==")[0] for line in told if not line.startswith("#")]
    needed = [Requirement(each) for extra in ("serve", "files", "opensearch")
              for each in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra])]  # fmt: skip
    assert {canonicalize_name(each.name) for each in needed if each.name != "whorl"} <= set(names)
    assert all("==" in line for line in told if not line.startswith("#"))


def test_memory_is_bounded():
    """
    Of each service that stays: of a reader of files, twice what one may take and the service itself.
    """
    stays = {name: each for name, each in SERVICES.items() if each.get("restart") == "unless-stopped"}
    assert {name: each["mem_limit"] for name, each in stays.items()} == {"solr": "2g", "whorl": "3g"}
    assert 2 * Settings().file_memory_bytes < 3 << 30


def test_the_command_is_one_of_whorl():
    """
    The command of the image exists and knows the options that it is given.
    """
    assert instruction("ENTRYPOINT") == ['["whorl"]']
    assert PROJECT["scripts"]["whorl"] == "whorl.cli.main:main"
    (command,) = map(yaml.safe_load, instruction("CMD"))
    named = main.get_command(click.Context(main), command[0])
    assert named is not None
    options = {name for option in named.params for name in option.opts}
    assert {word for word in command if word.startswith("--")} <= options


def test_what_the_image_copies_exists_and_is_sent():
    """
    Each source of a COPY is in the repository and not left out by .dockerignore; so is what the package names.
    """
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sent = [line[1:] for line in ignore if line.startswith("!")]
    copied = [Path(source).name for line in instruction("COPY") for source in line.split()[:-1]]
    assert ignore[1] == "*"
    assert all((ROOT / source).exists() and source in sent for source in copied)
    needed = ["README.md", *PROJECT["license-files"]]
    assert all(any(fnmatch.fnmatch(path, f"{source}*") for source in copied) for path in needed)


def test_the_image_installs_what_exists():
    """
    The extra is one of the package's, and the image's Python one that it supports.
    """
    (run,) = instruction("RUN")
    (extras,) = re.findall(r"'\.\[([a-z,]+)\]'", run)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    (image,) = instruction("FROM")
    (version,) = re.findall(r"\Apython:([0-9.]+)-slim\Z", image)
    assert version in SpecifierSet(PROJECT["requires-python"])


@pytest.mark.process
def test_docker_reads_it():
    """
    Docker's own reading of the file finds nothing wrong.
    """
    client = compose_client()
    if client is None:
        pytest.skip("needs docker's compose plugin, or Debian's docker-compose")
    for name in ("docker-compose.yml", "docker-compose.opensearch.yml"):
        checked = subprocess.run(
            [*client, "--file", str(ROOT / name), "config", "--quiet"], capture_output=True, text=True
        )
        assert checked.returncode == 0, checked.stderr


def compose_client() -> list[str] | None:
    """Return the command that reads such files: docker's plugin, or the older program that Debian has."""
    for client in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(client[0]) and not subprocess.run([*client, "version"], capture_output=True).returncode:
            return client
    return None
