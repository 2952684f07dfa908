"""What /readyz asks the rights for is what the service calls."""

import re
from pathlib import Path

import app.db
from app.db.readiness import CALLED


def test_readiness_knows_every_function_that_the_service_calls() -> None:
    package = Path(app.db.__file__).parent
    called = {
        name
        for file in package.glob("*.py")
        for name in re.findall(r"gapless\.([a-z_]+)\(", file.read_text())
    }
    assert set(CALLED) == called
