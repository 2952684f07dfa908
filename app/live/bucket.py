"""Which logs a process sleeps on, and which it reads in every cycle.

Sleep locks are shared out over a fixed number of keys; all watched logs of one key sleep and wake
together. While a bucket sleeps, every commit to one of its logs sends a notification. That is cheap
for a quiet log and dear for a busy one, as notifying commits queue up behind a database-wide lock:
a bucket that gets much is kept awake and read at the pace of the tail instead.
"""

from app.model import Offset, TailPosition, TopicId

HOT_SECONDS = 0.01
HOT_READS = 3
HOT_PAUSES = 2
LINGER_SECONDS = 0.1
LONGEST_LINGER_SECONDS = 1.0
AWAKE_READ_SECONDS = 0.01
FIRST_RETRY_SECONDS = 0.001
LAST_RETRY_SECONDS = 0.05


class Cursor:
    """Where the tail is in one log: it has everything up to `tip`.

    `wanted` while somebody waits for more, `dirty` when there may be more than it has. Until
    `quiet_until` it need not be looked at, as what came next was just given to it without reading.
    `apart` while it cannot be read together with others.
    """

    __slots__ = ("apart", "bucket", "dirty", "partition", "quiet_until", "tip", "topic_id", "wanted")

    def __init__(self, topic_id: TopicId, partition: int) -> None:
        self.topic_id = topic_id
        self.partition = partition
        self.tip = 0
        self.quiet_until = float("-inf")
        self.wanted = False
        self.dirty = True
        self.apart = False
        self.bucket: Bucket | None = None

    @property
    def log(self) -> tuple[TopicId, int]:
        return (self.topic_id, self.partition)

    @property
    def position(self) -> TailPosition:
        return TailPosition(self.topic_id, self.partition, Offset(self.tip + 1))


class Bucket:
    """The watched logs of one sleep key. Starts awake, in the mind to sleep at once."""

    def __init__(self, key: int) -> None:
        self.key = key
        self.cursors: set[Cursor] = set()
        self.asleep = False
        self.due = 0.0
        self.last_events = float("-inf")
        self._linger = 0.0
        self._retry = FIRST_RETRY_SECONDS
        self._hot_reads = 0

    def add(self, cursor: Cursor) -> None:
        cursor.bucket = self
        self.cursors.add(cursor)

    def record(self, now: float, events: int, busy_buckets: int, pause: float) -> bool:
        """Note what was delivered; answers whether a sleeping bucket should be kept awake from now on.

        It should after several deliveries in a row, close together: the more buckets are busy, the fewer
        notifications each of them may cause. Deliveries that are `pause` seconds apart at least, because
        there is much to do, cannot be closer than that.
        """
        if not events:
            return False
        close_seconds = max(HOT_SECONDS * max(1, busy_buckets), HOT_PAUSES * pause)
        self._hot_reads = self._hot_reads + 1 if now - self.last_events < close_seconds else 0
        self._linger = min(LONGEST_LINGER_SECONDS, LINGER_SECONDS + 2 * close_seconds)
        self.last_events = now
        return self.asleep and self._hot_reads >= HOT_READS

    def tired(self, now: float) -> bool:
        return not self.asleep and now >= self.due and now >= self.last_events + self._linger

    def fall_asleep(self) -> None:
        self.asleep = True
        self._retry = FIRST_RETRY_SECONDS
        self._hot_reads = 0

    def stay_awake(self, now: float) -> None:
        """The lock was refused: a publisher is about to commit, and must be read after that."""
        self.due = now + self._retry
        self._retry = min(LAST_RETRY_SECONDS, 2 * self._retry)
