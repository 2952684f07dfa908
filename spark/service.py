"""The transport `http`: reads pages from the service.

As JSON rather than lines: only there does `data` keep its line breaks.
"""

from binascii import a2b_base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pyarrow as pa

from spark.columns import batch_of, find_member, header_maps, members, repeated, skip_blank, timestamps
from spark.offsets import another_topic
from spark.options import Endpoint
from spark.patience import Patience
from spark.publisher import Unavailable
from spark.service_answers import Refusal, refusal_of, unreachable
from spark.transport import Bounds, GaplessError, Reader, TopicState, Trimmed, no_topic

FETCH_EVENTS = 1_000
TIMEOUT_SECONDS = 30.0
PATIENCE_SECONDS = 30.0
CONTACT_SECONDS = 5.0
"""For a service that never answered: as likely its address is wrong."""

_TEXTS = ("id", "source", "type", "subject", "key", "transaction_id", "datacontenttype")
_TIMES = ("time", "published_at")


class ServiceReader(Reader):
    """Pages of one partition. What passes is tried again, as long as the service asks for."""

    def __init__(self, endpoint: Endpoint, columns: tuple[str, ...], fetch_events: int | None) -> None:
        self._topic = endpoint.topic
        self._address = endpoint.address
        self._columns = columns
        self._fetch = min(fetch_events or FETCH_EVENTS, FETCH_EVENTS)
        self._path = f"/v1/topics/{endpoint.topic}"
        self._events = f"{self._path}/events"
        self._client = httpx.Client(
            base_url=endpoint.url, headers=endpoint.authorization, timeout=TIMEOUT_SECONDS
        )
        self._answered = False
        self._created: str | None = None

    def close(self) -> None:
        self._client.close()

    def state(self) -> TopicState:
        answer = self._get(self._path)
        with self._understanding(answer):
            found = answer.json()
            bounds = tuple(Bounds(int(each["earliest"]), int(each["tip"])) for each in found["bounds"])
            created = datetime.fromisoformat(found["created_at"]).astimezone(UTC).isoformat()
            epoch = found["epoch"]
            now = parsedate_to_datetime(answer.headers["date"])
            if not bounds or not isinstance(epoch, str):
                raise ValueError("a topic has partitions, and its database an epoch")
        if self._created not in (None, created):
            raise another_topic(self._topic, created)
        self._created = created
        return TopicState(now, epoch, created, bounds)

    def offset_at(self, partition: int, time: datetime) -> int:
        start = time.astimezone(UTC).isoformat()
        answer = self._get(self._events, {"partition": partition, "limit": 1, "from": start})
        with self._understanding(answer):
            page = answer.json()
            events = page["events"]
            return int(events[0]["offset"] if events else page["next_offset"])

    def read(self, partition: int, first: int, until: int) -> Iterator[pa.RecordBatch]:
        if self._created is None:
            self.state()
        while first < until:
            try:
                batch = self._page(partition, first, until)
            except Unavailable:
                raise
            except GaplessError:
                # As likely this is another topic, of which it says nothing.
                self.state()
                raise
            first += batch.num_rows
            if first == until:
                # Pages do not say of which topic they are: it was the same one before the first of them.
                self.state()
            yield batch

    def _page(self, partition: int, first: int, until: int) -> pa.RecordBatch:
        limit = min(self._fetch, until - first)
        try:
            answer = self._get(self._events, {"partition": partition, "offset": first, "limit": limit})
            events = events_of(answer.text)
            offsets = [int(event["offset"]) for event in events]
        except (ValueError, KeyError, TypeError, RecursionError, IndexError):
            raise GaplessError(
                f"the page of partition {partition} from offset {first} is not readable"
            ) from None
        if not offsets or offsets != list(range(first, first + len(offsets))):
            raise GaplessError(
                f"partition {partition} was asked for offset {first} and brought {offsets[:1]}"
            )
        return self._batch(partition, offsets, events)

    @contextmanager
    def _understanding(self, answer: httpx.Response) -> Iterator[None]:
        try:
            yield
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError):
            kind = answer.headers.get("content-type", "something without a type")
            raise GaplessError(
                f"{self._address} is not a Gapless service: GET {answer.request.url.path} brought {kind} of"
                f" {len(answer.content)} bytes that the API does not know"
            ) from None

    def _batch(self, partition: int, offsets: list[int], events: list[dict[str, Any]]) -> pa.RecordBatch:
        arrays = {
            "topic": repeated(self._topic, len(offsets), pa.string()),
            "partition": repeated(partition, len(offsets), pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
        }
        for name in (*_TEXTS, "data"):
            arrays[name] = pa.array([event.get(name) for event in events], pa.string())
        for name in _TIMES:
            arrays[name] = timestamps([event.get(name) for event in events])
        if "headers" in self._columns:
            arrays["headers"] = header_maps(pa.array([event.get("headers") for event in events], pa.string()))
        encoded = [event.get("data_base64") for event in events]
        decoded = [None if text is None else a2b_base64(text) for text in encoded]
        arrays["data_bytes"] = pa.array(decoded, pa.binary())
        return batch_of(self._columns, arrays)

    def _get(self, path: str, query: Mapping[str, Any] | None = None) -> httpx.Response:
        patience = Patience(PATIENCE_SECONDS if self._answered else CONTACT_SECONDS)
        while True:
            asked = 0.0
            try:
                answer = self._client.get(path, params=query)
            except httpx.RequestError as error:
                said = unreachable(self._address, error)
            else:
                if not self._answered:
                    self._answered, patience = True, Patience(PATIENCE_SECONDS)
                if answer.is_success:
                    return answer
                refusal = refusal_of(answer)
                if not refusal.passes:
                    raise self._failure(refusal, query or {})
                said = f"the service cannot answer now: {refusal}"
                asked = refusal.retry_after_seconds
            if not patience.pause(asked):
                raise Unavailable(said)

    def _failure(self, refusal: Refusal, query: Mapping[str, Any]) -> GaplessError:
        if refusal.code == "offset_trimmed":
            return Trimmed(query["partition"], query["offset"], refusal.members["earliest"])
        if refusal.code == "topic_not_found":
            return no_topic(self._topic)
        return GaplessError(f"the service refused: {refusal}")


def events_of(page: str) -> list[dict[str, Any]]:
    """The members of each event, `data` and `headers` as the JSON text that was sent."""
    at = skip_blank(page, find_member(page, "events") + 1)
    events = []
    while page[at] != "]":
        found, at = members(page, at)
        event = {name: value for name, (_, _, value) in found.items()}
        for name in ("data", "headers"):
            if name in found:
                start, end, _ = found[name]
                event[name] = page[start:end]
        events.append(event)
        at = skip_blank(page, at)
        if page[at] == ",":
            at = skip_blank(page, at + 1)
    return events
