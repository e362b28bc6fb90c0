"""What several requests ask in the same words: which text is meant, and what of it is common."""

from __future__ import annotations

from typing import Annotated, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

#: A text in the query language; docs/afts.md says what can be written.
QueryText: TypeAlias = Annotated[
    str, Field(json_schema_extra={"format": "afts", "minLength": 1}, examples=["type:note AND lease"])
]


class OneText(BaseModel):
    """A text: that of a document, by its id, or one that is sent."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "oneOf": [
                {"required": ["id"], "properties": {"id": {"type": "string"}, "text": {"type": "null"}}},
                {"required": ["text"], "properties": {"text": {"type": "string"}, "id": {"type": "null"}}},
            ]
        },
    )

    id: str | None = Field(None, examples=["lease"])
    text: str | None = Field(None, examples=["The tenant pays a rent in advance."])

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.id is None) == (self.text is None):
            raise ValueError("name one: id or text")
        return self


class Commonness(BaseModel):
    """What is told apart as common; nothing, where neither is given."""

    model_config = ConfigDict(extra="forbid")

    #: What stands in more documents is common: "50", or "1%" of all.
    common_above: str | None = Field(
        None, json_schema_extra={"pattern": r"^([0-9]{1,9}|[0-9]{1,2}(\.[0-9]{1,4})?%)$"}, examples=["1%"]
    )
    #: Texts that are common.
    boilerplate: list[str] = Field(default_factory=list, max_length=100)


class Ignoring(Commonness):
    """The same, where it may count for nothing."""

    #: Whether what is common counts for nothing.
    ignore_common: bool = False
