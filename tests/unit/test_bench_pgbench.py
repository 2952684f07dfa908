"""What is made of a report of pgbench."""

import pytest

from tests.bench.load.pgbench import transactions_per_second

REPORT = """\
number of transactions actually processed: 6013
number of failed transactions: {failed} (0.000%)
initial connection time = 14.1 ms
tps = 3008.250000 (without initial connection time)
"""


def test_pgbench_says_its_rate() -> None:
    assert transactions_per_second(REPORT.format(failed=0)) == 3008.25


@pytest.mark.parametrize("report", [REPORT.format(failed=3), "", "pgbench: error: lost"])
def test_failed_transactions_are_no_rate(report: str) -> None:
    with pytest.raises(RuntimeError):
        transactions_per_second(report)
