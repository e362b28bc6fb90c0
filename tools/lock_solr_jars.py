"""Write `src/whorl/engine/solr/local/jetty/jars.lock`: the jars of the Solr that whorl starts, found by jgo.

Run it when SOLR_VERSION changes: `python tools/lock_solr_jars.py > jars.lock`, then move the file into place.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jgo.maven import MavenContext
from whorl.engine.solr.local.jars import SOLR_VERSION

#: The test framework holds the Jetty and ZooKeeper runners, lucene-analysis-icu the tokenizer.
ROOTS = (
    f"org.apache.solr:solr-test-framework:{SOLR_VERSION}",
    f"org.apache.solr:solr-core:{SOLR_VERSION}",
    "org.apache.lucene:lucene-analysis-icu:9.12.2",
)
#: The main class that starts a runner. It is taken alone, without what it depends on, which Solr brings: as a root
#: its parent would decide the versions of Solr's dependencies, and Solr does not start with those.
ALONE = "org.eclipse.jetty:jetty-xml:10.0.22"


def main() -> None:
    """Print the lock file."""
    with tempfile.TemporaryDirectory() as repository:
        context = MavenContext(repo_cache=Path(repository), timeout=60)
        roots, others = context.resolver.resolve([context.create_dependency(root) for root in ROOTS])
        artifacts = [context.create_dependency(ALONE).artifact, *(dep.artifact for dep in roots)]
        artifacts += [dep.artifact for dep in others if dep.scope in ("compile", "runtime")]
        with ThreadPoolExecutor(max_workers=8) as pool:
            paths = list(pool.map(lambda artifact: Path(artifact.resolve()), artifacts))
        lines = sorted(
            ":".join(filter(None, (a.groupId, a.artifactId, a.version, a.classifier)))
            + f" {hashlib.sha256(path.read_bytes()).hexdigest()}"
            for a, path in zip(artifacts, paths, strict=True)
        )
    print("# Written by tools/lock_solr_jars.py: Maven coordinates and the SHA-256 of each jar.", *lines, sep="\n")
    print(f"{len(lines)} jars", file=sys.stderr)


if __name__ == "__main__":
    main()
