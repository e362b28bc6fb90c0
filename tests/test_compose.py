"""docker-compose.yml and Dockerfile agree with each other and with the repository."""

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
from whorl.service.middleware.request_checks import AllowedHosts
from whorl.settings.settings import Settings, all_settings

ROOT = Path(__file__).parents[1]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
#: The environment variables that the image sets.
ENVIRONMENT = dict(line.split("=", 1) for line in re.findall(r"^ENV\s+(\S+)$", DOCKERFILE, flags=re.MULTILINE))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def instruction(name: str) -> list[str]:
    return re.findall(rf"^{name}\s+(.*)$", DOCKERFILE, flags=re.MULTILINE)


def mounts(service: dict) -> list[list[str]]:
    return [volume.split(":") for volume in service.get("volumes", [])]


def test_mounted_folders_exist():
    """
    Each mounted folder exists, each volume is declared, and one folder is the configset.
    """
    sources = [source for service in SERVICES.values() for source, *_ in mounts(service)]
    folders = [ROOT / source for source in sources if source.startswith(".")]
    assert all(folder.is_dir() for folder in folders)
    assert {source for source in sources if not source.startswith(".")} == set(COMPOSE["volumes"])
    assert any((folder / "conf" / "solrconfig.xml").is_file() for folder in folders)


def test_ports_are_open_to_this_machine_only():
    """
    Neither Solr nor the service asks for a password by default, so neither is published to the network.
    """
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(published) == 2
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_opensearch_instead_of_solr():
    """
    The OpenSearch file runs the same service, published to this machine only, with the OpenSearch image of the tests;
    its store is the index that its `init` command makes.
    """
    other = yaml.safe_load((ROOT / "docker-compose.opensearch.yml").read_text(encoding="utf-8"))
    services = other["services"]
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert services["opensearch"]["image"] == opensearch_runtime.IMAGE
    ours, theirs = (dict(compose["whorl"]["environment"]) for compose in (SERVICES, services))
    assert services["opensearch-index"]["command"] == ["opensearch", "init", theirs.pop("WHORL_STORE")]
    ours.pop("WHORL_STORE")
    assert ours == theirs
    assert {volume.split(":")[0] for volume in services["opensearch"]["volumes"]} == set(other["volumes"])


def test_every_variable_is_a_setting():
    """
    Each variable is a setting of whorl: a mistyped one would be ignored silently.
    """
    known = {setting.variable for setting in all_settings()}
    variables = set(SERVICES["whorl"]["environment"]) | ENVIRONMENT.keys()
    assert {name for name in variables if name.startswith("WHORL_")} <= known
    assert variables - known == {"MALLOC_ARENA_MAX"}


def test_the_settings_are_valid():
    """
    With no variable set outside, the settings of image and service are valid, listen for others, and allow the
    service's own host names.
    """
    environment = SERVICES["whorl"]["environment"]
    unset = {name: "" if value.startswith("${") else value for name, value in environment.items()}
    settings = Settings.load({**ENVIRONMENT, **unset})
    assert settings.is_open
    hosts = AllowedHosts(settings.listen[0], settings.allowed_hosts)
    assert all(map(hosts.admit, ["whorl:8000", "localhost:8000", "127.0.0.1:8000"]))
    assert not hosts.admit("attacker.example:8000")


def test_the_service_has_time_to_stop():
    """
    Docker's grace period is longer than the service's shutdown timeout.
    """
    assert int(SERVICES["whorl"]["stop_grace_period"].removesuffix("s")) > Settings().shutdown_timeout_seconds


def test_the_user_is_not_root():
    """
    The image runs with the numeric id of the user that it creates, not as root.
    """
    (user,) = instruction("USER")
    assert re.search(rf"useradd .*--uid {user}\b", DOCKERFILE)
    assert int(user) >= 1000
    assert SERVICES["whorl"]["cap_drop"] == ["ALL"]


def test_the_store_is_the_created_collection():
    """
    WHORL_STORE has the host, port and collection of the Solr service and of its create command.
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
    The Solr service loads the module with the ICU classes, which the official image does not load by default.
    """
    assert "solr.ICUTokenizerFactory" in (ROOT / "solr/configset/conf/managed-schema.xml").read_text(encoding="utf-8")
    assert "analysis-extras" in SERVICES["solr"]["environment"]["SOLR_MODULES"].split(",")


def test_dependencies_of_services():
    """
    Each service that another one depends on is declared; one with condition service_healthy has a health check.
    """
    waits = [item for service in SERVICES.values() for item in service.get("depends_on", {}).items()]
    assert waits
    assert all("healthcheck" in SERVICES[name] for name, wait in waits if wait["condition"] == "service_healthy")


def test_the_health_check_uses_the_path_and_port_of_the_service():
    """
    The health check uses the path and port of the service, whatever WHORL_LISTEN says, and no proxy.
    """
    port = ENVIRONMENT["WHORL_LISTEN"].rpartition(":")[2]
    assert SERVICES["whorl"]["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert instruction("EXPOSE") == [port]
    (_, _, program) = health_check()
    (route,) = re.findall(r"'(/[a-z]+)'", program)
    assert f'"{route}"' in (ROOT / "src/whorl/service/routes/status.py").read_text(encoding="utf-8")


def health_check() -> list[str]:
    (line,) = instruction("HEALTHCHECK")
    return list(yaml.safe_load(line.partition("CMD ")[2]))


@pytest.mark.process
def test_the_health_check(tmp_path):
    """
    The health check succeeds if a service answers at the port of WHORL_LISTEN, with or without proxies, and fails
    otherwise.
    """
    _, option, program = health_check()
    # The result must not depend on the speed of this machine.
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
    constraints.txt pins every dependency of the image's extras to the versions of the tests.
    """
    (run,) = instruction("RUN")
    assert "--constraint constraints.txt" in run
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    names = [line.partition("==")[0] for line in text if not line.startswith("#")]
    needed = [Requirement(requirement) for extra in ("serve", "files", "opensearch")
              for requirement in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra])]  # fmt: skip
    assert {canonicalize_name(requirement.name) for requirement in needed if requirement.name != "whorl"} <= set(names)
    assert all("==" in line for line in text if not line.startswith("#"))


def test_memory_is_bounded():
    """
    Each lasting service has a memory limit; the service's limit exceeds that of two file readers.
    """
    stays = {name: service for name, service in SERVICES.items() if service.get("restart") == "unless-stopped"}
    assert {name: service["mem_limit"] for name, service in stays.items()} == {"solr": "2g", "whorl": "3g"}
    assert 2 * Settings().file_memory_bytes < 3 << 30


def test_the_command_exists():
    """
    The command of the image exists and has the given options.
    """
    assert instruction("ENTRYPOINT") == ['["whorl"]']
    assert PROJECT["scripts"]["whorl"] == "whorl.cli.main:main"
    (command,) = map(yaml.safe_load, instruction("CMD"))
    named = main.get_command(click.Context(main), command[0])
    assert named is not None
    options = {name for option in named.params for name in option.opts}
    assert {word for word in command if word.startswith("--")} <= options


def test_copied_files_exist():
    """
    Each source of a COPY is in the repository and not excluded by .dockerignore; the files that the package names are
    copied.
    """
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sent = [line[1:] for line in ignore if line.startswith("!")]
    copied = [Path(source).name for line in instruction("COPY") for source in line.split()[:-1]]
    assert ignore[1] == "*"
    assert all((ROOT / source).exists() and source in sent for source in copied)
    needed = ["README.md", "hatch_build.py", *PROJECT["license-files"]]
    assert all(any(fnmatch.fnmatch(path, f"{source}*") for source in copied) for path in needed)


def test_extras_of_the_image_exist():
    """
    The package has the extras of the image and supports its Python version.
    """
    (run,) = instruction("RUN")
    (extras,) = re.findall(r"'\.\[([a-z,]+)\]'", run)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    (image,) = instruction("FROM")
    (version,) = re.findall(r"\Apython:([0-9.]+)-slim\Z", image)
    assert version in SpecifierSet(PROJECT["requires-python"])


@pytest.mark.process
def test_docker_accepts_the_files():
    """
    `docker compose config` accepts the files.
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
    """Return the command that reads compose files: docker's plugin, or the older program of Debian."""
    for client in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(client[0]) and not subprocess.run([*client, "version"], capture_output=True).returncode:
            return client
    return None
