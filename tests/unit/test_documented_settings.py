"""The settings that README.md and the pages name exist, and have the defaults that are told."""

import re
from pathlib import Path

import pytest

from app.db.session import session_settings
from app.settings import PREFIX, Settings, unknown_variables

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DEPLOYMENT = ROOT / "docs" / "DEPLOYMENT.md"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("openapi/*.md"))]
GIVEN_TO_COMMANDS = {"GAPLESS_OFFSET", "GAPLESS_PARTITION"}
"""By `gapless consume`."""
ROW = re.compile(r"^\| (`GAPLESS_[^|]+) \|([^|]*)\|", re.M)
TOLD = re.compile(r"`(GAPLESS_\w+)`(?: \(|[^`.]*, )([\d,]+(?: MiB)?)(?:\)| by default)")
UNITS = {"": 1, "MiB": 1024 * 1024, "hours": 3600}


def default_of(variable: str) -> object:
    return Settings.model_fields[variable.removeprefix(PREFIX).lower()].default


def is_default(variable: str, text: str) -> bool:
    """Whether the text tells it; words tell what nothing was set for."""
    default = default_of(variable)
    if isinstance(default, bool):
        return text == str(default).lower()
    if isinstance(default, int | float):
        number, _, unit = text.partition(" ")
        return float(number.replace(",", "")) * UNITS[unit] == default
    if isinstance(default, list):
        return text.split(",") == default
    return default is None or text == str(default)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_that_are_named_exist(page: Path) -> None:
    named = set(re.findall(r"\bGAPLESS_[A-Z_]*[A-Z]\b", page.read_text()))
    assert unknown_variables(named - GIVEN_TO_COMMANDS) == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_defaults_that_are_told_in_passing_hold(page: Path) -> None:
    told = TOLD.findall(page.read_text())
    assert [(variable, text) for variable, text in told if not is_default(variable, text)] == []


def test_a_role_behind_a_pooler_is_told_to_have_what_the_service_sets_itself() -> None:
    told = re.findall(r"^alter role gapless_service set (\w+) = '?([^';]+)'?;", DEPLOYMENT.read_text(), re.M)
    set_itself = session_settings(Settings())
    assert {name: milliseconds(value) for name, value in told} == {
        name: value for name, value in set_itself.items() if name != "application_name"
    }


def milliseconds(value: str) -> str:
    return re.sub(r"^(\d+)s$", lambda found: f"{found[1]}000", value)


def test_the_table_of_settings_tells_their_defaults() -> None:
    found = 0
    for names, defaults in ROW.findall(README.read_text()):
        variables = re.findall(r"`(GAPLESS_\w+)`", names)
        texts = re.findall(r"`([^`]+)`|(\d+ (?:MiB|hours))", defaults)
        if variables[0] in ("GAPLESS_URL", "GAPLESS_TOKEN"):
            # Those of the commands.
            continue
        if not texts:
            assert all(default_of(variable) in (None, "", []) for variable in variables), variables
            continue
        for place, variable in enumerate(variables):
            # Some rows tell one default for all that they name.
            text = "".join(texts[min(place, len(texts) - 1)])
            assert is_default(variable, text), (variable, text)
            found += 1
    assert found > 20
