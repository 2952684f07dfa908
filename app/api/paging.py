"""Page tokens of lists that are in the order of names."""

import base64

from app.api.params import is_name, refuse

MAX_PAGE = 1000
DEFAULT_PAGE = 100


def token_of(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def name_after(token: str) -> str:
    """The name that a page token stands for."""
    if not token:
        return ""
    try:
        name = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    except ValueError:
        name = ""
    if not is_name(name) or token_of(name) != token:
        refuse("page_token", "is not one that this server has given out")
    return name
