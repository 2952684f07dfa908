"""The other end of `tests.bench.worker`: parameters first, then a command per line, an answer per line."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

Handler = Callable[[dict[str, Any]], Any]


def read_message() -> Any:
    """None when the other end is gone."""
    line = sys.stdin.readline()
    return json.loads(line) if line else None


def answer(value: Any) -> None:
    print(json.dumps(value), flush=True)


def serve(start: Callable[[dict[str, Any]], Handler]) -> None:
    """`start` takes the parameters, prepares everything and answers what handles commands."""
    try:
        handle = start(read_message())
        answer("ready")
        while (message := read_message()) is not None:
            answer(handle(message))
    except Exception as error:
        answer({"failed": repr(error)})
        raise


async def serve_async(
    start: Callable[[dict[str, Any]], Awaitable[Callable[[dict[str, Any]], Awaitable[Any]]]],
) -> None:
    try:
        handle = await start(read_message())
        answer("ready")
        while (message := await asyncio.to_thread(read_message)) is not None:
            answer(await handle(message))
    except Exception as error:
        answer({"failed": repr(error)})
        raise
