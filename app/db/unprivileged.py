"""How to run PostgreSQL, which refuses to run as root, whoever we are.

As root it gets a user namespace of its own: no user is made, no file changes its mode or owner. Where
namespaces are refused (many containers) it runs as nobody, who must be able to reach the data folder.
"""

import os
import shutil
import subprocess  # nosec B404
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

from app.errors import EmbeddedServerFailed

NOBODY = 65534
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC"}


class Launch(NamedTuple):
    """`prefix` goes before each program of `bin_folder`; `user` is switched to first (None: stay)."""

    prefix: tuple[str, ...]
    user: int | None
    bin_folder: Path

    def spawn(
        self, program: str, arguments: Sequence[str | Path], output: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a program in a session of its own: Ctrl-C is for the service, which stops the server last."""
        return subprocess.Popen(  # nosec B603
            [*self.prefix, self.bin_folder / program, *arguments],
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
            env=ENVIRONMENT,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def owner(self) -> int:
        return os.geteuid() if self.user is None else self.user

    def own(self, folder: Path) -> None:
        """Give a folder to the user that the server runs as, who may differ from the last run's."""
        if folder.stat().st_uid == self.owner:
            return
        for parent, _, files in os.walk(folder):
            os.chown(parent, self.owner, self.owner)
            for name in files:
                os.chown(Path(parent, name), self.owner, self.owner, follow_symlinks=False)


def plan(bin_folder: Path, data_dir: Path) -> Launch:
    """Choose a way that works here, tried by running `postgres -V`."""
    # Without setpriv the server of a killed parent goes on until the next start stops it.
    setpriv = shutil.which("setpriv")
    with_parent = (setpriv, "--pdeathsig", "INT") if setpriv else ()
    if os.geteuid() != 0:
        return Launch(with_parent, None, bin_folder)
    # Entering a namespace may clear the death signal, so setpriv comes second.
    namespace = ("unshare", "-U", f"--map-user={NOBODY}", f"--map-group={NOBODY}", *with_parent)
    in_namespace = Launch(namespace, None, bin_folder)
    if works(in_namespace):
        return in_namespace
    return _as_nobody(with_parent, bin_folder, data_dir)


def works(launch: Launch) -> bool:
    try:
        with open(os.devnull, "wb") as nowhere:
            return launch.spawn("postgres", ["-V"], nowhere).wait(10) == 0
    except (OSError, subprocess.SubprocessError):
        return False


def _as_nobody(with_parent: tuple[str, ...], bin_folder: Path, data_dir: Path) -> Launch:
    data_dir.chmod(0o711)
    closed = next(
        (folder for folder in data_dir.resolve().parents if not folder.stat().st_mode & 0o001), None
    )
    if closed is not None:
        raise EmbeddedServerFailed(
            f"PostgreSQL does not run as root and must run as nobody here, who cannot enter {closed}. "
            f"Choose a data folder that every user can reach, such as /var/lib/gapless, or start Gapless as "
            f"a normal user."
        )
    launch = Launch(with_parent, NOBODY, bin_folder)
    if not works(launch):
        launch = launch._replace(bin_folder=_copied(bin_folder, data_dir / "binaries"))
    if works(launch):
        return launch
    raise EmbeddedServerFailed(
        f"PostgreSQL does not run as root, and here it runs neither in a user namespace nor as nobody from "
        f"{launch.bin_folder}. Start Gapless as a normal user, or set DATABASE_URL to a running database."
    )


def _copied(bin_folder: Path, target: Path) -> Path:
    """Copy an installation that nobody cannot read; packages keep libraries beside the package folder."""
    installation = bin_folder.parent
    package = installation.parent
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(installation, target / package.name / installation.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, target / libraries.name, symlinks=True)
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
    return target / package.name / installation.name / "bin"
