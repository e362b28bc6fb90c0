"""The addresses that more than a route has to know, and what kind of request stands behind one."""

from __future__ import annotations

from starlette.types import Scope

#: Below this are whorl's own routes. What would break their clients goes into a version of its own beside it.
API = "/api/v1"
#: Below this everything speaks as Alfresco does.
ALFRESCO = "/alfresco"
SEARCH = f"{ALFRESCO}/api/-default-/public/search/versions/1/search"
TICKETS = f"{ALFRESCO}/api/-default-/public/authentication/versions/1/tickets"
#: What clients of the search ask before and after it.
PEOPLE = f"{ALFRESCO}/api/-default-/public/alfresco/versions/1/people"
NODES = f"{ALFRESCO}/api/-default-/public/alfresco/versions/1/nodes"
DISCOVERY = f"{ALFRESCO}/api/discovery"
#: Where documents are sent, in any number and so without a limit to the whole.
DOCUMENTS = f"{API}/documents"


def speaks_as_alfresco(path: str) -> bool:
    """Say whether failures at a path have Alfresco's shape."""
    return path == ALFRESCO or path.startswith(f"{ALFRESCO}/")


def is_of_the_store(path: str) -> bool:
    """Say whether a path is one of those that ask or change the store."""
    return path.startswith(("/api/", f"{ALFRESCO}/"))


def is_log_in(scope: Scope) -> bool:
    """Say whether a request asks for a ticket, which needs no key."""
    return (scope["method"], scope["path"]) == ("POST", TICKETS)


def is_upload(scope: Scope) -> bool:
    """Say whether a request brings documents."""
    return (scope["method"], scope["path"]) == ("POST", DOCUMENTS)
