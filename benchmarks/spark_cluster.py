"""Checks that a Spark cluster finds the same duplicates when it loses a machine.

    python benchmarks/spark_cluster.py [FILE] [--documents N] [--words N] [--template SHARE] [--lose-after STAGES]

A master and two workers of Spark's standalone mode run on this machine, started by PySpark's own `spark-class`. After
the given number of stages, one worker is killed, with its executor and the blocks on its disks. Spark recomputes them
on the other worker. The clusters are compared with the result of `whorl duplicates`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from load_servers import free_port
from spark import asking, clusters_in, events, in_one_process, session, write_texts
from whorl.duplicates.spark.run import run
from whorl.operations import DuplicatesOperation

DEPLOY = "org.apache.spark.deploy"
WORKERS = 2
#: Longest time until a server listens or executors have started, in seconds.
PATIENCE = 120


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Run a master and workers; yield the master's address and the workers, each with its own process session."""
    home = Path(pyspark.__file__).parent
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> subprocess.Popen[bytes]:
        own = folder / f"{len(started)}"
        own.mkdir()
        command = [str(home / "bin" / "spark-class"), f"{DEPLOY}.{name}", "--webui-port", "0", *arguments]
        with (own / "log").open("wb") as log:
            started.append(
                subprocess.Popen(
                    command, stdout=log, stderr=log, cwd=own, start_new_session=True,
                    env={**environment, "SPARK_LOCAL_DIRS": str(own)},
                )
            )  # fmt: skip
        return started[-1]

    try:
        start("master.Master", "--host", "127.0.0.1", "--port", str(port))
        until(lambda: is_listening(port))
        what = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--work-dir", "work", address)
        yield address, [start("worker.Worker", *what) for _ in range(WORKERS)]
    finally:
        for process in started:
            lose(process)


def lose(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it started, unless it has ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"after {PATIENCE} s")
        time.sleep(0.2)


def stages_done(spark: SparkSession) -> int:
    """Return the number of stages whose tasks are all done."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup()]
    stages = {stage: tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds}
    return sum(stage is not None and stage.numTasks == stage.numCompletedTasks > 0 for stage in stages.values())


def main() -> None:
    """Lose a worker, and print the effect."""
    parser = asking(__doc__)
    parser.add_argument("--lose-after", type=int, default=15, metavar="STAGES", help="of about forty; 15 if not named")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "log"
        log.mkdir()
        count = write_texts(options, folder / "all.jsonl")
        local = in_one_process(f"{folder}/all.jsonl", folder)
        with cluster(folder) as (address, workers):
            spark = session(log, address)
            executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
            # The driver is in the list, too.
            until(lambda: executors().size() == WORKERS + 1)
            lost_at: list[int] = []

            def lose_one() -> None:
                while (done := stages_done(spark)) < options.lose_after:
                    time.sleep(0.1)
                lose(workers[0])
                lost_at.append(done)

            watching = threading.Thread(target=lose_one, daemon=True)
            began = time.monotonic()
            watching.start()
            run([f"{folder}/all.jsonl"], DuplicatesOperation(output=f"{folder}/spark"), spark)
            took = time.monotonic() - began
            left = executors().size() - 1
            spark.stop()
        clusters = clusters_in((folder / "spark").glob("*.json"))
        failed = sum(event["Task End Reason"]["Reason"] != "Success" for event in events(log, "TaskEnd"))
        again = [event for event in events(log, "StageCompleted") if event["Stage Info"]["Stage Attempt ID"]]
        print(f"{count:,} texts of {options.file.name}, on a cluster of {WORKERS} workers, Spark {pyspark.__version__}")
        print(f"one was killed after {lost_at[0]} stages; {left} executor was left")
        print(f"{failed} tasks failed, {len(again)} stages were carried out again; {took:.0f} s by the clock")
        print(f"{len(clusters):,} clusters, the same as in one process: {clusters == clusters_in([local])}")


if __name__ == "__main__":
    main()
