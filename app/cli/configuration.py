"""Settings from the environment and the command line, with faults that a person can read."""

import os
import reprlib
from typing import TYPE_CHECKING, Any

from app.cli.failures import UsageFailure

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from app.settings import Settings


def load_settings(**given: Any) -> "Settings":
    """What is None was not given: the environment or the default decides."""
    from pydantic import ValidationError

    from app.settings import Settings

    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise UsageFailure("; ".join(_readable(fault, given) for fault in error.errors())) from error


_RULES = {
    "int_parsing": "must be a whole number, not {value}",
    "int_parsing_size": "is too large a number",
    "float_parsing": "must be a number, not {value}",
    "bool_parsing": "must be true or false, not {value}",
    "string_type": "must be words, not {value}",
    "string_too_short": "must not be empty",
    "literal_error": "must be {expected}, not {value}",
    "greater_than": "must be more than {gt}, not {value}",
    "greater_than_equal": "must be {ge} or more, not {value}",
    "less_than_equal": "must be {le} or less, not {value}",
}
"""By the kinds of pydantic, whose own words are for programmers. No value that is quoted is a secret."""


def _rule(fault: "ErrorDetails") -> str:
    if fault["type"] not in _RULES:
        return fault["msg"].removeprefix("Value error, ")
    bounds = {name: str(bound).removesuffix(".0") for name, bound in fault.get("ctx", {}).items()}
    return _RULES[fault["type"]].format(value=reprlib.repr(str(fault["input"])), **bounds)


def _readable(fault: "ErrorDetails", given: dict[str, Any]) -> str:
    """Names the option, or else the variable, where one is at fault. Its value may be a secret, and is left
    out unless the rule itself quotes it."""
    said = _rule(fault)
    if not fault["loc"]:
        return said
    name = str(fault["loc"][0])
    typed = _variable(name) if given.get(name) is None else f"--{name.replace('_', '-')}"
    return f"{typed}: {said}"


def _variable(name: str) -> str:
    """Of a setting with several, the fault has the first, and this is the one that was set."""
    from app.settings import PREFIX, Settings

    if not name.isupper():
        return PREFIX + name.upper()
    aliases = [getattr(field.validation_alias, "choices", ()) for field in Settings.model_fields.values()]
    names = next(choices for choices in aliases if name in choices)
    return next((one for one in names if one in os.environ), name)


def log_to_stderr(settings: "Settings | None" = None, **always: Any) -> None:
    """Standard output belongs to what a command answers. `always` stands in every line of this process."""
    import structlog

    from app.telemetry.logs import configure

    structlog.contextvars.bind_contextvars(**always)
    if settings is None:
        configure()
    else:
        configure(settings.log_format, settings.log_level)
