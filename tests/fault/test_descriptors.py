"""How many connections a service can have, where it was started by a shell that allows it few descriptors."""

import json
import resource
from collections.abc import Iterator

import pytest
import structlog

from app.api.server import SPARE_DESCRIPTORS, open_as_many_as_may_be
from app.settings import Settings
from tests.support.databases import as_service
from tests.support.service import SERVE, ProcessService

SOFT, HARD = 128, 1_000


@pytest.fixture
def few() -> Iterator[int]:
    """This process may open few descriptors; the fixture is how many it could."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before, 1_024), most))
    yield most
    resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


async def test_a_service_opens_as_many_as_the_hard_limit_allows_and_tells_if_they_are_too_few(
    dsn: str,
) -> None:
    limited = f'ulimit -S -n {SOFT} && ulimit -H -n {HARD} && exec "$@"'
    settings = {"database_url": as_service(dsn), "log_format": "json", "max_streams": HARD, "pool_max": 5}
    async with ProcessService(settings, ("/bin/sh", "-c", limited, "sh", *SERVE)) as service:
        assert resource.prlimit(service.pid, resource.RLIMIT_NOFILE) == (HARD, HARD)
        (told,) = [json.loads(line) for line in service.lines if '"too_few_descriptors"' in line]
    assert told["level"] == "warning"
    assert (told["allowed"], told["needed"]) == (HARD, HARD + 5 + SPARE_DESCRIPTORS)


def test_nothing_is_told_where_they_suffice(few: int) -> None:
    with structlog.testing.capture_logs() as logged:
        open_as_many_as_may_be(Settings(max_streams=1, pool_max=5))
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (few, few)
    assert logged == []
