"""Numbered lines from a file, a gzip file or a pipe, cut into chunks.

The cut depends on the bytes alone, so the same input always gives the same chunks: the numbers of their first
lines can name them in idempotency keys. Only a pipe that nobody means to resume is also cut where its writer
lets wait.
"""

import os
import select
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from app.cli.failures import Failure, UsageFailure

READ_BYTES = 256 * 1024
MAX_LINE_BYTES = 16 * 1024 * 1024
CHUNK_EVENTS = 1_000
CHUNK_BYTES = 1024 * 1024
PAUSE_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 0.5
"""Of several waits that are each too short for a pause."""
GZIP_MAGIC = b"\x1f\x8b"
HEAD_BYTES = 1024 * 1024


class Line(NamedTuple):
    """`text` is None for a line too long to be an event; its bytes are not kept."""

    number: int
    text: bytes | None
    end: int = 0
    """The raw bytes of the input up to its end; in a gzip file about as many."""


class Chunk(NamedTuple):
    lines: list[Line]
    last: bool = False
    """The input ended in it."""


class Source:
    """An open input. `bytes_read` counts raw bytes, so that it compares with `size` also for gzip."""

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self.name = name
        self.bytes_read = 0
        status = os.fstat(descriptor)
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else None

    def blocks(self) -> Iterator[bytes]:
        """Raw blocks; an empty one says that the writer pauses, or let wait for long since the last."""
        waited = 0.0
        while True:
            if self.size is None:
                began = time.monotonic()
                left = min(PAUSE_SECONDS, LONGEST_WAIT_SECONDS - waited)
                ready = select.select([self._descriptor], [], [], left)[0]
                waited += time.monotonic() - began
                if not ready or waited >= LONGEST_WAIT_SECONDS:
                    waited = 0.0
                    yield b""
                    continue
            block = os.read(self._descriptor, READ_BYTES)
            if not block:
                return
            self.bytes_read += len(block)
            yield block

    def close(self) -> None:
        os.close(self._descriptor)


def open_file(path: Path) -> Source:
    try:
        return Source(os.open(path, os.O_RDONLY | os.O_CLOEXEC), str(path))
    except OSError as error:
        raise UsageFailure(f"cannot read {path}: {error.strerror}") from error


def open_stdin() -> Source:
    return Source(os.dup(0), "standard input")


def content_digest(path: Path) -> str:
    """Names a file by its size, head and tail: a renamed copy is the same file, a grown one is not."""
    import hashlib

    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest = hashlib.sha256(str(size).encode())
        digest.update(file.read(HEAD_BYTES))
        file.seek(max(0, size - HEAD_BYTES))
        digest.update(file.read(HEAD_BYTES))
    return digest.hexdigest()[:32]


def lines(
    blocks: Iterator[bytes], name: str, bytes_read: Callable[[], int] = lambda: 0
) -> Iterator[Line | None]:
    """Every line with its number, from 1; None where the writer pauses. Blank lines only count.

    `bytes_read` tells how many raw bytes the blocks so far were.
    """
    number = 0
    high = 0
    rest = b""
    too_long = False
    for block in _plain(blocks, name):
        if not block:
            yield None
            continue
        low, high = high, bytes_read()
        at = -len(rest)
        *whole, rest = (rest + block).split(b"\n")
        for text in whole:
            number += 1
            at += len(text) + 1
            if too_long or text.strip():
                end = low + (high - low) * at // len(block)
                yield Line(number, None if too_long else text.rstrip(b"\r"), end)
            too_long = False
        if len(rest) > MAX_LINE_BYTES:
            too_long, rest = True, b""
    if too_long or rest.strip():
        yield Line(number + 1, None if too_long else rest.rstrip(b"\r"), high)


def chunks(
    numbered: Iterator[Line | None],
    *,
    cut_at_pauses: bool,
    events: int = CHUNK_EVENTS,
    size: int = CHUNK_BYTES,
) -> Iterator[Chunk]:
    chunk: list[Line] = []
    held = 0
    for line in numbered:
        if line is None:
            if cut_at_pauses and chunk:
                yield Chunk(chunk)
                chunk, held = [], 0
            continue
        length = len(line.text or b"")
        if chunk and (len(chunk) >= events or held + length > size):
            yield Chunk(chunk)
            chunk, held = [], 0
        chunk.append(line)
        held += length
    if chunk:
        yield Chunk(chunk, last=True)


def _plain(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The blocks as they are, or unpacked when they begin as gzip does."""
    head = b""
    for block in blocks:
        head += block
        if not block:
            yield b""
        if len(head) >= len(GZIP_MAGIC):
            break
    if not head.startswith(GZIP_MAGIC):
        if head:
            yield head
        yield from blocks
        return
    yield from _unpacked(head, blocks, name)


def _unpacked(head: bytes, blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    pending: bytes | None = head
    try:
        while pending is not None:
            if not pending:
                yield b""
            while pending:
                if unpacker.eof:
                    unpacker = zlib.decompressobj(wbits=31)
                if text := unpacker.decompress(pending):
                    yield text
                # A file may be several gzip members in a row, padded with zeros.
                pending = unpacker.unused_data.lstrip(b"\0")
            pending = next(blocks, None)
    except zlib.error as error:
        raise Failure(f"{name} is damaged: {error}") from error
    if not unpacker.eof:
        raise Failure(f"{name} ends in the middle of its gzip data")
