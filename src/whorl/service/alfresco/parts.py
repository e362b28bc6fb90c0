"""Base model of requests to Alfresco's API: rejects unknown keys, ignores nulls, and uses camelCase names."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeAlias, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel


class Part(BaseModel):
    """Part of a request; null values are ignored, unknown keys are errors."""

    model_config = ConfigDict(
        extra="forbid",
        alias_generator=to_camel,
        frozen=True,
        json_schema_extra=lambda schema, cls: _complete(schema, cls),
    )
    #: Example request, answered by a store that holds the contracts of examples/.
    example: ClassVar[dict[str, Any] | None] = None

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, told: Any) -> Any:
        return {name: value for name, value in told.items() if value is not None} if isinstance(told, dict) else told

    @field_validator("*", mode="before")
    @classmethod
    def _is_flag_or_number(cls, told: Any, info: ValidationInfo) -> Any:
        # Numbers may be text, as in Alfresco, but 0 is not false, and false is not 0.
        annotation = cls.model_fields[str(info.field_name)].annotation
        if _holds(annotation, bool) and isinstance(told, int | float) and not isinstance(told, bool):
            raise ValueError("this is true or false, not a number")
        if _holds(annotation, int, float) and isinstance(told, bool):
            raise ValueError("this is a number, not true or false")
        return told


def _holds(annotation: Any, *types: type) -> bool:
    return annotation in types or any(_holds(each, *types) for each in get_args(annotation))


def _complete(schema: dict[str, Any], cls: type[Part]) -> None:
    """Mark the parts of a schema that may be null, and add the example."""
    required = schema.get("required", ())
    schema["properties"] = {
        name: part if name in required or _may_be_null(part) else {"anyOf": [part, {"type": "null"}]}
        for name, part in schema["properties"].items()
    }
    if cls.example is not None:
        schema["examples"] = [cls.example]


def _may_be_null(part: dict[str, Any]) -> bool:
    return {"type": "null"} in part.get("anyOf", ())


def listed(told: Any) -> Any:
    """Wrap a single value in a list."""
    return [told] if isinstance(told, dict | str) else told


def folded(told: Any) -> Any:
    """Convert the name of an option to upper case."""
    return told.upper() if isinstance(told, str) else told


def _unasked(told: Any) -> Any:
    if told in ([], {}, {"facets": []}):
        return None
    raise ValueError("whorl does not do this; leave it out")


def _not(told: bool) -> bool:
    if told:
        raise ValueError("whorl does not do this; leave it out")
    return told


#: An option of Alfresco's that whorl does not support; an empty value is accepted.
Unasked: TypeAlias = Annotated[Any, BeforeValidator(_unasked)]
#: A flag of Alfresco's that whorl does not support; false is accepted.
UnaskedFlag: TypeAlias = Annotated[bool, AfterValidator(_not)]
Text: TypeAlias = Annotated[str, Field(min_length=1)]
