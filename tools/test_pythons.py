"""Runs the quick tests and the demo on every supported Python that is installed.

python tools/test_pythons.py [3.12 ...]

Interpreters come from pyenv, uv and the PATH. Environments stay in .venv/pythons, so a second run installs only
changes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Requirements of the quick tests. numba has no wheels yet for the newest Python, so the plain loops run there.
_EXTRAS = ".[data,docs,files,mcp,opensearch,serve,solr,test]"
_KEPT = (
    Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions",
    Path.home() / ".local" / "share" / "uv" / "python",
)


def main() -> int:
    """Test the given Python versions, or all that the project supports; fail if one fails or none is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = sys.argv[1:] or re.findall(r":: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)
    results = {version: tested(version) for version in wanted}
    for version, what in results.items():
        print(f"Python {version}: {what}")
    return 0 if set(results.values()) <= {"passed", "not on this machine"} and "passed" in results.values() else 1


def tested(version: str) -> str:
    """Return the result of the tests on one version."""
    interpreter = interpreter_path(version)
    if interpreter is None:
        return "not on this machine"
    environment = ROOT / ".venv" / "pythons" / version
    python = str(environment / "bin" / "python")
    print(f"\nPython {version}: {interpreter}", flush=True)
    if not environment.exists():
        subprocess.run([interpreter, "-m", "venv", str(environment)], check=True)
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-e", _EXTRAS], cwd=ROOT, check=True
    )
    quick = ["make", "--no-print-directory", "quick-tests", f"BIN={environment / 'bin'}"]
    with tempfile.TemporaryDirectory() as folder:
        for what, command in (
            ("quick tests", quick),
            ("demo", [str(environment / "bin" / "whorl"), "demo", "--store", folder]),
        ):
            if subprocess.run(command, cwd=ROOT, check=False).returncode:
                return f"the {what} failed"
    return "passed"


def interpreter_path(version: str) -> str | None:
    """Return an interpreter of a version such as 3.12, or None."""
    for folder in _KEPT:
        for path in sorted(folder.glob(f"*{version}.*/bin/python{version}"), reverse=True):
            return str(path)
    return shutil.which(f"python{version}")


if __name__ == "__main__":
    sys.exit(main())
