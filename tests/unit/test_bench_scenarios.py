"""What `python -m tests.bench` runs."""

from pathlib import Path

from tests.bench.__main__ import SCENARIOS

FOLDER = Path(__file__).resolve().parents[1] / "bench" / "scenarios"


def test_every_scenario_is_listed() -> None:
    measuring = [file.stem for file in FOLDER.glob("*.py") if "\nasync def measure(" in file.read_text()]
    assert sorted(SCENARIOS) == sorted(measuring)
