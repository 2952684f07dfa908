"""The `Idempotency-Key` header, and the fingerprint that tells two requests under one key apart."""

import hashlib
import re
from collections.abc import Mapping, Sequence

from app.errors import InvalidArgument

MAX_KEY = 255
MAX_STREAM_KEY = 240
"""Of a stream of lines: each of its chunks adds the number of its first line."""

_QUOTED = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*+)"')
_BARE = re.compile(r"[!#-+\--:<-\[\]-~]+")


def parse_key(header: str, most: int = MAX_KEY) -> str:
    """The key in a header: a structured-field string or, as most clients send it, the bare text.

    `"a"` and `a` are the same key. A bare key has no space, quote, backslash, comma or semicolon, which would
    make it look like something else.
    """
    text = header.strip(" \t")
    quoted = _QUOTED.fullmatch(text)
    key = re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else text
    if not quoted and not _BARE.fullmatch(text):
        raise InvalidArgument(
            'Idempotency-Key must be a string in double quotes, such as "8e03978e", or one word; in ASCII.',
            field="Idempotency-Key",
        )
    if not 0 < len(key) <= most:
        raise InvalidArgument(
            f"Idempotency-Key must have 1 to {most} characters.", field="Idempotency-Key", limit=most
        )
    return key


def chunk_key(key: str, first_line: int) -> str:
    """The key of the chunk of a streamed request that begins at this line."""
    return f"{key}:{first_line}"


def fingerprint(
    headers: Sequence[tuple[bytes, bytes]], body: bytes, options: Mapping[str, str | None]
) -> bytes:
    """A digest of all that a publish request says: content type, CloudEvents headers, options and body."""
    said = [(name.lower(), value) for name, value in headers if _SAYS.match(name.lower())]
    said += [(b"?" + name.encode(), value.encode()) for name, value in options.items() if value is not None]
    digest = hashlib.sha256()
    for name, value in sorted(said):
        digest.update(b"%d:%d:" % (len(name), len(value)) + name + value)
    digest.update(b"body:")
    digest.update(body)
    return digest.digest()


_SAYS = re.compile(rb"content-type\Z|ce-")
