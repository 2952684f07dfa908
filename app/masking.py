"""Secrets are shown as `***` wherever text leaves the process for people: logs, errors, answers."""

import os
import re
from urllib.parse import unquote

_USER = re.compile(r"//[^:/@\s]*:")
_PASSWORD = re.compile(r"(password=)[^&\s]*")
_TOKEN = re.compile(r"(gpl[swt]_)[A-Za-z0-9_-]{20,}")
_BEARER = re.compile(r"(bearer|basic)\s+[A-Za-z0-9._~+/=-]+", re.IGNORECASE)
# In the paths of calls about a lease. What comes before the secret says which lease it is, and stays.
_LEASE = re.compile(r"(v1(?:(?:\.|%2E)\d+){3}(?:\.|%2E))[0-9a-f]+", re.IGNORECASE)
_QUERY = re.compile(r"((?:ticket|token|api_key|jwt)=)[^&\s]+")


def without_password(text: str) -> str:
    """Hide the passwords of any connection strings in `text`."""
    if "//" in text:
        text = "".join(map(_hide, re.split(r"(\s+)", text)))
    return _PASSWORD.sub(r"\1***", text) if "password=" in text else text


def _hide(word: str) -> str:
    """A password may hold anything, so it ends at the last "@"."""
    user, end = _USER.search(word), word.rfind("@")
    return word if user is None or end < user.end() else f"{word[: user.end()]}***{word[end:]}"


def place_of(dsn: str) -> str:
    """Where a connection string leads to, for people: hosts and ports and nothing else of it."""
    after = without_password(dsn).partition("//")[2]
    named, _, query = after.rpartition("@")[2].partition("?")
    hosts = named.partition("/")[0]
    given = dict(pair.partition("=")[::2] for pair in query.split("&"))
    hosts = unquote(hosts or given.get("host", "") or os.environ.get("PGHOST", "")) or "localhost"
    if hosts.startswith("/"):
        return f"the socket in {hosts}"
    host, colon, port = hosts.rpartition(":")
    if not colon or hosts.endswith("]"):
        host, port = hosts, given.get("port", "") or os.environ.get("PGPORT", "5432")
    return hosts if "," in hosts else f"{host} port {port}"


def without_secrets(text: str) -> str:
    """The same for tokens and credentials of requests as well."""
    text = without_password(text)
    if "gpl" in text:
        text = _TOKEN.sub(r"\1***", text)
    folded = text.lower()
    if "v1" in folded:
        text = _LEASE.sub(r"\1***", text)
    if "bearer" in folded or "basic" in folded:
        text = _BEARER.sub(r"\1 ***", text)
    return _QUERY.sub(r"\1***", text) if "=" in text else text
