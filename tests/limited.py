"""Run `whorl` in a process with little memory: `python -m tests.limited BYTES ARGUMENTS…`.

A command that needs too much memory then fails instead of exhausting the machine.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def whorl(memory: int, *arguments: str, folder: Path, **extra: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process whose address space is limited to `memory` bytes."""
    root = Path(__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-m", __name__, str(memory), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")]), **extra.pop("env", {})},
        capture_output=True,
        text=True,
        check=False,
        **extra,
    )


def _main() -> None:
    from whorl.cli.main import main

    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
    main(sys.argv[2:], prog_name="whorl")


if __name__ == "__main__":
    _main()
