"""How long the tests that search may search: GAPLESS_SOAK=1 lets them go on for much longer."""

import os
from typing import TypeVar

T = TypeVar("T")

SOAK = os.environ.get("GAPLESS_SOAK") == "1"


def effort(quick: T, soak: T) -> T:
    return soak if SOAK else quick
