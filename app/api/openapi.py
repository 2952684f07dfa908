"""Writes the API's description: `python -m app.api.openapi openapi/openapi.json`.

The table of error codes in a PROTOCOL.md beside it is written too.
"""

import json
import sys
from pathlib import Path

from app.api import problem_types
from app.api.application import Service
from app.settings import Settings

END = "<!-- end of codes -->"


def text() -> str:
    """The document of a service with default settings, the same whatever the environment says."""
    document = Service(Settings.model_construct()).openapi()
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def with_codes(page: str) -> str:
    """The protocol page with its table of error codes."""
    head, beginning, rest = page.partition("<!-- codes:")
    comment, _, table = rest.partition("\n")
    _, end, tail = table.partition(END)
    return f"{head}{beginning}{comment}\n{problem_types.table()}\n{end}{tail}"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(text(), encoding="utf-8")
    protocol = target.with_name("PROTOCOL.md")
    if protocol.exists():
        protocol.write_text(with_codes(protocol.read_text("utf-8")), encoding="utf-8")
