"""Names of the package are listed without importing them, and imported on first access."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import whorl


def test_all_lists_the_public_names() -> None:
    """
    __all__ has exactly the names that the TYPE_CHECKING block imports, and each can be imported.
    """
    assert list(whorl.__all__) == sorted(set(whorl.__all__))
    assert {name for name in dir(whorl) if not name.startswith("_")} == set(whorl.__all__)
    assert all(getattr(whorl, name).__name__ == name for name in whorl.__all__)
    tree = ast.parse(Path(whorl.__file__).read_text(encoding="utf-8"))
    checked = [node for node in tree.body if isinstance(node, ast.If)]
    names = {alias.name for node in ast.walk(checked[0]) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == set(whorl.__all__)
    with pytest.raises(AttributeError, match="no attribute 'open_stores'"):
        _ = whorl.open_stores


@pytest.mark.process
def test_importing_the_package_imports_little() -> None:
    """
    `import whorl` imports no other submodule than `lazy_exports`, which imports names on first access.
    """
    program = "import sys, whorl; print(sorted(name for name in sys.modules if name.startswith('whorl')))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['whorl', 'whorl.lazy_exports']"
