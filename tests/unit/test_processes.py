"""What tests do to processes of theirs."""

import asyncio
import os
import signal
import sys

from tests.support import processes
from tests.support.processes import is_alive, stopped
from tests.support.wait import until

PARENT = """
import os, signal, subprocess, time
ended, going = subprocess.Popen(["true"]), subprocess.Popen(["sleep", "600"])
os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
signal.signal(signal.SIGCONT, lambda *_: ended.wait())
print(ended.pid, going.pid, flush=True)
while True:
    time.sleep(0.01)
"""


async def test_a_child_that_is_gone_when_its_parent_goes_on_leaves_none_of_the_others_stopped() -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    ended, going = map(int, (await parent.stdout.readline()).split())
    try:
        async with stopped(parent.pid):
            assert processes._state(going) == "T"
            os.kill(parent.pid, signal.SIGCONT)
            await until(lambda: not os.path.exists(f"/proc/{ended}"))
        assert is_alive(parent.pid)
        await until(lambda: processes._state(going) == "S")
    finally:
        os.kill(going, signal.SIGKILL)
        parent.kill()
        await parent.communicate()
