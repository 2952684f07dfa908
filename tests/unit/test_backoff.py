from app.backoff import Backoff


def test_pauses_grow_to_a_second_and_no_further() -> None:
    backoff = Backoff()
    bounds = [0.1, 0.2, 0.4, 0.8, *[1.0] * 20]
    for bound in bounds:
        assert bound / 2 <= backoff.next() <= bound


def test_a_success_makes_the_next_pause_short_again() -> None:
    backoff = Backoff()
    for _ in range(10):
        backoff.next()
    backoff.reset()
    assert backoff.next() <= 0.1
