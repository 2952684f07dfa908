"""Which token a call of a command carries, and when it is sent again with another one."""

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import httpx
import pytest

from app.cli.bearer import Bearer
from app.cli.credentials import use_token_file

Flow = Generator[httpx.Request, httpx.Response, None]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "token"
    path.write_text("old\n")
    use_token_file(path)
    yield path
    use_token_file(None)


def call(bearer: Bearer) -> tuple[Flow, httpx.Request]:
    flow = bearer.auth_flow(httpx.Request("POST", "http://service/v1/x"))
    return flow, next(flow)


def shown(request: httpx.Request) -> str:
    return request.headers["Authorization"]


def answered(flow: Flow, status: int) -> httpx.Request | None:
    """What is sent after that, if anything is."""
    try:
        return flow.send(httpx.Response(status))
    except StopIteration:
        return None


def test_a_refused_call_is_sent_once_more_with_what_the_file_holds_by_then(file: Path) -> None:
    bearer = Bearer("old")
    flow, first = call(bearer)
    assert shown(first) == "Bearer old"
    file.write_text("new\n")
    again = answered(flow, 401)
    assert again is not None
    assert shown(again) == "Bearer new"
    file.write_text("newer\n")
    assert answered(flow, 401) is None
    assert shown(call(bearer)[1]) == "Bearer new"


@pytest.mark.parametrize("status", [200, 403, 404, 503])
def test_any_other_answer_is_final(file: Path, status: int) -> None:
    flow, _ = call(Bearer("old"))
    file.write_text("new\n")
    assert answered(flow, status) is None


def test_a_call_that_was_on_its_way_while_another_one_found_the_new_token_is_sent_again_too(
    file: Path,
) -> None:
    bearer = Bearer("old")
    (one, _), (other, _) = call(bearer), call(bearer)
    file.write_text("new\n")
    for flow in (one, other):
        again = answered(flow, 401)
        assert again is not None
        assert shown(again) == "Bearer new"


def _touch(file: Path) -> None:
    file.write_text(" old \n")


def _empty(file: Path) -> None:
    file.write_text("")


def _spoil(file: Path) -> None:
    file.write_text("two words")


def _pipe(file: Path) -> None:
    """Which nobody writes to: whoever opens it waits for ever."""
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("change", [_touch, _empty, _spoil, Path.unlink, _pipe])
def test_without_another_token_in_the_file_a_refusal_is_final(
    file: Path, change: Callable[[Path], None]
) -> None:
    bearer = Bearer("old")
    flow, _ = call(bearer)
    change(file)
    assert answered(flow, 401) is None
    assert shown(call(bearer)[1]) == "Bearer old"


def test_a_token_of_the_environment_is_never_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAPLESS_TOKEN", "new")
    flow, _ = call(Bearer("old"))
    assert answered(flow, 401) is None
