"""What several requests ask in the same words: which text is meant, and what of it is common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from whorl.boilerplate import CommonOptions, common_limit
from whorl.similar.sources import SOURCE

#: A text in the query language; docs/afts.md says what can be written.
QueryText: TypeAlias = Annotated[
    str, Field(json_schema_extra={"format": "afts", "minLength": 1}, examples=["name:lease OR rent"])
]

#: A threshold, or a recall; the same wherever one is asked for, as in a FINGERPRINT.
Percent: TypeAlias = Annotated[float, Field(gt=0, le=100, description="In percent; a number up to 1 is a fraction.")]

#: A number of documents or a share of all, as `common_limit` reads them.
_LIMIT = r"^([1-9][0-9]{0,8}|(100|[1-9][0-9]?(\.[0-9]{1,4})?|0\.[0-9]{0,3}[1-9])%)$"

#: The documents of a page, of which something is shown below each.
Shown: TypeAlias = Annotated[list[str], Field(max_length=100)]

#: An example of a body.
Example: TypeAlias = dict[str, Any] | None


class Asked(BaseModel):
    """What is asked in a body: every part is known, and none stands in for one of another type."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=lambda schema, cls: _complete(schema, cls))
    #: Whether it stands in an address, where everything is text.
    is_text: ClassVar[bool] = False
    #: What a class demands of several parts together, as JSON Schema.
    rule: ClassVar[dict[str, Any]] = {}
    #: A request that a store with the contracts of examples/ answers; None where the parts have examples of their own.
    example: ClassVar[Example] = None

    @field_validator("*", mode="before")
    @classmethod
    def _is_of_its_type(cls, told: Any, info: ValidationInfo) -> Any:
        # JSON has numbers and truth values of its own; Python would take each for the other, and texts for both.
        kinds = {*_types(cls.model_fields[str(info.field_name)].annotation)}
        numbers = kinds & {int, float}
        if isinstance(told, bool) and numbers and bool not in kinds:
            raise ValueError("this is a number, not true or false")
        if isinstance(told, int | float) and not isinstance(told, bool) and bool in kinds and not numbers:
            raise ValueError("this is true or false, not a number")
        if isinstance(told, str) and not cls.is_text and kinds <= {bool, int, float, type(None)}:
            raise ValueError(f"this is {'a number' if numbers else 'true or false'}, not a text")
        return told


def _complete(schema: dict[str, Any], cls: type[Asked]) -> None:
    """Put the rules and the example of a class into its schema."""
    if cls.example is not None:
        schema["examples"] = [cls.example]
    if rules := [each.__dict__["rule"] for each in cls.__mro__ if each.__dict__.get("rule")]:
        schema["allOf"] = rules


def _types(annotation: Any) -> Iterator[Any]:
    """Yield the types of which a value may be."""
    if get_origin(annotation) is Literal:
        yield str
    elif parts := get_args(annotation):
        for each in parts:
            yield from _types(each)
    else:
        yield annotation


class OneText(Asked):
    """A text: that of a document, by its id, or one that is sent."""

    rule = {
        "oneOf": [
            {"required": ["id"], "properties": {"id": {"type": "string"}, "text": {"type": "null"}}},
            {"required": ["text"], "properties": {"text": {"type": "string"}, "id": {"type": "null"}}},
        ]
    }

    id: str | None = Field(None, examples=["lease"])
    text: str | None = Field(None, examples=["The tenant pays a rent in advance."])

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.id is None) == (self.text is None):
            raise ValueError("name one: id or text")
        return self

    @property
    def reference(self) -> str:
        """What a store calls it, where the text itself is given beside."""
        return SOURCE if self.id is None else self.id


class Commonness(Asked):
    """What is told apart as common; nothing, where neither is given."""

    #: What stands in more documents is common: "50", or "1%" of all.
    common_above: str | None = Field(None, json_schema_extra={"pattern": _LIMIT}, examples=["1%"])
    #: Texts that are common.
    boilerplate: list[str] = Field(default_factory=list, max_length=100)

    @field_validator("common_above")
    @classmethod
    def _is_a_limit(cls, told: str | None) -> str | None:
        if told is not None:
            common_limit(told, 1)
        return told


class Ignoring(Commonness):
    """The same, where it may count for nothing."""

    rule = {
        "anyOf": [
            {"properties": {"ignore_common": {"const": False}}},
            {"required": ["common_above"], "properties": {"common_above": {"type": "string"}}},
            {"required": ["boilerplate"], "properties": {"boilerplate": {"minItems": 1}}},
        ]
    }
    #: Whether what is common counts for nothing.
    ignore_common: bool = False

    @property
    def common_options(self) -> CommonOptions:
        """The three together, as a store is told them."""
        return {
            "common_above": self.common_above,
            "boilerplate": self.boilerplate,
            "ignore_common": self.ignore_common,
        }
