"""What the service says may pass, its clients try again."""

import pytest

from app.api.problems import RETRY_SECONDS
from app.cli import failures
from spark import service_answers


@pytest.mark.parametrize("status", [408, *RETRY_SECONDS])
def test_a_command_tries_again_what_may_pass(status: int) -> None:
    assert failures.Problem(status, "code", "detail", {}, None).temporary


def test_commands_and_spark_try_the_same_again() -> None:
    assert failures.TEMPORARY == service_answers.TEMPORARY
