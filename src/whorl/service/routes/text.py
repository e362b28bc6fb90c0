"""Route that extracts the text of a file, for use in a search or a comparison."""

from __future__ import annotations

import base64
import binascii
from pathlib import PurePath
from typing import ClassVar

from fastapi import APIRouter, HTTPException
from pydantic import Field
from typing_extensions import TypedDict

from whorl.context import seconds_left
from whorl.errors import DocumentError, ParameterError
from whorl.ingest.extraction.reader import BusyError, Reader
from whorl.ingest.files import file_text
from whorl.service.routes.request import Example, RequestBody
from whorl.service.routes.router import api_router

#: Number of processes that read files, each with its own memory limit; further files wait.
FILE_READERS = 2


class FileRequest(RequestBody):
    """Body of `POST /api/v1/text`: a file in base64."""

    example: ClassVar[Example] = {"name": "note.txt", "content": "c29tZSB3b3Jkcw=="}

    name: str
    content: str = Field(json_schema_extra={"format": "byte"})


class FileText(TypedDict):
    """The text of a file."""

    name: str
    text: str


def text_routes(reader: Reader) -> APIRouter:
    """Return the route.

    Args:
        reader: Reads the files; it must stay open as long as the service runs.
    """
    router = api_router()

    @router.post("/text", summary="Read a file")
    def read_file(request: FileRequest) -> FileText:
        """The text of a file as `whorl index` reads it: in whatever encoding, of HTML what a reader sees.

        Of a PDF and of other formats it is what whorl[files] finds, within the limits that the settings set.
        """
        try:
            content = base64.b64decode(request.content, validate=True)
        except (binascii.Error, ValueError):
            raise ParameterError("content: this is not base64") from None
        try:
            return {"name": request.name, "text": file_text(content, PurePath(request.name), reader)}
        except DocumentError as error:
            left = seconds_left()
            if isinstance(error, BusyError) or (left is not None and left <= 0):
                # The file may be fine: other files were being read, or it needs more time.
                raise HTTPException(503, str(error)) from None
            raise

    return router
