"""The token of a client's calls, read again from its file once the server refuses it.

Keys are replaced and JWTs renewed while commands run, which must not end them.
"""

from collections.abc import Generator

import httpx

from app.cli.credentials import renewed_token


class Bearer(httpx.Auth):
    """A refused call was not carried out: it is sent once more if the file holds another token by then."""

    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        sent = self._token
        request.headers["Authorization"] = f"Bearer {sent}"
        response = yield request
        if response.status_code != httpx.codes.UNAUTHORIZED:
            return
        self._token = renewed_token() or self._token
        # Not whether the file changed just now: another call may have read it since this one was sent.
        if self._token != sent:
            request.headers["Authorization"] = f"Bearer {self._token}"
            yield request
