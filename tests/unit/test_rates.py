"""Token buckets and places, by a clock that the test moves."""

import asyncio

import pytest

from app.errors import RateLimited, TooManyStreams
from app.live.callers import ANYBODY, Caller, Places
from app.live.rates import MOST_BUCKETS, Rate, Rates
from app.settings import Settings

A = Caller("key:a", True, "192.0.2.1")
B = Caller("key:b", True, "192.0.2.1")


class Watch:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def settings(**limits: float) -> Settings:
    return Settings(database_url="postgresql://nowhere", **limits)  # type: ignore[arg-type]


def test_a_burst_passes_at_once_and_the_rest_at_the_rate() -> None:
    watch = Watch()
    rate = Rate(10, 20, watch)
    assert [rate.take("a", 1) for _ in range(20)] == [0] * 20
    assert rate.take("a", 1) == pytest.approx(0.1)
    passed = 0
    for _ in range(1_000):
        watch.now += 0.01
        passed += rate.take("a", 1) == 0
    assert passed == pytest.approx(100, abs=1)


def test_what_is_refused_takes_nothing_and_the_wait_is_exact() -> None:
    watch = Watch()
    rate = Rate(10, 20, watch)
    assert rate.take("a", 15) == 0
    seconds = [rate.take("a", 10) for _ in range(100)]
    assert set(seconds) == {0.5}
    watch.now += 0.5
    assert rate.take("a", 10) == 0


def test_more_than_a_burst_is_given_to_a_full_bucket_and_paid_off_before_anything_else() -> None:
    watch = Watch()
    rate = Rate(10, 20, watch)
    assert rate.take("a", 100) == 0
    assert rate.take("a", 1) == pytest.approx(8.1)
    watch.now += 8.1
    assert rate.take("a", 1) == 0


def test_callers_do_not_share_and_nobody_is_unlimited() -> None:
    rate = Rate(1, 1, Watch())
    assert [rate.take(name, 1) for name in ("a", "b", "a", None, None)] == [0, 0, 1, 0, 0]


def test_a_rate_of_nothing_is_no_limit() -> None:
    rate = Rate(0, 0, Watch())
    assert [rate.take("a", 1e12) for _ in range(10)] == [0] * 10


def test_full_buckets_are_forgotten_and_others_are_not() -> None:
    watch = Watch()
    rate = Rate(1, 2, watch)
    rate.take("busy", 1_000_000)
    for number in range(3 * MOST_BUCKETS):
        rate.take(f"caller-{number}", 1)
        watch.now += 0.01
    assert len(rate._buckets) <= MOST_BUCKETS
    assert rate.take("busy", 1) > 0


def test_a_body_is_admitted_before_its_events_are_known() -> None:
    watch = Watch()
    rates = Rates(
        settings(publish_bytes_per_second=100, publish_events_per_second=10, burst_seconds=1), watch
    )
    rates.admit(A, 100)
    rates.publish(A, 10)
    with pytest.raises(RateLimited) as refused:
        rates.admit(A, 0)
    assert refused.value.extra["retry_after"] == pytest.approx(0.1)
    watch.now += 0.1
    with pytest.raises(RateLimited) as refused:
        rates.admit(A, 50)
    assert refused.value.extra["retry_after"] == pytest.approx(0.4)
    rates.admit(B, 100)
    rates.admit(ANYBODY, 10**9)
    rates.publish(ANYBODY, 10**6)


def test_a_slow_rate_lets_one_pass_at_a_time() -> None:
    watch = Watch()
    rates = Rates(settings(claims_per_second=0.01, burst_seconds=1), watch)
    rates.claim(A)
    with pytest.raises(RateLimited):
        rates.claim(A)
    watch.now += 100
    rates.claim(A)


async def test_a_part_of_something_long_waits_its_turn_and_gives_up_on_what_is_too_far() -> None:
    rates = Rates(settings(publish_events_per_second=100, burst_seconds=0.01, max_wait_seconds=1))
    loop = asyncio.get_running_loop()
    begun = loop.time()
    for _ in range(10):
        await rates.pace(A, 0, 1)
    assert loop.time() - begun >= 0.08
    await rates.pace(A, 0, 1_000)
    with pytest.raises(RateLimited):
        await rates.pace(A, 0, 1)


def test_places_are_counted_by_token_caller_and_address_and_given_back() -> None:
    places = Places(settings(max_streams_per_token=2, max_streams_per_caller=3, max_streams_per_address=4))
    with places.place(A), places.place(A):
        with pytest.raises(TooManyStreams, match="token") as refused:
            places.check(A)
        assert refused.value.extra == {"limit": 2}
        ticket = A._replace(itself=False)
        with places.place(ticket):
            with pytest.raises(TooManyStreams, match="caller"):
                places.check(ticket)
            with places.place(B), pytest.raises(TooManyStreams, match="address"):
                places.check(B)
            places.check(B._replace(address="192.0.2.2"))
    with pytest.raises(RuntimeError), places.place(A):
        raise RuntimeError
    assert not places._taken


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("a socket", "a socket", True),
    ],
)
def test_addresses_of_one_ipv6_network_are_one(one: str, other: str, same: bool) -> None:
    places = Places(settings(max_streams_per_address=1))
    with places.place(Caller(None, False, one)):
        if same:
            with pytest.raises(TooManyStreams):
                places.check(Caller(None, False, other))
        else:
            places.check(Caller(None, False, other))


def test_anybody_without_an_address_limit_is_not_counted() -> None:
    places = Places(settings())
    with places.place(ANYBODY), places.place(Caller(None, False, "192.0.2.1")):
        assert not places._taken
