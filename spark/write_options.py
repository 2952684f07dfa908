"""The options of writing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from spark.options import COMMON, READ, WRITE, Endpoint, Given, OptionError, endpoint

MIB = 1024 * 1024
CHUNK_EVENTS = {"direct": 10_000, "http": 500}
CHUNK_BYTES = {"direct": 8 * MIB, "http": 4 * MIB}
# The service takes requests of 16 MiB, in which bytes grow by a third and quotes double.
MOST_BYTES = {"direct": 256 * MIB, "http": 8 * MIB}
MOST_EVENTS = 10_000
"""In a request to the service, and in one transaction of events."""
JOB_ID = re.compile(r"[\x20-\x7e]{1,200}")


@dataclass(frozen=True)
class WriteOptions:
    endpoint: Endpoint
    partition: int | None
    source: str | None
    type: str | None
    chunk_events: int
    chunk_bytes: int
    job_id: str | None
    atomic: bool
    retry_seconds: int


def write_options(options: Mapping[str, str], *, streaming: bool = False) -> WriteOptions:
    given = Given(options, COMMON + WRITE, READ)
    to = endpoint(given)
    atomic = given.flag("atomic", False)
    if atomic and to.transport == "http":
        raise OptionError("atomic", "true", "false, as the transport is http; direct can do it")
    job_id = given.text("jobId")
    if job_id is not None and streaming:
        raise OptionError("jobId", job_id, "nothing in a stream, which is known by its checkpoint")
    if job_id is not None and not JOB_ID.fullmatch(job_id):
        raise OptionError("jobId", job_id, "1 to 200 printable ASCII characters")
    events = given.integer("chunkEvents", 1, MOST_EVENTS)
    size = given.integer("chunkBytes", 1, MOST_BYTES[to.transport])
    retry = given.integer("retryTimeout", 0, 86_400)
    return WriteOptions(
        endpoint=to,
        partition=given.integer("partition", 0, 255),
        source=given.text("source"),
        type=given.text("type"),
        chunk_events=CHUNK_EVENTS[to.transport] if events is None else events,
        chunk_bytes=CHUNK_BYTES[to.transport] if size is None else size,
        job_id=job_id,
        atomic=atomic,
        retry_seconds=120 if retry is None else retry,
    )
