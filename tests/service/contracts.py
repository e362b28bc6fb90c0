"""Documents of the service tests: the example contracts, with properties of Alfresco nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from whorl import Document

if TYPE_CHECKING:
    from starlette.testclient import TestClient

CONTRACTS = Path(__file__).parents[2] / "examples" / "contracts"
MINUTES = (CONTRACTS / "minutes.txt").read_text(encoding="utf-8")
NODE = "aaaabbbb-cccc-4ddd-8eee-ffff00001111"


def documents() -> list[Document]:
    """A lease with all properties of a node, its renewal with some, and two documents with nothing but a text."""
    text = {path.stem: path.read_text(encoding="utf-8") for path in CONTRACTS.iterdir()}
    lease: dict[str, Any] = {
        "DBID": "1234",
        "LID": f"workspace://SpacesStore/{NODE}",
        "TYPE": "{http://www.alfresco.org/model/content/1.0}content",
        "ASPECT": ["{http://www.alfresco.org/model/content/1.0}titled", "sys:referenceable"],
        "PARENT": "workspace://SpacesStore/11112222-cccc-4ddd-8eee-ffff00001111",
        "cm:created": "2017-04-10T10:52:30.868Z",
        "cm:creator": "mjackson",
        "cm:modified": "2018-01-02",
        "cm:modifier": "abeecher",
        "cm:title": "The lease",
        "cm:content.mimetype": "text/plain",
        "cm:content.size": 1234,
        "pages": 3,
        "tags": ["rent", "house"],
    }
    return [
        Document("lease", text["lease-2023"], "lease.txt", lease),
        Document("renewal", text["lease_2024"], "renewal.txt", {"cm:created": "2020-05-03", "pages": 1}),
        Document("minutes", text["minutes"], "minutes.txt", {"TYPE": "cm:folder"}),
        Document("recipe", text["recipe"]),
    ]


def post_json(client: TestClient, path: str, **body: Any) -> Any:
    """Post to one of whorl's own routes, and return the answer."""
    answer = client.post(f"/api/v1/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()
