"""Scopes and identities: what is a scope, what it allows, and what it hides."""

import math
import time

import pytest

from app.auth.identity import ANONYMOUS, Identity
from app.auth.scopes import MAX_SCOPES, Scope, known_scopes, parse_scopes
from app.errors import InvalidArgument
from tests.support.wait import shared


def identity(*scopes: str) -> Identity:
    return Identity("key:k", parse_scopes(scopes))


@pytest.mark.parametrize(
    ("text", "scope", "shown"),
    [
        ("publish", Scope("publish", "*"), "publish:*"),
        ("publish:*", Scope("publish", "*"), "publish:*"),
        ("publish:orders.*", Scope("publish", "orders.*"), "publish:orders.*"),
        ("subscribe:a-b_c.9", Scope("subscribe", "a-b_c.9"), "subscribe:a-b_c.9"),
        ("consume", Scope("consume", "*", "*"), "consume:*"),
        ("consume:orders", Scope("consume", "orders", "*"), "consume:orders"),
        ("consume:orders.*/billing", Scope("consume", "orders.*", "billing"), "consume:orders.*/billing"),
        ("consume:*/b*", Scope("consume", "*", "b*"), "consume:*/b*"),
        ("admin", Scope("admin"), "admin"),
        ("admin:orders.*", Scope("admin", "orders.*"), "admin:orders.*"),
        ("metrics", Scope("metrics"), "metrics"),
    ],
)
def test_a_scope_is_a_verb_and_patterns(text: str, scope: Scope, shown: str) -> None:
    assert parse_scopes([text]) == (scope,)
    assert str(scope) == shown
    assert parse_scopes([shown]) == (scope,)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "read", "PUBLISH", "publish:", "publish:a/b", "publish:*a", "publish:a*b", "publish:**",
        "publish:a**", "publish:A", "publish:é", "publish:a b", "publish:.a", "publish:a\n", " publish",
        "publish\n", "publish:" + "a" * 201, "publish:%", "publish:a?", "publish:[a]", "metrics:a",
        "admin:", "admin:a/b", "consume:/g", "consume:t/", "consume:t/g/h", "subscribe:a,b", "publish:\u0661",
        "*", "publish:a:b", "\x00",
    ],
)  # fmt: skip
def test_nothing_but_the_known_verbs_and_patterns_is_a_scope(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_scopes(["admin", text])
    assert caught.value.extra["field"] == "scopes"
    assert known_scopes([text, "metrics"]) == (Scope("metrics"),)


def test_there_is_at_least_one_scope_and_no_flood_of_them() -> None:
    for number in (0, MAX_SCOPES + 1):
        with pytest.raises(InvalidArgument):
            parse_scopes([f"publish:t{n}" for n in range(number)])
    assert parse_scopes(["publish", "publish:*", "metrics", "publish"]) == (
        Scope("publish", "*"),
        Scope("metrics"),
    )


def test_what_others_put_beside_our_scopes_grants_nothing() -> None:
    assert known_scopes(["openid", 7, None, ["admin"], "publish:a", "profile"]) == (Scope("publish", "a"),)


def test_a_hostile_scope_costs_no_time() -> None:
    took = []
    for _ in range(3):
        started = time.perf_counter()
        for tail in ("a" * 100_000, "*" * 100_000, "a/" * 50_000, "a*" * 50_000):
            with pytest.raises(InvalidArgument):
                parse_scopes(["consume:" + tail])
        took.append(time.perf_counter() - started)
    assert min(took) < shared(0.1)


ALLOWED = [
    # scopes, verb, topic, group, allowed
    (["publish:orders.*"], "publish", "orders.eu", None, True),
    (["publish:orders.*"], "publish", "orders", None, False),
    (["publish:orders.*"], "publish", "ordersx", None, False),
    (["publish:orders.*"], "subscribe", "orders.eu", None, False),
    (["publish:orders.*"], "consume", "orders.eu", None, False),
    (["publish:orders.*"], "admin", "orders.eu", None, False),
    (["publish:orders.*"], "publish", None, None, True),
    (["publish:orders.*"], "subscribe", None, None, False),
    (["publish:orders"], "publish", "orders", None, True),
    (["publish:orders"], "publish", "orders2", None, False),
    (["subscribe"], "subscribe", "anything", None, True),
    (["consume:orders.*/billing"], "consume", "orders.eu", "billing", True),
    (["consume:orders.*/billing"], "consume", "orders.eu", "billing2", False),
    (["consume:orders.*/billing"], "consume", "orders.eu", None, True),
    (["consume:orders.*/billing"], "consume", "other", "billing", False),
    (["consume:orders.*/b*"], "consume", "orders.eu", "billing2", True),
    (["consume:a/x", "consume:b/y"], "consume", "a", "y", False),
    (["metrics"], "metrics", None, None, True),
    (["metrics"], "publish", "t", None, False),
    (["metrics"], "admin", None, None, False),
    (["publish"], "metrics", None, None, False),
    (["admin:orders.*"], "publish", "orders.eu", None, True),
    (["admin:orders.*"], "consume", "orders.eu", "any", True),
    (["admin:orders.*"], "admin", "orders.eu", None, True),
    (["admin:orders.*"], "admin", "other", None, False),
    (["admin:orders.*"], "admin", None, None, False),
    (["admin:orders.*"], "metrics", None, None, False),
    (["admin:*"], "admin", None, None, False),
    (["admin"], "admin", None, None, True),
    (["admin"], "metrics", None, None, True),
    (["admin"], "consume", "t", "g", True),
]


@pytest.mark.parametrize(("scopes", "verb", "topic", "group", "allowed"), ALLOWED)
def test_a_scope_allows_what_is_listed_and_no_more(
    scopes: list[str], verb: str, topic: str | None, group: str | None, allowed: bool
) -> None:
    assert identity(*scopes).allows(verb, topic, group) is allowed


def test_without_scopes_nothing_is_allowed_and_nothing_seen() -> None:
    nobody = Identity("jwt:x", ())
    assert not any(nobody.allows(verb) for verb in ("publish", "subscribe", "consume", "admin", "metrics"))
    assert not nobody.sees("t")
    assert nobody.topic_patterns() == []
    assert nobody.group_patterns("t") == []


def test_who_has_any_scope_on_a_topic_sees_it() -> None:
    caller = identity("publish:a", "subscribe:b.*", "consume:c/g", "admin:d", "metrics")
    assert [topic for topic in ("a", "b.x", "c", "d") if caller.sees(topic)] == ["a", "b.x", "c", "d"]
    assert not any(caller.sees(topic) for topic in ("ab", "b", "c2", "e", "", "*", "b*"))
    assert caller.topic_patterns() == ["a", "b.*", "c", "d"]
    assert identity("metrics").topic_patterns() == []
    for everything in (["publish"], ["admin"], ["consume:*/g"], ["publish:a", "admin:*"]):
        assert identity(*everything).topic_patterns() is None


def test_the_groups_of_a_topic_are_those_of_its_consume_and_admin_scopes() -> None:
    caller = identity("consume:a/x", "consume:a*/y*", "consume:b", "admin:c", "subscribe:d", "consume:e/*")
    assert caller.group_patterns("a") == ["x", "y*"]
    assert caller.group_patterns("ab") == ["y*"]
    assert caller.group_patterns("d") == caller.group_patterns("z") == []
    for topic in ("b", "c", "e"):
        assert caller.group_patterns(topic) is None
    assert identity("admin").group_patterns("a") is None


def test_anonymous_may_do_everything_for_ever() -> None:
    assert ANONYMOUS.name == "anonymous"
    assert ANONYMOUS.ends_at == math.inf
    assert ANONYMOUS.allows("admin")
    assert ANONYMOUS.allows("consume", "t", "g")
    assert ANONYMOUS.sees("t")
    assert ANONYMOUS.topic_patterns() is None
