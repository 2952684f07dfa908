"""Where a tail stopped, kept in a file so that a killed one goes on; and output that holds each event exactly
once.

The position is written after the lines it stands for, in one rename. Lines written after the newest
position are therefore the only ones that can come again: on standard output they are repeated, in an output
file they are cut off before the tail goes on, because the position also says how long the file was.
"""

import fcntl
import os
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from app.cli.failures import Failure, UsageFailure
from app.cli.options import write_lines


class Position(msgspec.Struct, omit_defaults=True):
    topics: list[str]
    last_event_id: str
    bytes: int | None = None
    """Length of the output file that belongs to the id."""


class PositionFile:
    def __init__(self, path: Path, topics: list[str]) -> None:
        self._path = path
        self._fresh = path.with_name(path.name + ".new")
        self._topics = sorted(topics)

    def load(self) -> Position | None:
        self.check()
        try:
            stored = msgspec.json.decode(self._path.read_bytes(), type=Position)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageFailure(f"cannot read the position in {self._path}: {error.strerror}") from error
        except msgspec.MsgspecError as error:
            raise Failure(f"{self._path} does not hold a position: {error}") from error
        if stored.topics != self._topics:
            raise UsageFailure(f"{self._path} is the position of a tail of {', '.join(stored.topics)}")
        return stored

    def check(self) -> None:
        """That positions can be kept here, before there is one to be lost."""
        folder = self._path.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise UsageFailure(f"cannot keep the position in {self._path}: {folder} is no folder to write to")

    def save(self, last_event_id: str, length: int | None = None) -> None:
        stored = Position(topics=self._topics, last_event_id=last_event_id, bytes=length)
        try:
            self._fresh.write_bytes(msgspec.json.encode(stored))
            self._fresh.replace(self._path)
        except OSError as error:
            raise Failure(f"cannot keep the position in {self._path}: {error.strerror}") from error


class Sink(Protocol):
    def start(self) -> str | None:
        """The id to go on from, if there is one."""

    def write(self, lines: list[bytes], last_event_id: str) -> None:
        """Takes the lines, then remembers the id."""


class StandardOutput:
    def __init__(self, position: PositionFile | None) -> None:
        self._position = position

    def start(self) -> str | None:
        stored = self._position.load() if self._position else None
        return stored.last_event_id if stored else None

    def write(self, lines: list[bytes], last_event_id: str) -> None:
        write_lines(lines)
        if self._position and last_event_id:
            self._position.save(last_event_id)


class OutputFile:
    """A file that one tail at a time appends to."""

    def __init__(self, path: Path, position: PositionFile) -> None:
        self._path = path
        self._position = position
        try:
            self._file: BinaryIO = path.open("ab")
        except OSError as error:
            raise UsageFailure(f"cannot write {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Failure(f"another tail is writing {path}") from error

    def start(self) -> str | None:
        stored = self._position.load()
        length = self._file.seek(0, os.SEEK_END)
        if stored is None or stored.bytes is None:
            if length:
                raise UsageFailure(
                    f"{self._path} is not empty and has no position beside it; give another --output"
                )
            if stored is None:
                return None
            # Of standard output until now. What is written here from now on can be cut off again.
            self._position.save(stored.last_event_id, 0)
            return stored.last_event_id
        if length < stored.bytes:
            raise Failure(f"{self._path} is shorter than its position says: lines are missing from it")
        self._file.truncate(stored.bytes)
        self._file.seek(stored.bytes)
        return stored.last_event_id

    def write(self, lines: list[bytes], last_event_id: str) -> None:
        try:
            self._file.write(b"".join(line + b"\n" for line in lines))
            self._file.flush()
            if last_event_id:
                # The position must never reach the disk before the lines that it vouches for.
                os.fdatasync(self._file.fileno())
        except OSError as error:
            raise Failure(f"cannot write {self._path}: {error.strerror}") from error
        if last_event_id:
            self._position.save(last_event_id, self._file.tell())
