"""What a long publish shows on stderr while it runs."""

import sys
import time

from app.cli.printable import printable

REFRESH_SECONDS = 0.2
QUIET_REFRESH_SECONDS = 1.0


class Progress:
    """One line that is rewritten on a terminal, one line a second elsewhere; silent unless wanted."""

    def __init__(self, wanted: bool | None) -> None:
        self._terminal = sys.stderr.isatty()
        self._wanted = self._terminal if wanted is None else wanted
        self._started = time.monotonic()
        self._next = self._started
        self._width = 0

    @property
    def seconds(self) -> float:
        return max(time.monotonic() - self._started, 1e-6)

    def show(self, events: int, part: float | None) -> None:
        """`part` is how much of the input is done, from 0 to 1, where its size is known."""
        now = time.monotonic()
        if not self._wanted or now < self._next:
            return
        self._next = now + (REFRESH_SECONDS if self._terminal else QUIET_REFRESH_SECONDS)
        text = f"{events:,} events · {rate(events, self.seconds)}"
        if part is not None and part > 0:
            text += f" · {part:.0%} · {duration(self.seconds / part - self.seconds)} left"
        self._write(text)

    def note(self, text: str) -> None:
        """A line that stays, whatever is wanted."""
        self.clear()
        print(printable(text), file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._width:
            self._write("")
            sys.stderr.write("\r")
            sys.stderr.flush()

    def _write(self, text: str) -> None:
        if not self._terminal:
            if text:
                print(text, file=sys.stderr, flush=True)
            return
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)


def rate(events: int, seconds: float) -> str:
    per_second = events / seconds
    if 0 < per_second < 0.1:
        return "less than 0.1/s"
    return f"{per_second:,.0f}/s" if per_second >= 10 else f"{per_second:.1f}/s"


def duration(seconds: float) -> str:
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
