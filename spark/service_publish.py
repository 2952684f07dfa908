"""The transport `http`: publishes by the service's batch endpoint, with the bytes of `data` as they are."""

from binascii import b2a_base64
from collections.abc import Iterator
from contextlib import contextmanager
from json.encoder import encode_basestring as quote
from typing import Any

import httpx
import pyarrow as pa

from spark.columns import insist_on_json
from spark.options import Endpoint
from spark.publisher import (
    Conflict,
    Published,
    Publisher,
    RowRefused,
    Unavailable,
    insist_on_partition,
    spans_of,
)
from spark.service_answers import Refusal, refusal_of, unreachable
from spark.transport import GaplessError, no_topic

TIMEOUT_SECONDS = 60.0

_TEXTS = ("key", "type", "id", "source", "subject", "datacontenttype", "transaction_id")


class ServicePublisher(Publisher):
    def __init__(self, endpoint: Endpoint) -> None:
        self._topic = endpoint.topic
        self._address = endpoint.address
        self._path = f"/v1/topics/{endpoint.topic}"
        self._client = httpx.Client(
            base_url=endpoint.url, headers=endpoint.authorization, timeout=TIMEOUT_SECONDS
        )

    def close(self) -> None:
        self._client.close()

    def check(self, partition: int | None) -> None:
        found = self._ask("GET", self._path, 0)
        with self._understanding():
            partitions = int(found["partitions"])
        insist_on_partition(self._topic, partitions, partition)

    def created(self) -> str:
        found = self._ask("GET", self._path, 0)
        with self._understanding():
            return str(found["created_at"])

    def publish(self, rows: pa.RecordBatch, first_row: int, partition: int | None, key: str) -> Published:
        found = self._ask(
            "POST",
            f"{self._path}/events",
            first_row,
            content=_body(rows, first_row),
            params={} if partition is None else {"partition": partition},
            headers={"Content-Type": "application/json", "Idempotency-Key": _quoted(key)},
        )
        with self._understanding():
            partitions = [int(event["partition"]) for event in found["events"]]
            offsets = [int(event["offset"]) for event in found["events"]]
            if len(offsets) != rows.num_rows:
                raise ValueError("each event has a place")
            return Published(spans_of(partitions, offsets), bool(found["replayed"]))

    def _ask(self, method: str, path: str, first_row: int, **request: Any) -> Any:
        try:
            answer = self._client.request(method, path, **request)
        except httpx.RequestError as error:
            raise Unavailable(unreachable(self._address, error)) from None
        if not answer.is_success:
            raise self._failure(refusal_of(answer), first_row)
        with self._understanding():
            return answer.json()

    @contextmanager
    def _understanding(self) -> Iterator[None]:
        """Something else answers at the address, such as a proxy's page for people."""
        try:
            yield
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise GaplessError(
                f"{self._address} is not a Gapless service: its answer cannot be read"
            ) from None

    def _failure(self, refusal: Refusal, first_row: int) -> GaplessError:
        if refusal.passes:
            return Unavailable(f"the service cannot do it now: {refusal}", refusal.retry_after_seconds)
        if refusal.code == "topic_not_found":
            return no_topic(self._topic)
        if refusal.code == "idempotency_conflict":
            return Conflict(f"the service refused: {refusal}")
        match refusal.members.get("errors"):
            case [{"index": int(index), "code": str(reason), "detail": str(why)} as first, *_]:
                where = str(first.get("pointer", "")).strip("/") or None
                return RowRefused(first_row + index, f"{reason}: {why}", where)
        return GaplessError(f"the service refused: {refusal}")


def _body(rows: pa.RecordBatch, first_row: int) -> bytes:
    columns = {name: _values(rows, name) for name in rows.schema.names}
    events = []
    for place in range(rows.num_rows):
        members = [
            f'"{name}":{quote(columns[name][place])}'
            for name in _TEXTS
            if name in columns and columns[name][place] is not None
        ]
        if "time" in columns and columns["time"][place] is not None:
            members.append(f'"time":"{columns["time"][place].isoformat()}Z"')
        if "headers" in columns and columns["headers"][place] is not None:
            members.append(f'"headers":{columns["headers"][place]}')
        if "data" in columns and columns["data"][place] is not None:
            text = columns["data"][place]
            # Else it could end its event and begin others; the service judges the rest.
            try:
                insist_on_json(text)
            except (ValueError, RecursionError) as error:
                said = "nested too deep" if isinstance(error, RecursionError) else str(error)
                raise RowRefused(first_row + place, f"it is not JSON: {said}", "data") from None
            members.append(f'"data":{text}')
        else:
            members.append(
                f'"data_base64":"{b2a_base64(columns["data_bytes"][place], newline=False).decode()}"'
            )
        events.append(f"{{{','.join(members)}}}")
    return f'{{"events":[{",".join(events)}]}}'.encode()


def _values(rows: pa.RecordBatch, name: str) -> list[Any]:
    column = rows.column(name)
    # Without its zone, which is UTC, a time needs no database of zones.
    found: list[Any] = (column.cast(pa.timestamp("us")) if name == "time" else column).to_pylist()
    return found


def _quoted(key: str) -> str:
    escaped = key.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
