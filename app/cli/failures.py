"""How a command fails: one readable line on stderr and an exit code that a script can act on."""

from enum import IntEnum
from typing import Any

from app.cli.printable import printable


class Exit(IntEnum):
    OK = 0
    REFUSED = 1
    """The server refused the call, or some lines of a file."""
    USAGE = 2
    UNREACHABLE = 3
    """No server answered, or only that it cannot do the call for now."""
    INTERRUPTED = 130


class Failure(Exception):
    """Ends the command; `str()` is what the user reads."""

    exit_code = Exit.REFUSED


class UsageFailure(Failure):
    exit_code = Exit.USAGE


class Unreachable(Failure):
    exit_code = Exit.UNREACHABLE


class TooDeep(Failure):
    """The service refuses such data, but a SQL client may have published it."""

    def __init__(self) -> None:
        super().__init__("the answer of the server is nested too deeply to be read")


FIRST_KEY = (
    "the first key is made in the server's own database: `gapless key create` with its --data, or with its "
    "DATABASE_URL and without GAPLESS_URL"
)
HINTS = {
    "unauthorized": "set GAPLESS_TOKEN to the token of an active key, or give a file that holds it with "
    f"--token-file; {FIRST_KEY}",
    "topic_not_found": "`gapless topic create` makes one",
    "subscription_not_found": "`gapless sub create` makes one, as `gapless consume --create` does",
}
HINTS_WITH_TOKEN = {
    "unauthorized": f"{{place}} must hold the token of an active key; {FIRST_KEY}",
    "forbidden": "the key of {place} lacks a scope for that; an admin sees by `gapless key list` what it has",
}
HIDDEN_WITHOUT_SCOPE = ("topic_not_found", "subscription_not_found")

OTHER_ADDRESS = "give the address of the server with --url or GAPLESS_URL"

TEMPORARY = (408, 429, 502, 503, 504, 507)


class ReaderGone(Exception):
    """Whoever read standard output closed it, as `head` does."""


class Problem(Failure):
    """A problem+json answer."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        members: dict[str, Any],
        retry_after: float | None,
        *,
        token_place: str | None = None,
    ):
        """`token_place` is where the token of the call came from, if it had one: the answer may depend on its
        scopes."""
        super().__init__(printable(f"{detail} ({code})"))
        self.status = status
        self.code = code
        self.detail = detail
        self.members = members
        self.retry_after = retry_after
        self.exit_code = Exit.UNREACHABLE if self.temporary else Exit.REFUSED
        self.hint = self._hint(token_place)
        """What whoever typed the command can do about it. The command may know better than the code tells."""

    @property
    def temporary(self) -> bool:
        return self.status in TEMPORARY

    def _hint(self, token_place: str | None) -> str | None:
        if self.code == f"http_{self.status}" and self.status < 500:
            return f"that is not an answer of Gapless; {OTHER_ADDRESS}"
        if token_place is not None and self.code in HINTS_WITH_TOKEN:
            return HINTS_WITH_TOKEN[self.code].format(place=token_place)
        hint = HINTS.get(self.code)
        if token_place is not None and self.code in HIDDEN_WITHOUT_SCOPE:
            return f"{hint}; a key without a scope for it is told the same"
        return hint
