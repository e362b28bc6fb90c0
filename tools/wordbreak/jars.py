"""Fetches the released jars of each word-break profile, and runs Oracle.java on them."""

import hashlib
import os
import subprocess
from pathlib import Path

#: Profile: versions of lucene-analysis-icu and of the icu4j in its release. A profile covers the Lucene releases with
#: the same words: 9.4 to 9.10, 9.11 to 10.1, 10.2 on.
VERSIONS = {
    "icu70": ("9.10.0", "70.1"),
    "icu74": ("9.12.2", "74.2"),
    "icu77": ("10.3.2", "77.1"),
}
ORACLE = Path(__file__).with_name("Oracle.java")


def fetch(profile: str, folder: Path) -> list[Path]:
    """Return the profile's jars in a folder; Maven copies missing ones."""
    lucene, icu = VERSIONS[profile]
    artifacts = [
        f"org.apache.lucene:lucene-core:{lucene}",
        f"org.apache.lucene:lucene-analysis-common:{lucene}",
        f"org.apache.lucene:lucene-analysis-icu:{lucene}",
        f"com.ibm.icu:icu4j:{icu}",
    ]
    target = folder / profile
    jars = [target / "{1}-{2}.jar".format(*artifact.split(":")) for artifact in artifacts]
    for artifact, jar in zip(artifacts, jars, strict=True):
        if not jar.exists():
            copy = ["dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={target}"]
            subprocess.run(["mvn", "-q", "-B", *copy], check=True)
    return jars


def ask(jars: list[Path], *arguments: str | Path) -> None:
    """Run Oracle.java on these jars; JAVA_HOME must name Java 21 or later, which Lucene 10 needs."""
    java = Path(os.environ["JAVA_HOME"], "bin", "java")
    classpath = os.pathsep.join(map(str, jars))
    subprocess.run([java, "-cp", classpath, ORACLE, *arguments], check=True)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
