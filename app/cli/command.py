"""Runs the command of `gapless consume`: one process per event, in a process group of its own.

Its data is a file on standard input and its messages come back through a pipe that nobody waits for, so
neither a command that does not read nor one that leaves children behind can hold up the consumer.
"""

import asyncio
import os
import select
import signal
import stat
import sys
import tempfile
from contextlib import suppress

from app.cli.delivery import Delivered, Event

ATTRIBUTES = (
    "partition", "offset", "id", "source", "type", "subject", "time", "published_at", "key",
    "datacontenttype", "transaction_id",
)  # fmt: skip
REASON_LENGTH = 500
TAIL_BYTES = 8192
CANNOT_RUN = (126, 127)
"""How a shell says that it found no command, or none that it may run: no event is to blame for that."""
LAST_SECONDS = 1.0
"""Between asking a command to end and making it."""


class Interrupted(Exception):
    """Nothing can be said of the event: the command was made to end, or could not be run at all."""


class Commands:
    def __init__(
        self, command: str, constant: dict[str, str], *, timeout: float | None, whole_event: bool
    ) -> None:
        self._command = command
        names = {_variable(name) for name in (*ATTRIBUTES, "attempt")}
        # What one of our own kind was given must not look like an attribute of the event.
        self._inherited = {k: v for k, v in os.environ.items() if k not in names} | constant
        self._timeout = timeout
        self._whole_event = whole_event
        self._running: set[asyncio.subprocess.Process] = set()
        self._ended = False
        self.reader_gone = False
        """Whoever read what the commands print closed it, as `head` does."""
        self.broken: str | None = None
        """Why no event could be handled by this command."""

    @property
    def usable(self) -> bool:
        return not self.reader_gone and self.broken is None

    async def run(self, one: Delivered, attempt: int) -> str | None:
        """Why it failed; None if it did not."""
        if self._ended:
            raise Interrupted
        messages = Messages()
        try:
            with tempfile.TemporaryFile() as data:
                data.write(one.text + b"\n" if self._whole_event else _data(one.event))
                data.seek(0)
                process = await asyncio.create_subprocess_exec(
                    "/bin/sh", "-c", self._command,
                    stdin=data, stderr=messages.end, env=self._environment(one.event, attempt),
                    start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            messages.close()
            raise self._give_up(error.strerror or str(error)) from error
        self._running.add(process)
        messages.follow()
        try:
            reason = await self._wait(process)
        finally:
            self._running.discard(process)
            messages.close()
        if reason is None or reason.startswith("did not"):
            return reason
        if process.returncode in CANNOT_RUN:
            raise self._give_up(": ".join(filter(None, (reason, messages.last_line))))
        return messages.last_line or reason

    def end(self, *, at_once: bool = False) -> None:
        """Make all commands end, and start none any more."""
        self._ended = True
        for process in self._running:
            _signal(process, signal.SIGKILL if at_once else signal.SIGTERM)
        if not at_once:
            asyncio.get_running_loop().call_later(LAST_SECONDS, lambda: self.end(at_once=True))

    def _give_up(self, why: str) -> Interrupted:
        self._ended = True
        self.broken = self.broken or why
        return Interrupted()

    async def _wait(self, process: asyncio.subprocess.Process) -> str | None:
        try:
            async with asyncio.timeout(self._timeout):
                code = await process.wait()
        except TimeoutError:
            await _end(process)
            return f"did not end within {self._timeout:g} s"
        except asyncio.CancelledError:
            _signal(process, signal.SIGKILL)
            raise
        if code == 0:
            return None
        if _is_unread(sys.stdout.fileno()):
            # Nothing is wrong with the event, and the next one would fail in the same way.
            self._ended = self.reader_gone = True
        if self._ended:
            raise Interrupted
        return f"exit code {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"

    def _environment(self, event: Event, attempt: int) -> dict[str, str]:
        values = {name: getattr(event, name) for name in ATTRIBUTES} | {"attempt": attempt}
        given = {_variable(name): str(value) for name, value in values.items() if value is not None}
        return self._inherited | given


class Messages:
    """What a command says on standard error: passed on as it comes, and its last line kept."""

    def __init__(self) -> None:
        self._read, self.end = os.pipe()
        os.set_blocking(self._read, False)
        self._tail = b""

    def follow(self) -> None:
        os.close(self.end)
        self.end = -1
        asyncio.get_running_loop().add_reader(self._read, self._pass_on)

    def close(self) -> None:
        if self.end >= 0:
            os.close(self.end)
        elif self._read >= 0:
            self._pass_on()
        if self._read >= 0:
            self._stop()

    @property
    def last_line(self) -> str | None:
        lines = self._tail.decode(errors="replace").splitlines()
        printable = ("".join(c if c.isprintable() else " " for c in line).strip() for line in lines)
        said = [line for line in printable if line]
        return said[-1][:REASON_LENGTH] if said else None

    def _pass_on(self) -> None:
        while True:
            try:
                block = os.read(self._read, 65536)
            except BlockingIOError:
                return
            if not block:
                self._stop()
                return
            self._tail = (self._tail + block)[-TAIL_BYTES:]
            with suppress(OSError):
                sys.stderr.buffer.write(block)
                sys.stderr.buffer.flush()

    def _stop(self) -> None:
        asyncio.get_running_loop().remove_reader(self._read)
        os.close(self._read)
        self._read = -1


def _data(event: Event) -> bytes:
    """JSON ends with a line end, as a whole event does too; bytes are given as they are."""
    return bytes(event.data) + b"\n" if event.data_base64 is None else event.data_base64


def _is_unread(descriptor: int) -> bool:
    """Whether it is a pipe that nobody reads any more."""
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _variable(name: str) -> str:
    return f"GAPLESS_{name.upper()}"


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """To the whole process group, which has the number of its first process."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)


async def _end(process: asyncio.subprocess.Process) -> None:
    _signal(process, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_SECONDS):
            await process.wait()
    _signal(process, signal.SIGKILL)
    await process.wait()
