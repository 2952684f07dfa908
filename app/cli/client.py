"""The HTTP client of every command: addresses, problems, and retries that stop."""

import os
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, quote, urlsplit

import msgspec

from app import __version__
from app.cli.answers import Said
from app.cli.credentials import find_token, token_place
from app.cli.failures import OTHER_ADDRESS, Failure, Problem, TooDeep, Unreachable, UsageFailure
from app.cli.printable import printable

if TYPE_CHECKING:
    import ssl

    import httpx

T = TypeVar("T")

NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
"""What OpenSSL says of an answer that is not TLS, by its version."""
UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
_ERRNO = re.compile(r"^\[Errno -?[0-9]+\] ")
_WITHOUT_SCHEME = re.compile(r"(?!https?:)(?!.*//)\S+")
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
FIRST_DELAY_SECONDS = 0.1
LONGEST_DELAY_SECONDS = 5.0


class Client:
    """One connection pool to one server, of which something was `heard` once it has answered.

    `httpx` is imported here, so that `--help` does not wait for it.
    """

    def __init__(self, url: str) -> None:
        import httpx

        self.url = shown(url)
        self.heard = False
        self._http = httpx.Client(**connection_options(url))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def call(self, method: str, path: str, **options: Any) -> "httpx.Response":
        """Send once; anything but 2xx is raised as a Problem, no answer as Unreachable."""
        with reaching(self):
            response = self._http.request(method, path, **options)
            self.heard = True
        return checked(self, response)

    def json(self, method: str, path: str, answer: type, **options: Any) -> Any:
        return members(self, self.call(method, path, **options), answer)

    @contextmanager
    def stream(self, path: str, **options: Any) -> "Iterator[httpx.Response]":
        with reaching(self), self._http.stream("GET", path, **options) as response:
            self.heard = True
            if not response.is_success:
                response.read()
                raise problem_of(response)
            if "event-stream" not in response.headers.get("content-type", ""):
                raise stranger(self, response)
            coding = response.headers.get("content-encoding", "identity")
            if coding != "identity":
                raise Failure(
                    f"a proxy of {self.url} sends the stream as {printable(coding)}, which nobody asked for: "
                    "it must leave text/event-stream as it is"
                )
            yield response


class AsyncClient:
    """The same for a command that does many things at once."""

    def __init__(self, url: str) -> None:
        import httpx

        self.url = shown(url)
        self.heard = False
        self._http = httpx.AsyncClient(**connection_options(url), limits=httpx.Limits(max_connections=None))

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def call(self, method: str, path: str, **options: Any) -> "httpx.Response":
        with reaching(self):
            response = await self._http.request(method, path, **options)
            self.heard = True
        return checked(self, response)


class Retry:
    """Whether and how long to wait before the next attempt; gives up `seconds` after the last success."""

    def __init__(self, seconds: float, notice: Callable[[str], None]) -> None:
        self._seconds = seconds
        self._notice = notice
        self.reset()

    def reset(self) -> None:
        self._delay = FIRST_DELAY_SECONDS
        self._deadline: float | None = None

    def wait(self, failure: Failure) -> None:
        """Sleep before another attempt, or raise the failure when it is final or the time is up."""
        if not may_pass(failure):
            raise failure
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._seconds
            self._notice(f"{failure}; trying again for {self._seconds:g} s")
        asked = failure.retry_after if isinstance(failure, Problem) else None
        # Jitter also on what the server asked for: clients that were refused together return apart.
        pause = max(self._delay, asked or 0.0) * random.uniform(1.0, 1.5)  # nosec B311
        if now + pause > self._deadline:
            raise failure
        time.sleep(pause)
        self._delay = min(self._delay * 2, LONGEST_DELAY_SECONDS)


def base_of(url: str) -> str:
    """The address that paths are added to. They begin with /v1, which may have been copied along."""
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def shown(url: str) -> str:
    """Without what may stand before the host, which may be a password."""
    scheme, mark, rest = base_of(url).rpartition("//")
    host, slash, path = rest.partition("/")
    return scheme + mark + host.rpartition("@")[2] + slash + path


def connection_options(url: str) -> dict[str, Any]:
    import httpx

    from app.cli.bearer import Bearer

    parts = _parts(url)
    if parts is None:
        said = f"{shown(url)!r} is not an http:// or https:// address"
        if _WITHOUT_SCHEME.fullmatch(url) and _parts(f"http://{url}") is not None:
            said += f": did you mean http://{shown(url)}?"
        raise UsageFailure(said)
    token = find_token()
    if token and (parts.username or parts.password):
        # httpx would drop one of them without a word.
        raise UsageFailure(
            f"a call carries the user of its address or a token, not both: take the user out of the address "
            f"of {shown(url)}, or do not give the token of {token_place()}"
        )
    return {
        "base_url": base_of(url),
        # Redirects are not followed, so the token goes nowhere else.
        "auth": Bearer(token) if token else None,
        "headers": {"User-Agent": f"gapless/{__version__}"},
        "timeout": httpx.Timeout(60.0, connect=5.0),
        # A proxy for the outside world must not be asked for this very machine.
        "trust_env": parts.hostname not in LOOPBACK,
        "verify": _trusted() if parts.scheme == "https" else False,
    }


def _parts(url: str) -> SplitResult | None:
    """Of an address that calls can be made to."""
    import httpx

    try:
        parts = urlsplit(url)
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        return None
    return parts if parts.scheme in ("http", "https") and parts.hostname else None


def _trusted() -> "ssl.SSLContext":
    """What httpx trusts by itself, whatever `trust_env` says. Reading it takes longer than most calls."""
    import httpx

    try:
        return httpx.create_ssl_context()
    except OSError as error:
        named = os.environ.get("SSL_CERT_FILE")
        raise UsageFailure(f"cannot read the certificates of SSL_CERT_FILE, {named}: {error}") from error


@contextmanager
def reaching(client: "Client | AsyncClient") -> Iterator[None]:
    import httpx

    url = client.url
    try:
        yield
    except httpx.ConnectError as error:
        if any(sign in str(error) for sign in NO_TLS):
            raise Unreachable(
                f"{url} does not speak TLS ({error}); if it is plain HTTP its address begins with http://"
            ) from error
        if UNTRUSTED in str(error):
            raise Unreachable(
                f"the certificate of {url} is not trusted ({error}); for an authority of your own let "
                "SSL_CERT_FILE name the file with its certificate"
            ) from error
        raise Unreachable(
            f"no server answers at {url} ({_refusal(error)}); start one with `gapless serve` "
            "or give its address with --url"
        ) from error
    except httpx.TransportError as error:
        if client.heard and isinstance(error, httpx.ReadError | httpx.RemoteProtocolError):
            raise Unreachable(f"the connection to {url} broke") from error
        reason = _ERRNO.sub("", str(error)).rstrip(".") or type(error).__name__
        plain = urlsplit(url).scheme == "http"
        if plain and not client.heard and not isinstance(error, httpx.TimeoutException):
            reason += "; if it speaks TLS its address begins with https://"
        raise Unreachable(f"the connection to {url} broke: {reason}") from error


def _refusal(error: "httpx.ConnectError") -> str:
    """An asynchronous client tries all addresses of a host, and says of none by itself why it failed."""
    said = _ERRNO.sub("", str(error))
    if said == "All connection attempts failed":
        tried: BaseException = error
        while (below := tried.__cause__ or tried.__context__) is not None:
            tried = below.exceptions[0] if isinstance(below, BaseExceptionGroup) else below
        if isinstance(tried, OSError) and tried.errno:
            said = os.strerror(tried.errno)
    return "nobody listens there" if said == "Connection refused" else said


def checked(client: "Client | AsyncClient", response: "httpx.Response") -> "httpx.Response":
    """The answer, if it is good and from the service: others say 200 too, with a page to log in for one."""
    if not response.is_success:
        raise problem_of(response)
    if response.request.method == "DELETE" and response.status_code != 204:
        raise stranger(client, response)
    if response.status_code != 204 and "json" not in response.headers.get("content-type", ""):
        raise stranger(client, response)
    return response


def decoded(client: "Client | AsyncClient", response: "httpx.Response", answer: type[T]) -> T:
    """The content as what is expected; JSON that is something else is of another service."""
    try:
        return msgspec.json.decode(response.content, type=answer)
    except RecursionError:
        raise TooDeep from None
    except msgspec.MsgspecError as error:
        raise stranger(client, response) from error


def members(client: "Client | AsyncClient", response: "httpx.Response", answer: type) -> Any:
    """All members as they came, once those of `answer` are among them."""
    decoded(client, response, answer)
    return msgspec.json.decode(response.content)


def stranger(client: "Client | AsyncClient", response: "httpx.Response") -> Failure:
    kind = response.headers.get("content-type", "something without a type")
    request = response.request
    return Failure(
        f"what answers {request.method} {request.url.path} with {kind} at {client.url} is not Gapless; "
        f"{OTHER_ADDRESS}"
    )


def may_pass(failure: Failure) -> bool:
    """Whether the same call may succeed later."""
    return isinstance(failure, Unreachable) or (isinstance(failure, Problem) and failure.temporary)


def topic_path(topic: str, *rest: str) -> str:
    if topic.strip(".") == "":
        raise UsageFailure(f"{topic!r} is not a topic name")
    return "/".join(("/v1/topics", quote(topic, safe=""), *rest))


def problem_of(response: "httpx.Response") -> Problem:
    said: dict[str, Any] = {}
    if "json" in response.headers.get("content-type", ""):
        try:
            msgspec.json.decode(response.content, type=Said)
            said = msgspec.json.decode(response.content)
        except (msgspec.MsgspecError, RecursionError):
            # Not what problems are like: of another service.
            said = {}
    elif _expects_tls(response):
        said = {"detail": f"{response.url.host} expects TLS there; its address begins with https://"}
    detail = said.get("detail") or said.get("title") or f"HTTP {response.status_code}"
    code = said.get("code") or f"http_{response.status_code}"
    retry_after = _seconds(response.headers.get("retry-after"))
    with_token = response.request.headers.get("authorization", "").startswith("Bearer ")
    place = token_place() if with_token else None
    return Problem(response.status_code, code, detail, said, retry_after, token_place=place)


def _expects_tls(response: "httpx.Response") -> bool:
    """By what servers such as nginx say to plain HTTP on a port for TLS; none of it is of the service."""
    asked = (response.url.scheme, response.status_code)
    return asked == ("http", 400) and b"https" in response.content.lower()


def _seconds(retry_after: str | None) -> float | None:
    try:
        return max(0.0, float(retry_after)) if retry_after else None
    except ValueError:
        return None
