"""What an identity may do with a topic and its groups.

A topic that none of the caller's scopes match does not exist for them, nor does a group: the database is not
even asked. What they see but may not do is refused. Nothing here tells more than that, whatever there is.
"""

from collections.abc import Mapping, Sequence

from app.api.params import check_group_name, check_topic_name
from app.auth.identity import Identity
from app.errors import Forbidden, SubscriptionNotFound, TopicNotFound

NONE = "none"
"""What a route allows that anybody may call."""
ANY = "any"
"""What a route allows that asks for some valid identity, which must see the topic in its path."""
SERVICE_VERBS = frozenset({"admin", "metrics"})


def authorise(identity: Identity, allows: str, path: Mapping[str, str]) -> None:
    topic, group = path.get("topic"), path.get("group")
    if topic is None:
        # What a body or a query names, the endpoint looks at.
        if allows in SERVICE_VERBS:
            require_verb(identity, allows)
        return
    check_topic_name(topic)
    if group is not None:
        check_group_name(group)
    # Most calls are allowed, and who may do it on the group may see both.
    if allows != ANY and identity.allows(allows, topic, group):
        return
    if not identity.sees(topic):
        raise _missing(topic, allows)
    if group is not None:
        _require_group(identity, topic, group)
    if allows != ANY and not _may_read(identity, allows, topic):
        raise _forbidden(allows, topic)


def require_verb(identity: Identity, verb: str) -> None:
    """For what concerns no topic."""
    if not identity.allows(verb):
        raise Forbidden(f"This needs the scope `{verb}`.")


def require_topics(identity: Identity, allows: str, topics: Sequence[str]) -> None:
    """The same for topics that are named elsewhere than in the path."""
    for topic in topics:
        authorise(identity, allows, {"topic": topic})


def _require_group(identity: Identity, topic: str, group: str) -> None:
    if not identity.allows("consume", topic, group):
        if not identity.allows("consume", topic):
            raise _forbidden("consume", topic)
        raise SubscriptionNotFound(f'Topic "{topic}" has no group "{group}".')


def _may_read(identity: Identity, verb: str, topic: str) -> bool:
    """A consumer handles the events of its topic, so it may read them too."""
    return verb == "subscribe" and identity.allows("consume", topic)


def _missing(topic: str, allows: str) -> TopicNotFound:
    """What the same call says of a topic that is not there."""
    return topic_to_create(topic) if allows == "publish" else TopicNotFound(_absent(topic))


def topic_to_create(topic: str) -> TopicNotFound:
    return TopicNotFound(_absent(topic), create=f"PUT /v1/topics/{topic}")


def _absent(topic: str) -> str:
    """The words of the database, by `find_topic`."""
    return f'Topic "{topic}" does not exist.'


def _forbidden(verb: str, topic: str) -> Forbidden:
    return Forbidden(f"This needs the scope `{verb}` for the topic {topic!r}.")
