"""When a log is kept awake, so that its publishers need not notify."""

from app.live.bucket import HOT_READS, HOT_SECONDS, Bucket


def _reads_until_awake(seconds_between: float, pause: float) -> int | None:
    bucket = Bucket(0)
    bucket.fall_asleep()
    for number in range(1, 20):
        if bucket.record(number * seconds_between, 1, busy_buckets=1, pause=pause):
            return number
    return None


def test_a_log_that_gets_much_is_kept_awake() -> None:
    assert _reads_until_awake(HOT_SECONDS / 2, pause=0.005) == HOT_READS + 1


def test_a_log_that_gets_an_event_now_and_then_sleeps_on() -> None:
    assert _reads_until_awake(2 * HOT_SECONDS, pause=0.005) is None


def test_a_busy_log_is_kept_awake_by_a_tail_that_may_read_it_seldom() -> None:
    assert _reads_until_awake(0.041, pause=0.04) == HOT_READS + 1
    assert _reads_until_awake(0.1, pause=0.04) is None
