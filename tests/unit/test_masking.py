"""Where a database is may be told; who logs in there, by which password, and other secrets may not."""

import pytest

from app.masking import place_of, without_secrets


@pytest.fixture(autouse=True)
def _no_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGPORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("dsn", "place"),
    [
        ("postgresql://alice:s3cret@db.example.com/shop", "db.example.com port 5432"),
        ("postgresql://alice:s3@cr3t/s3cret@db.example.com:6432/shop?a=b", "db.example.com port 6432"),
        ("postgresql://alice@127.0.0.1:1/shop?password=s3@cret", "127.0.0.1 port 1"),
        ("postgresql://[fd00::1]:6432/shop", "[fd00::1] port 6432"),
        ("postgresql://[fd00::1]/shop", "[fd00::1] port 5432"),
        ("postgresql://a:5432,b:5433/shop", "a:5432,b:5433"),
        ("postgresql:///shop?host=/run/postgresql&user=alice", "the socket in /run/postgresql"),
        ("postgresql://%2Frun%2Fpostgresql/shop", "the socket in /run/postgresql"),
        ("postgresql://alice@/shop?host=db&port=6432", "db port 6432"),
        ("postgresql:///shop", "localhost port 5432"),
    ],
)  # fmt: skip
def test_the_place_of_a_database(dsn: str, place: str) -> None:
    assert place_of(dsn) == place


def test_the_place_may_be_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example.com")
    monkeypatch.setenv("PGPORT", "6432")
    assert place_of("postgresql:///shop") == "db.example.com port 6432"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: BASIC dXNlcjpwYXNz", "Authorization: BASIC ***"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic ***"),
        ("BeArEr abc.def.ghijklmnop", "BeArEr ***"),
        ("BEARER abc", "BEARER ***"),
        ("/leases/v1.3.0.17.5f0c/ack", "/leases/v1.3.0.17.***/ack"),
        ("/leases/V1%2e3%2E0%2E17%2E5F0C/ack", "/leases/V1%2e3%2E0%2E17%2E***/ack"),
    ],
)
def test_credentials_are_hidden_however_they_are_spelled(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
