"""Requests that are no HTTP are refused one by one, and told of together."""

from dataclasses import replace

import structlog

from app.api.malformed import Malformed
from app.outage import AGAIN_SECONDS
from tests.support.rude import answers
from tests.support.service import ThreadService
from tests.support.ticking import Ticking

NO_HTTP = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
"""How TLS begins."""


async def test_any_number_of_malformed_requests_is_a_record_in_half_a_minute(service: ThreadService) -> None:
    ticking, app = Ticking(), service.app
    app.parts = replace(app.parts, malformed=Malformed(ticking.now))
    with structlog.testing.capture_logs() as logged:
        for _ in range(20):
            assert await answers(service.port, NO_HTTP) == [400]
        ticking.time += AGAIN_SECONDS
        assert await answers(service.port, NO_HTTP) == [400]
    told = [entry for entry in logged if "malformed" in entry["event"]]
    assert [(entry["log_level"], entry["requests"]) for entry in told] == [("warning", 1), ("warning", 20)]
