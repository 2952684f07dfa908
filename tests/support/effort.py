"""How long the tests that search may search: GAPLESS_SOAK=1 lets them go on for much longer."""

import os
from typing import TypeVar

from hypothesis import HealthCheck

T = TypeVar("T")

LUCK = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
"""Checks of Hypothesis that depend on the machine and on what is drawn."""

SOAK = os.environ.get("GAPLESS_SOAK") == "1"


def effort(quick: T, soak: T) -> T:
    return soak if SOAK else quick
