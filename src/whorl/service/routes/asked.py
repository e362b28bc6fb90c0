"""What several requests ask in the same words: which text is meant, and what of it is common."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class OneText(BaseModel):
    """A text: that of a document, by its id, or one that is sent."""

    model_config = ConfigDict(extra="forbid")

    id: str | None = None
    text: str | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.id is None) == (self.text is None):
            raise ValueError("name one: id or text")
        return self


class Commonness(BaseModel):
    """What is told apart as common; nothing, where neither is given."""

    model_config = ConfigDict(extra="forbid")

    #: What stands in more documents is common: "50", or "1%" of all.
    common_above: str | None = None
    #: Texts that are common.
    boilerplate: list[str] = Field(default_factory=list, max_length=100)


class Ignoring(Commonness):
    """The same, where it may count for nothing."""

    #: Whether what is common counts for nothing.
    ignore_common: bool = False
