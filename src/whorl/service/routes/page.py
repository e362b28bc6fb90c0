"""Routes of the web page at `/`, which consists of static files.

The page contains no data, so it needs no key. Its scripts call the routes under /api, which need a key.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response

FILES = Path(__file__).parents[1] / "page"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    # Trusted types prevent scripts from turning a document's text into HTML by mistake.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    # With this header, browsers ask each time whether a file has changed.
    "Cache-Control": "no-cache",
}


def page_routes() -> APIRouter:
    router = APIRouter(include_in_schema=False)
    files = {path.name: path for path in sorted(FILES.iterdir()) if path.suffix in _TYPES}

    @router.get("/")
    def page(request: Request) -> Response:
        return _answer(files["index.html"], request)

    @router.get("/page/{name}")
    def part(name: str, request: Request) -> Response:
        # No path can lead out of the folder, because only listed files are served.
        if name not in files:
            raise HTTPException(404, f"the page has no file {name!r:.80}")
        return _answer(files[name], request)

    return router


def _answer(path: Path, request: Request) -> Response:
    content = path.read_bytes()
    tag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
    headers = {**_HEADERS, "ETag": tag}
    if request.headers.get("If-None-Match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=f"{_TYPES[path.suffix]}; charset=utf-8")
