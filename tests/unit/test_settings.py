"""Settings about who may call: what is half set or unsafe keeps the service from starting."""

from typing import Any

import pytest
from pydantic import ValidationError

from app.settings import Settings, unknown_variables

JWT: dict[str, Any] = {
    "jwt_issuer": "https://issuer.example",
    "jwt_audience": "gapless",
    "jwt_jwks_url": "https://issuer.example/jwks.json",
}


def refused(**given: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        Settings(**given)
    return str(caught.value)


def test_authentication_is_off_until_it_is_asked_for() -> None:
    assert Settings().authentication == "off"
    assert not Settings().accepts_jwt
    assert Settings(authentication="on").authentication == "on"
    assert not Settings(authentication="on").accepts_jwt


def test_setting_an_issuer_turns_it_on() -> None:
    for given in (
        JWT,
        {**JWT, "authentication": "off"},
        {**JWT, "jwt_jwks_url": None, "jwt_jwks_file": "keys"},
    ):
        assert Settings(**given).authentication == "on"
        assert Settings(**given).accepts_jwt


def test_the_environment_turns_it_on_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in JWT.items():
        monkeypatch.setenv(f"GAPLESS_{name.upper()}", value)
    monkeypatch.setenv("GAPLESS_JWT_ALGORITHMS", "RS256, ES256")
    monkeypatch.setenv("GAPLESS_CORS_ORIGINS", '["https://app.example", "http://localhost:3000"]')
    settings = Settings()
    assert settings.authentication == "on"
    assert settings.jwt_algorithms == ["RS256", "ES256"]
    assert settings.cors_origins == ["https://app.example", "http://localhost:3000"]


@pytest.mark.parametrize("lacking", ["jwt_issuer", "jwt_audience", "jwt_jwks_url"])
def test_half_of_what_jwts_need_is_refused_by_name(lacking: str) -> None:
    for missing in (None, ""):
        assert f"GAPLESS_{lacking.upper()}" in refused(**{**JWT, lacking: missing})


def test_an_algorithm_alone_is_half_of_what_jwts_need_too() -> None:
    assert "GAPLESS_JWT_ISSUER" in refused(jwt_algorithms=["RS256"])


def test_keys_of_jwts_come_from_one_place() -> None:
    assert "not both" in refused(**JWT, jwt_jwks_file="keys.json")


@pytest.mark.parametrize("name", ["none", "HS256", "HS384", "HS512", "rs256", "", "RS256 "])
def test_only_asymmetric_algorithms_are_taken(name: str) -> None:
    assert "RS256" in refused(**JWT, jwt_algorithms=[name])
    assert "RS256" in refused(**JWT, jwt_algorithms=["RS256", name])


def test_there_is_at_least_one_algorithm() -> None:
    refused(**JWT, jwt_algorithms=[])
    for nothing in ("", " , "):
        refused(**JWT, jwt_algorithms=nothing)


@pytest.mark.parametrize(
    "url",
    [
        "http://issuer.example/jwks", "http://127.0.0.1.evil.example/", "file:///etc/passwd",
        "issuer.example", "https://", "https://user:secret@issuer.example/", "ftp://127.0.0.1/",
        "http://10.0.0.1/", "//issuer",
    ],
)  # fmt: skip
def test_keys_are_fetched_over_https_only(url: str) -> None:
    assert "jwt_jwks_url" in refused(**{**JWT, "jwt_jwks_url": url})


def test_keys_of_jwts_from_this_machine_need_no_https() -> None:
    for host in ("127.0.0.1:8000", "localhost", "[::1]:80"):
        url = f"http://{host}/jwks"
        assert Settings(**{**JWT, "jwt_jwks_url": url}).jwt_jwks_url == url


@pytest.mark.parametrize(
    "origin",
    [
        "*", "https://*.example", "https://app.example/", "https://App.example", "app.example", "null", "",
        "https://user@app.example", "https://app.example/path", "ftp://app.example", "https://",
    ],
)  # fmt: skip
def test_an_origin_is_one_site_as_its_browser_names_it(origin: str) -> None:
    refused(cors_origins=[origin])
    refused(cors_origins=["https://app.example", origin])


def test_a_list_that_cannot_be_read_is_said_to_be_so() -> None:
    assert "JSON list" in refused(cors_origins="[nonsense")


def test_a_fault_does_not_repeat_what_was_given() -> None:
    for given in (
        {**JWT, "jwt_jwks_url": "https://user:secret@issuer.example/"},
        {"database_url": ["secret"]},
    ):
        assert "secret" not in refused(**given)


def test_settings_of_times_are_positive() -> None:
    for name in ("key_refresh_seconds", "session_seconds", "ticket_seconds"):
        assert name in refused(**{name: 0})
    assert "jwt_refresh_seconds" in refused(**JWT, jwt_refresh_seconds=0)
    assert "ticket_seconds" in refused(ticket_seconds=301)


def test_a_revoked_key_is_taken_for_a_minute_more_at_most() -> None:
    said = refused(key_refresh_seconds=60.1)
    assert "key_refresh_seconds" in said
    assert "less than or equal to 60" in said
    assert Settings(key_refresh_seconds=60).key_refresh_seconds == 60


@pytest.mark.parametrize(("name", "most"), [("session_seconds", 31_622_400), ("stream_max_topics", 1_000)])
def test_more_than_the_database_takes_is_refused_at_the_start(name: str, most: int) -> None:
    highest: dict[str, Any] = {name: most}
    assert getattr(Settings(**highest), name) == most
    assert f"less than or equal to {most}" in refused(**{name: most + 1})


@pytest.mark.parametrize(
    "host",
    [
        "https://app.example", "app.example:443", "App.Example", "app.example/", "*.*.example", "a*.example",
        "fd00::1", "app..example", ".example", "", " ", "a b", "me@app.example",
    ],
)  # fmt: skip
def test_an_allowed_host_is_one_name_as_the_header_has_it(host: str) -> None:
    assert "is not a host" in refused(allowed_hosts=[host])


def test_allowed_hosts_are_names_addresses_and_stars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAPLESS_ALLOWED_HOSTS", "app.example, *.app.example,192.0.2.1,[fd00::1],")
    assert Settings().allowed_hosts == ["app.example", "*.app.example", "192.0.2.1", "[fd00::1]"]
    assert Settings(allowed_hosts="*").allowed_hosts == ["*"]


def test_names_that_are_no_settings_are_found_with_the_one_that_was_meant() -> None:
    assert unknown_variables(["GAPLESS_POL_MAX", "gapless_ports", "GAPLESS_SHOE_SIZE"]) == {
        "GAPLESS_POL_MAX": "GAPLESS_POOL_MAX",
        "GAPLESS_SHOE_SIZE": None,
        "gapless_ports": "GAPLESS_PORT",
    }


def test_a_port_that_is_kubernetes_address_of_a_service_is_none_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GAPLESS_PORT", "tcp://10.96.0.12:8080")
    assert Settings().port == 8080
    assert Settings(port=9000).port == 9000
    monkeypatch.setenv("GAPLESS_PORT", "eighty")
    assert "port" in refused()


def test_every_setting_and_what_others_set_are_known() -> None:
    settings = [f"GAPLESS_{name.upper()}" for name in Settings.model_fields]
    of_others = [
        "GAPLESS_URL", "GAPLESS_TOKEN", "GAPLESS_TOKEN_FILE", "GAPLESS_TEST_POSTGRES_BIN",
        "GAPLESS_OWNER_PASSWORD", "DATABASE_URL", "PATH",
        "GAPLESS_SERVICE_HOST", "GAPLESS_SERVICE_PORT_HTTP", "GAPLESS_PORT_8080_TCP_ADDR",
        "GAPLESS_WEB_SERVICE_HOST",
    ]  # fmt: skip
    assert unknown_variables([*settings, "gapless_pool_max", *of_others]) == {}
