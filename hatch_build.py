"""Metadata of sdist and wheel that depend on the repository that builds them: addresses, and the README's links."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_IMAGE = re.compile(r"!\[([^\]]*)\]\((?!\w+:)([^)]+)\)")
_LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)]+)\)")


class RepositoryMetadata(MetadataHookInterface):
    """Addresses of the repository GITHUB_REPOSITORY (`owner/name`, set by GitHub Actions); without it there are none.

    The README's relative links then lead to the repository, or become plain text.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the README and the addresses."""
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        owner, _, name = os.environ.get("GITHUB_REPOSITORY", "").partition("/")
        url = f"https://github.com/{owner}/{name}"
        image, link = (rf"![\1]({url}/raw/main/\2)", rf"[\1]({url}/blob/main/\2)") if name else ("", r"\1")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": _LINK.sub(link, _IMAGE.sub(image, readme)),
        }
        metadata["urls"] = {
            "Documentation": f"https://{owner}.github.io/{name}/",
            "Source": url,
            "Issues": f"{url}/issues",
            "Changelog": f"{url}/blob/main/CHANGELOG.md",
        } if name else {}  # fmt: skip
