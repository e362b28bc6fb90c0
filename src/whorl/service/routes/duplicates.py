"""The clusters of a store over HTTP: a job that is started, watched and cancelled, and pages of what it found."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NotRequired, TypeAlias

from fastapi import APIRouter, HTTPException, Path, Query, Response
from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from whorl.duplicates import Keep, ask_common, ask_pairs, duplicates_in
from whorl.duplicates.common import CommonQuestion
from whorl.duplicates.gathering import require_few
from whorl.duplicates.marking import Marked, write_ids
from whorl.duplicates.question import PairWord
from whorl.duplicates.result import Cluster, with_words
from whorl.errors import NoSketchesError, ParameterError, WhorlError
from whorl.service.errors import DEFECT, Json, require_writable, status_of
from whorl.service.jobs import Job, Jobs, Report
from whorl.service.paths import API
from whorl.service.routes.asked import Example, Ignoring, Percent
from whorl.service.routes.router import api_router
from whorl.settings.settings import MAX_START
from whorl.store import Store
from whorl.wire.duplicates import (
    ClusterValues,
    PairValues,
    cluster_values,
    common_line,
    left_out,
    pair_values,
    write_clusters,
)

#: Members up to which a cluster comes with its pairs.
PAIRS_UP_TO = 30
#: For how long what was found is told again to those who ask the same.
SECONDS_FRESH = 60.0
_PATH = "/duplicates"
#: Which clusters come first: the largest, or those whose members are most or least alike.
Order: TypeAlias = Literal["size", "alike", "unlike"]


_JobId: TypeAlias = Annotated[str, Path(examples=["Yx2mQ0ZlT8aB4cDe"])]
_KEEP = "^(first|longest|(newest|oldest|largest|smallest):.+)$"


class DuplicatesRequest(Ignoring):
    """What `POST /api/v1/duplicates` is sent: which documents belong together."""

    example: ClassVar[Example] = {"metric": "jaccard", "threshold": 60}

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: PairWord = "jaccard"
    threshold: Percent = 80
    recall: Percent = 95
    #: Whether any two members of a cluster are to be a pair.
    complete: bool = False
    #: Which member of a cluster is the principal, that the others are compared with: "first", "longest",
    #: "newest:PROPERTY", "largest:PROPERTY" and the like. Clusters are then complete.
    keep: str | None = Field(None, json_schema_extra={"pattern": _KEEP}, examples=["newest:cm:modified"])
    #: Whether clusters come with the order of their versions, and what each adds and loses against the one before.
    versions: bool = False
    #: The property of the dates that versions are ordered by; else that of `keep`.
    date: str | None = None
    #: Whether to write into the documents which (complete) cluster each is in, for searches that show one of each.
    write_ids: bool = False

    @property
    def common(self) -> CommonQuestion | None:
        """What is told apart as common."""
        return ask_common(self.common_above, self.boilerplate, ignore_common=self.ignore_common)

    @property
    def choice(self) -> Keep | None:
        """What `keep` says."""
        return None if self.keep is None else Keep.named(self.keep)


class ClusterAndPairs(ClusterValues):
    """A cluster; a small one has its pairs."""

    pairs: list[PairValues]


class MarkedValues(TypedDict):
    """What was written into the documents: how many say now in which cluster they are."""

    clusters: int
    documents: int
    written: int
    cleared: int
    left: int


class FoundValues(TypedDict):
    """What a job found: what was asked, what there is in all, and one page of the clusters."""

    documents: int
    metric: str
    threshold: float
    recall: float
    complete: bool
    keep: str | None
    versions: bool
    date: str | None
    write_ids: bool
    common_above: str | None
    ignore_common: bool
    total: int
    pairs: int
    warnings: list[str]
    written: MarkedValues | None
    clusters: list[ClusterAndPairs]


class Progress(TypedDict):
    """What a job does at the moment, and how much of that is done."""

    doing: str
    count: int


class JobError(TypedDict):
    """What a job failed with."""

    statusCode: int
    message: str


class JobValues(TypedDict):
    """A job, and what it found once it is done."""

    id: str
    state: Literal["waiting", "running", "done", "failed"]
    progress: Progress
    result: FoundValues | None
    error: NotRequired[JobError]


_FILE = {"schema": {"type": "string"}}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "model": JobValues,
        "content": {"application/x-ndjson": _FILE, "text/csv": _FILE},
    }
}


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in a store at a moment."""

    asked: DuplicatesRequest
    at: float
    #: Documents of the store then, and those of them that were compared.
    count: int
    documents: int
    pairs: int
    clusters: tuple[Cluster, ...]
    warnings: tuple[str, ...]
    #: Reads what the texts of a cluster's versions tell.
    worded: Callable[[Cluster], Cluster]
    #: What was written into the documents.
    marked: Marked | None

    def answers(self, asked: DuplicatesRequest, count: int) -> bool:
        """Say whether this does for a question now: it is not old, and the store has not got smaller."""
        return self.asked == asked and self.count <= count and time.monotonic() - self.at <= SECONDS_FRESH

    def page(self, start: int, rows: int, order: Order = "size", named: str = "") -> FoundValues:
        """Return some of the clusters as JSON values, with what is said of all; texts are read for these alone.

        Args:
            start: Clusters to leave out before them.
            rows: How many.
            order: Which come first: the largest, or those whose members are most or least alike.
            named: Only clusters with a document whose name or id has this in it.
        """
        chosen = self._named(named.casefold())
        if order != "size":
            chosen = sorted(chosen, key=_least_alike, reverse=order == "alike")
        clusters = [
            self.worded(each) if 0 < len(each.versions) <= PAIRS_UP_TO else each
            for each in chosen[start : start + rows]
        ]
        asked = self.asked
        return {
            "documents": self.documents,
            "metric": asked.metric,
            "threshold": asked.threshold,
            "recall": asked.recall,
            "complete": asked.complete,
            "keep": asked.keep,
            "versions": asked.versions,
            "date": asked.date,
            "write_ids": asked.write_ids,
            "common_above": asked.common_above,
            "ignore_common": asked.ignore_common,
            "total": len(chosen),
            "pairs": self.pairs,
            "warnings": list(self.warnings),
            "written": None if self.marked is None else _written(self.marked),
            "clusters": [
                {**cluster_values(each), "pairs": [pair_values(pair) for pair in each.pairs]} for each in clusters
            ],
        }

    def _named(self, part: str) -> Sequence[Cluster]:
        def has(cluster: Cluster) -> bool:
            return any(part in match.b.name.casefold() or part in match.b.id.casefold() for match in cluster.matches)

        return [cluster for cluster in self.clusters if has(cluster)] if part else self.clusters


def duplicates_routes(store: Store, jobs: Jobs[Found], *, is_read_only: bool = False) -> APIRouter:
    """Return the routes.

    Args:
        store: Whose documents are compared with each other.
        jobs: Where it is done.
        is_read_only: Whether what would change the store is refused.
    """
    router = api_router()
    fresh: list[Found] = []

    @router.post(_PATH, status_code=202, summary="Look for the near-duplicates of the store")
    def find_duplicates(asked: DuplicatesRequest, response: Response) -> JobValues:
        """Start a job, which looks for documents that belong together as soon as those before it are done.

        The answer's `id` is what to ask about at `/api/v1/duplicates/{id}`, at least every minute. What was found for
        the same question a minute ago is found at once, unless documents were deleted.
        """
        if asked.write_ids:
            require_writable(is_read_only=is_read_only)
        # What is asked wrongly is told at once.
        _require_comparable(store, needs_sketches=asked.common is None)
        if (keep := asked.choice) is not None and keep.is_by_value and not keep.column:
            raise ParameterError(f"documents of a store have dates in a property: keep {keep}:PROPERTY")

        def work(report: Report) -> Found:
            # One job at a time, so nobody else is here.
            if not fresh or not fresh[0].answers(asked, store.count()) or asked.write_ids:
                fresh[:] = [_searched(store, asked, report)]
            return fresh[0]

        job = jobs.start(work)
        response.headers["Location"] = f"{API}{_PATH}/{job.id}"
        return _values(job)

    @router.get(
        f"{_PATH}/{{job_id}}", response_model=None, responses=_ANSWERS, summary="How far a job is, and what it found"
    )
    def watch_duplicates(
        job_id: _JobId,
        start: int = Query(0, ge=0, le=MAX_START),
        rows: int = Query(100, ge=0, le=1_000),
        order: Order = "size",
        named: str = Query("", max_length=1_000),
        format: Literal["page", "json", "csv"] = "page",  # noqa: A002 - what the parameter is called
    ) -> Response:
        """The state of a job: waiting, running, done or failed, with the `error` that it failed with.

        Of one that is done, `result` has a page of the clusters, the largest first; small ones come with their pairs,
        and where versions were asked for with the words and passages that each of them adds and loses. `order` says
        which come first instead, `named` chooses those with a document of such a name or id.
        `json` (one cluster a line) and `csv` are all of them as a file.
        """
        job = jobs.of(job_id)
        if format == "page":
            return Json(_values(job, start, rows, order, named))
        if job.result is None:
            raise HTTPException(409, f"the job is not done but {job.state.value}; ask again without format")
        return _file(job.result, format)

    @router.delete(f"{_PATH}/{{job_id}}", status_code=204, summary="Cancel a job")
    def cancel_duplicates(job_id: _JobId) -> Response:
        """End a job that waits or runs, and forget what it found."""
        jobs.cancel(job_id)
        return Response(status_code=204)

    return router


def _written(marked: Marked) -> MarkedValues:
    return {
        "clusters": marked.clusters,
        "documents": marked.documents,
        "written": marked.written,
        "cleared": marked.cleared,
        "left": marked.left,
    }


def _least_alike(cluster: Cluster) -> float:
    return min(match.shares.jaccard for match in cluster.matches)


def _values(job: Job[Found], start: int = 0, rows: int = 0, order: Order = "size", named: str = "") -> JobValues:
    told: JobValues = {
        "id": job.id,
        "state": job.state.value,
        "progress": {"doing": job.doing, "count": job.count},
        "result": None if job.result is None else job.result.page(start, rows, order, named),
    }
    if job.error is not None:
        status, message = (status_of(job.error), str(job.error)) if isinstance(job.error, WhorlError) else (500, DEFECT)
        told["error"] = {"statusCode": status, "message": message}
    return told


def _require_comparable(store: Store, *, needs_sketches: bool) -> None:
    if store.count() and needs_sketches and store.engine.sketch_scheme is None:
        raise NoSketchesError
    require_few(store.engine, "over HTTP")


def _searched(store: Store, asked: DuplicatesRequest, report: Report) -> Found:
    count = store.count()
    question = ask_pairs(asked.metric, str(asked.threshold), str(asked.recall))
    keep = asked.choice
    is_complete = asked.complete or keep is not None or asked.write_ids
    date = asked.date or (keep.column if keep is not None and keep.is_by_date else None)
    search = duplicates_in(
        store.engine,
        question,
        origin="the store",
        names=store.names,
        date_field=date,
        keep=keep or Keep("first"),
        common=asked.common,
        links_suffice=not is_complete,
        progress=report,
    )
    with search as there:
        clusters = []
        sought = there.clusters(
            complete=is_complete, keep=keep, with_pairs_up_to=PAIRS_UP_TO, with_versions=asked.versions
        )
        for cluster in sought:
            clusters.append(cluster)
            if len(clusters) % 256 == 0:
                report("clustering", len(clusters))
        pairs = there.count_pairs()
        worded = partial(with_words, read=there.read_texts, scheme=there.scheme)
        notes = [common_line(there.rest)] if there.rest else []
        marked = write_ids(store.engine, clusters, partial(report, "writing")) if asked.write_ids else None
        told = tuple(clusters), (*notes, *left_out(there)), worded, marked
        return Found(asked, time.monotonic(), count, there.documents, pairs, *told)


def _file(found: Found, form: str) -> Response:
    out = io.StringIO()
    asked = found.asked
    write_clusters(found.clusters, form, out, with_versions=asked.versions, with_rest=asked.common is not None)
    media_type = "text/csv; charset=utf-8" if form == "csv" else "application/x-ndjson"
    named = f'attachment; filename="duplicates.{"csv" if form == "csv" else "jsonl"}"'
    # Halves of surrogate pairs cannot be in a store, nor in a name.
    return Response(out.getvalue().encode(), media_type=media_type, headers={"Content-Disposition": named})
