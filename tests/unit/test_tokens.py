"""Tokens: long, random, and known by their hash alone."""

import hashlib
import re

import pytest

from app.auth.tokens import hash_token, is_ticket, is_token, new_session_token, new_ticket, new_token


def test_a_token_is_a_prefix_and_256_random_bits() -> None:
    assert re.fullmatch(r"gpls_[A-Za-z0-9_-]{43}", new_token())
    made = {make() for _ in range(1000) for make in (new_token, new_session_token, new_ticket)}
    assert len({token[5:] for token in made}) == 3000


def test_each_kind_is_told_by_its_prefix() -> None:
    assert is_token(new_token())
    assert is_token(new_session_token())
    assert not is_token(new_ticket())
    assert is_ticket(new_ticket())
    assert not is_ticket(new_token())


@pytest.mark.parametrize("text", ["", "gpls_", "gpls_" + "a" * 42, "gpls_" + "a" * 44, "GPLS_" + "a" * 43])
def test_what_only_looks_like_one_is_none(text: str) -> None:
    assert not is_token(text)
    assert not is_token("gpls_" + "a" * 43 + "\n")
    assert not is_token("gpls_" + "é" * 43)


def test_what_is_stored_is_the_sha_256_of_it() -> None:
    token = new_token()
    assert hash_token(token) == hashlib.sha256(token.encode()).digest()
    assert len({hash_token(text) for text in ("a", "A", "é", "\udcff", "")}) == 5
