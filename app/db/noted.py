"""What a statement did beside its answer, as `gapless.note` has it: leases expired, events trimmed."""

from typing import Any

from app.metrics import Metrics

UPKEEP = """\
select done.*, current_setting('gapless.noted_expired_leases', true) as expired_leases, \
current_setting('gapless.noted_expired', true) as expired, \
current_setting('gapless.noted_expired_dead', true) as expired_dead, \
current_setting('gapless.noted_trimmed', true) as trimmed, \
current_setting('gapless.noted_trimmed_forced', true) as trimmed_forced \
from {call} as done(done)"""


def count_expired(metrics: Metrics, row: Any) -> None:
    dead = int(row["expired_dead"] or 0)
    metrics.leases_expired(int(row["expired_leases"]))
    metrics.settled("expired", int(row["expired"] or 0) + dead)
    if dead:
        metrics.died("expired", dead)


def count_upkeep(metrics: Metrics, row: Any) -> None:
    if row["expired_leases"]:
        count_expired(metrics, row)
    if row["trimmed"]:
        metrics.trimmed(int(row["trimmed"]), forced=False)
    if row["trimmed_forced"]:
        metrics.trimmed(int(row["trimmed_forced"]), forced=True)
