"""An export that stops at a named point and says so, to be killed there.

`python -m tests.spark.paused_export POINT REACHED ARGUMENTS…`: REACHED is a file to create there.
"""

import os
import sys
import threading
from pathlib import Path

from spark.jobs import export
from spark.jobs.manifest import Part, Step

POINTS = ("half moved", "moved")


class PausedExport(export.Export):
    moves = 0

    def _move(self, part: Part) -> Part:
        self.moves += 1
        # The second step; the first one is in the manifest.
        if self.moves == 4:
            pause("half moved")
        return super()._move(part)

    def _commit(self, step: Step) -> None:
        pause("moved")
        super()._commit(step)


def pause(point: str) -> None:
    if point == sys.argv[1]:
        Path(sys.argv[2]).touch()
        while os.getppid() != 1:
            threading.Event().wait(0.2)
        os._exit(1)


if __name__ == "__main__":
    vars(export)["Export"] = PausedExport
    sys.exit(export.main(sys.argv[3:]))
