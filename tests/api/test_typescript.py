"""The types for TypeScript: written from the committed document, and enough for a strict dashboard."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.support.node import FOLDER, MODULES, require_packages, run

TYPES = FOLDER / "gapless.d.ts"
PAGE = FOLDER.parent / "docs" / "DASHBOARDS.md"

pytestmark = pytest.mark.timeout(300)  # the first run installs the compiler


def test_the_types_are_of_the_committed_document() -> None:
    recorded = re.search(
        r"^// SHA-256 of openapi\.json: ([0-9a-f]{64})$", TYPES.read_text("utf-8"), re.MULTILINE
    )
    assert recorded
    assert recorded[1] == hashlib.sha256((FOLDER / "openapi.json").read_bytes()).hexdigest(), (
        "run `make types`"
    )


def test_the_types_are_what_the_generator_writes(tmp_path: Path) -> None:
    require_packages()
    written = tmp_path / "gapless.d.ts"
    done = run("node", "types.mjs", written)
    assert done.returncode == 0, done.stderr
    assert written.read_text("utf-8") == TYPES.read_text("utf-8"), "run `make types`"


def test_the_example_compiles_strictly() -> None:
    require_packages()
    done = run(MODULES / ".bin" / "tsc", "--noEmit", "--strict", "--project", ".")
    assert done.returncode == 0, done.stdout


WRONG = {
    "const lag: string = group.lag;": "TS2322",
    "const reason: string = group.reason;": "TS2322",  # null
    "const status: 'RUNNING' = group.status;": "TS2367|TS2322",
    "group.lagg;": "TS2551",
    "const changes: SubscriptionChanges = { max_attempt: 3 };": "TS2561",
    "const type: string = event.type;": "TS2322",  # left out
}


def test_what_does_not_fit_the_types_does_not_compile(tmp_path: Path) -> None:
    require_packages()
    source = tmp_path / "wrong.ts"
    types = json.dumps(str(FOLDER / "gapless.js"))
    names = "SubscriptionChanges, SubscriptionDetails, StoredEvent"
    first = f"import type {{ {names} }} from {types};"
    second = "declare const group: SubscriptionDetails, event: StoredEvent;"
    source.write_text("\n".join([first, second, *WRONG]))
    said = run(MODULES / ".bin" / "tsc", "--noEmit", "--strict", "--skipLibCheck", source).stdout
    for line, fault in enumerate(WRONG.values(), 3):
        assert re.search(rf"wrong\.ts\({line},\d+\): error ({fault})", said), said


def test_what_the_page_for_dashboards_shows_compiles() -> None:
    require_packages()
    first, second = re.findall(r"^```ts\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    folder = MODULES / ".page"  # among the packages, where they are found
    folder.mkdir(exist_ok=True)
    source = folder / "page.ts"
    types = json.dumps(str(FOLDER / "gapless.js"))
    source.write_text(
        "declare const key: string, base: string, show: (event: object) => void;\n"
        "declare let last: string; declare const warn: (gap: object) => void;\n"
        "declare const drop: (topic: string) => void;\n" + first.replace('"./gapless.js"', types) + second
    )
    options = ("--noEmit", "--strict", "--skipLibCheck", "--target", "es2022")
    done = run(
        MODULES / ".bin" / "tsc", *options, "--module", "esnext", "--moduleResolution", "bundler", source
    )
    assert done.returncode == 0, done.stdout


def test_the_page_for_dashboards_is_short_and_its_links_lead_somewhere() -> None:
    text = PAGE.read_text("utf-8")
    assert text.count("\n") <= 150
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert link.startswith("https://") or (PAGE.parent / link).exists(), link


def test_the_lock_names_no_registry() -> None:
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    assert all("integrity" in package for name, package in lock["packages"].items() if name)
    assert "omit-lockfile-registry-resolved=true" in (FOLDER / ".npmrc").read_text().splitlines()
    wanted = json.loads((FOLDER / "package.json").read_text())["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())
