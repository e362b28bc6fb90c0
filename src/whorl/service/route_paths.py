"""Paths of the HTTP routes, and functions that classify a request by its path and method."""

from __future__ import annotations

from starlette.types import Scope

#: Prefix of whorl's own routes; an incompatible change needs a new version.
API = "/api/v1"
#: Prefix of the routes in Alfresco's format.
ALFRESCO = "/alfresco"
SEARCH = f"{ALFRESCO}/api/-default-/public/search/versions/1/search"
TICKETS = f"{ALFRESCO}/api/-default-/public/authentication/versions/1/tickets"
#: Paths that Alfresco's clients call in addition to the search: people, nodes and discovery.
PEOPLE = f"{ALFRESCO}/api/-default-/public/alfresco/versions/1/people"
NODES = f"{ALFRESCO}/api/-default-/public/alfresco/versions/1/nodes"
DISCOVERY = f"{ALFRESCO}/api/discovery"
#: Path for uploads of any number of documents; the size of the whole body is not limited.
DOCUMENTS = f"{API}/documents"


#: Paths of routes whose request bodies contain whole texts or files.
_OF_TEXTS = frozenset(f"{API}/{name}" for name in ("compare", "passages", "similar", "sources", "text", "verify"))


def header(scope: Scope, name: bytes) -> str:
    """Return the first value of a request's header (`name` in lower case), or ""."""
    return next((value.decode("latin-1") for given, value in scope["headers"] if given == name), "")


def has_alfresco_format(path: str) -> bool:
    """Check whether the responses to failed requests at a path have Alfresco's format."""
    return path == ALFRESCO or path.startswith(f"{ALFRESCO}/")


def accesses_store(path: str) -> bool:
    """Check whether the routes at a path read or change the store, so that checks and limits apply."""
    return path.startswith(("/api/", f"{ALFRESCO}/"))


def is_log_in(scope: Scope) -> bool:
    """Check whether a request is a log-in, which needs no key."""
    return (scope["method"], scope["path"]) == ("POST", TICKETS)


def is_upload(scope: Scope) -> bool:
    """Check whether a request uploads documents."""
    return (scope["method"], scope["path"]) == ("POST", DOCUMENTS)


def may_contain_text(scope: Scope) -> bool:
    """Check whether the body of a request may contain a whole text or file."""
    return scope["method"] == "POST" and scope["path"] in _OF_TEXTS
