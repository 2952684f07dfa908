"""The token that all calls of this command carry.

It is never an option by itself: whoever may list processes would see it.
"""

import os
from pathlib import Path

from app.cli.failures import UsageFailure

VARIABLE = "GAPLESS_TOKEN"

_file: Path | None = None


def use_token_file(path: Path | None) -> None:
    """A file goes before the environment: it was named for this command."""
    global _file
    _file = path


def token_place() -> str:
    return VARIABLE if _file is None else str(_file)


def without_scope(needed: str) -> str:
    """The hint for whoever was told that there is not what the command would have made."""
    return (
        f"the token of {token_place()} has no scope for it: "
        f"`gapless key create NAME --scope {needed}` makes one that has"
    )


def find_token() -> str:
    """Empty where there is none."""
    token = os.environ.get(VARIABLE, "").strip() if _file is None else _read(_file)
    # The token itself must not show in what the HTTP client would say of it.
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UsageFailure(f"what {token_place()} holds is not a token: it has blanks or other characters")
    return token


def renewed_token() -> str:
    """What the file holds now; empty where there is none, or where it holds no token at this moment.

    A pipe gave its token away when it was read first, and may never end another time.
    """
    if _file is None or not os.path.isfile(_file):
        return ""
    try:
        return find_token()
    except UsageFailure:
        return ""


def _read(path: Path) -> str:
    try:
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UsageFailure(f"cannot read the token in {path}: {reason}") from error
    if not token:
        raise UsageFailure(f"there is no token in {path}")
    return token
