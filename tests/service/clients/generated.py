"""Search with python-alfresco-api, whose models are generated from an OpenAPI description; print the results as
JSON.
"""

import json
import sys

from python_alfresco_api import ClientFactory
from python_alfresco_api.auth_util import SimpleAuthUtil, TicketAuthUtil
from python_alfresco_api.raw_clients.alfresco_search_client.search_client.models import (
    RequestPagination,
    RequestQuery,
    SearchRequest,
)

url, user, password = sys.argv[1:]
results: dict[str, object] = {}
for auth in (SimpleAuthUtil(user, password), TicketAuthUtil(user, password, base_url=url)):
    client = ClientFactory(base_url=url, auth_util=auth, load_env=False).create_search_client()
    request = SearchRequest(
        query=RequestQuery(query="FINGERPRINT:lease_5"), paging=RequestPagination(max_items=2), include_request=True
    )
    page = client.search.search(request).list_
    results[type(auth).__name__] = {
        "pagination": page.pagination.to_dict(),
        "request": page.context.request.query.query,
        "entries": [
            [entry.id, entry.name, str(entry.created_at), entry.search.score, entry.search.additional_properties]
            for entry in (row.entry for row in page.entries)
        ],
    }
wrong = SearchRequest(query=RequestQuery(query="("))
results["wrong"] = client.search.search_detailed(wrong).status_code
print(json.dumps(results))
