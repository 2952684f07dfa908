"""Page tokens of lists that are in the order of names."""

import base64

from app.api.params import check_topic_name, refuse
from app.errors import InvalidTopicName

MAX_PAGE = 1000
DEFAULT_PAGE = 100


def token_of(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def name_after(token: str) -> str:
    """The name that a page token stands for; topics and groups are named by the same rule."""
    if not token:
        return ""
    try:
        name = check_topic_name(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    except (ValueError, InvalidTopicName):
        name = ""
    if token_of(name) != token:
        refuse("page_token", "is not one that this server has given out")
    return name
