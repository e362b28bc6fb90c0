"""Search with alfresco-rest-client, by password and by ticket; print the results as JSON."""

import json
import sys

from alfresco import Alfresco, BasicAuth, TicketAuth
from alfresco.exceptions import AlfrescoError

url, user, password = sys.argv[1:]
results: dict[str, object] = {}
for auth in (BasicAuth(user, password), TicketAuth(user, password)):
    with Alfresco(url, auth=auth) as client:
        nodes = client.search.afts("FINGERPRINT:lease_5", include=["properties", "aspectNames"])
        raw = client.search.search_raw("FINGERPRINT:lease_5", max_items=2, facet_queries=[{"query": "pages:1"}])
        failed = []
        for query, language in (("(", "afts"), ("select * from cmis:document", "cmis")):
            try:
                client.search.search_raw(query, language=language)
            except AlfrescoError as error:
                failed.append([type(error).__name__, error.status, error.message])
        results[type(auth).__name__] = {
            "nodes": [[node.id, node.name, str(node.created_at), node.properties] for node in nodes],
            "list": raw["list"],
            "failed": failed,
        }
try:
    Alfresco(url, auth=BasicAuth(user, "wrong")).search.afts("*")
except AlfrescoError as error:
    results["wrong"] = [type(error).__name__, error.status]
print(json.dumps(results))
