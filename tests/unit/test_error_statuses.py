"""Whatever the service raises for its callers is answered as what it is, wherever the class is written."""

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import app
from app.api.document import EXAMPLES
from app.api.problem_types import MEANINGS, problem_types
from app.api.problems import RETRY_SECONDS, problem_response, status_of
from app.errors import DatabaseUnavailable, GaplessError
from app.live.turns import NoTurn


def kinds() -> list[type[GaplessError]]:
    for module in pkgutil.walk_packages(app.__path__, "app."):
        importlib.import_module(module.name)
    return sorted(
        {kind for kind in _below(GaplessError) if kind.__module__.startswith("app.")},
        key=lambda kind: kind.__qualname__,
    )


def _below(kind: type[GaplessError]) -> Iterator[type[GaplessError]]:
    for found in kind.__subclasses__():
        yield found
        yield from _below(found)


def made(kind: type[GaplessError]) -> GaplessError:
    """As an example of its code is, since each takes arguments of its own."""
    example = next(one for one in EXAMPLES if issubclass(kind, type(one)))
    error = kind.__new__(kind)
    error.__dict__.update(vars(example))
    return error


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__qualname__)
def test_every_error_is_answered_by_a_status_and_a_code_that_are_documented(kind: type[GaplessError]) -> None:
    error = made(kind)
    assert status_of(error) in range(400, 500) or status_of(error) in RETRY_SECONDS
    assert problem_response(error).status_code == status_of(error)
    assert kind.code in MEANINGS
    assert problem_types()[kind.code].status == status_of(error)


def test_errors_that_only_the_code_tells_apart_are_among_them() -> None:
    assert NoTurn in kinds()
    assert status_of(NoTurn("busy")) == status_of(DatabaseUnavailable("away")) == 503
    assert "retry-after" in problem_response(NoTurn("busy")).headers
