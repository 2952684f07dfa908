"""A lane delivers what its stream has not seen, in order, whatever the distance between stream and ring."""

from hypothesis import given
from hypothesis import strategies as st

from app.api.sse import SseFrames
from app.live.bucket import Cursor
from app.live.lane import Lane
from app.live.position import Resume, TopicPosition, event_id, parse_event_id
from app.live.ring import Ring
from app.live.watched import Watched
from app.model import TopicId
from tests.support.nouns import topic
from tests.support.sse import Message, Parser

EPOCH = "5f0c1f1e2a3b"
PARTITIONS = 3
FRAMES = SseFrames()

appends = st.lists(st.integers(0, PARTITIONS - 1), max_size=30)
vectors = st.lists(st.integers(0, 12), min_size=PARTITIONS, max_size=PARTITIONS)


def ignore(_: Cursor) -> None:
    pass


class Scene:
    """A topic that starts at some position, and one stream of it."""

    def __init__(self, tips: list[int], before: list[int], seen: list[int], *, alone: bool) -> None:
        watched = Watched(topic(partitions=PARTITIONS), ignore)
        self.ring = Ring(watched.topic, EPOCH, tips, FRAMES, max_events=1_000)
        watched.open_ring(self.ring)
        self.append(before)
        self.lane = Lane(watched, self.ring, seen, FRAMES, self._id_line, alone=alone)
        self._parser = Parser()

    def append(self, partitions: list[int]) -> None:
        for partition in partitions:
            offset = self.ring.seen[partition] + 1
            self.ring.append(partition, offset, b"data: %d:%d\n\n" % (partition, offset))
        self.ring.evict(1 << 60)

    def taken(self, max_bytes: int) -> list[Message]:
        messages = []
        while data := self.lane.take(max_bytes, max_bytes):
            messages += self._parser.feed(data)
        return messages

    def _id_line(self) -> bytes:
        return FRAMES.id_line(event_id(EPOCH, [self.lane.mark]))


@given(vectors, appends, vectors, appends, appends, st.booleans(), st.sampled_from([1, 600, 1 << 20]))
def test_nothing_is_skipped_or_repeated_and_ids_say_exactly_what_was_delivered(
    tips: list[int],
    before: list[int],
    ahead: list[int],
    first: list[int],
    second: list[int],
    alone: bool,
    max_bytes: int,
) -> None:
    """The stream is at the ring's start or beyond it, maybe even beyond its end, in each partition."""
    seen = [tip + more for tip, more in zip(tips, ahead, strict=True)]
    scene = Scene(tips, before, list(seen), alone=alone)
    assert not scene.lane.behind
    messages = scene.taken(max_bytes)
    for more in (first, second):
        scene.append(more)
        messages += scene.taken(max_bytes)
    for message in messages:
        partition, offset = map(int, message.data.split(":"))
        assert offset == seen[partition] + 1
        seen[partition] = offset
        assert message.id is not None
        assert parse_event_id(message.id) == Resume(EPOCH, {"t": _listed(seen)})
    assert all(mine >= tip for mine, tip in zip(seen, scene.ring.seen, strict=True))


@given(vectors.filter(any), appends)
def test_a_stream_short_of_what_the_ring_holds_has_to_read_the_database(
    tips: list[int], before: list[int]
) -> None:
    seen = [max(0, tip - 1) for tip in tips]
    scene = Scene(tips, before, seen, alone=True)
    assert scene.lane.behind
    assert scene.lane.take(1 << 20, 1 << 20) == b""


def _listed(seen: list[int]) -> TopicPosition:
    return TopicPosition(TopicId(1), {partition: offset for partition, offset in enumerate(seen) if offset})
