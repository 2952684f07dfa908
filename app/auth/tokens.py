"""Tokens: 256 random bits behind a prefix that tells what they are, stored as their SHA-256 only.

A token is looked up by its hash. What a comparison could leak by its time is therefore the hash of what the
caller sent, from which nothing can be learned about the hash of a token that exists.
"""

import hashlib
import re
import secrets

KEY_PREFIX = "gpls_"
SESSION_PREFIX = "gplw_"
TICKET_PREFIX = "gplt_"

RANDOM_CHARACTERS = 43
_BODY = f"[A-Za-z0-9_-]{{{RANDOM_CHARACTERS}}}"
_KEY_OR_SESSION = re.compile(f"(?:{KEY_PREFIX}|{SESSION_PREFIX}){_BODY}")
_TICKET = re.compile(TICKET_PREFIX + _BODY)


def new_token() -> str:
    return _new(KEY_PREFIX)


def new_session_token() -> str:
    """What the cookie of a browser holds."""
    return _new(SESSION_PREFIX)


def new_ticket() -> str:
    return _new(TICKET_PREFIX)


def is_token(text: str) -> bool:
    """Whether it looks like the token of a key or a session; others are not worth a query."""
    return _KEY_OR_SESSION.fullmatch(text) is not None


def is_ticket(text: str) -> bool:
    return _TICKET.fullmatch(text) is not None


def hash_token(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _new(prefix: str) -> str:
    return prefix + secrets.token_urlsafe(32)
