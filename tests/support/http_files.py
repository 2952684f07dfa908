"""Request files as IDEs run them: `###` between requests, `@name = value`, `{{name}}`, `# @name` for answers.

An answer's parts are `{{name.response.body.$.path}}` and `{{name.response.headers.Name}}`. Two comments are
ours: `# operation:` and `# expect:` say which operation a request shows, and with which status.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

_SEPARATOR = re.compile(r"^###.*$", re.MULTILINE)
_VARIABLE = re.compile(r"^@(\w+)\s*=\s*(.*?)\s*$")
_COMMENT = re.compile(r"^(?:#|//)\s*(.*?)\s*$")
_REFERENCE = re.compile(r"\{\{([^{}]+)\}\}")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


@dataclass
class HttpRequest:
    """As it is written; `variables` are those defined right before it."""

    title: str
    method: str
    url: str
    headers: dict[str, str]
    body: str
    operation: str
    expect: int
    name: str | None = None
    variables: dict[str, str] = field(default_factory=dict)


def requests_in(path: Path) -> tuple[dict[str, str], list[HttpRequest]]:
    """The variables of the file's head, and its requests."""
    text = path.read_text("utf-8")
    titles = [line.removeprefix("###").strip() for line in _SEPARATOR.findall(text)]
    head, *blocks = _SEPARATOR.split(text)
    variables = {found[1]: found[2] for line in head.splitlines() if (found := _VARIABLE.match(line))}
    return variables, [_request(title, block) for title, block in zip(titles, blocks, strict=True)]


def _request(title: str, block: str) -> HttpRequest:
    lines = iter(block.strip("\n").splitlines())
    said: dict[str, str] = {}
    variables: dict[str, str] = {}
    for line in lines:
        if found := _VARIABLE.match(line):
            variables[found[1]] = found[2]
        elif comment := _COMMENT.match(line):
            name, _, value = comment[1].replace("@name ", "@name: ").partition(": ")
            said[name] = value
        elif line:
            method, _, url = line.partition(" ")
            break
    headers = dict(line.split(": ", 1) for line in _until_empty(lines))
    return HttpRequest(
        title,
        method,
        url,
        headers,
        "\n".join(lines),
        said["operation"],
        int(said["expect"]),
        said.get("@name"),
        variables,
    )


def _until_empty(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if not line:
            return
        yield line


class Variables:
    """What references stand for: variables, and answers that have a name."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)
        self._answers: dict[str, httpx.Response] = {}

    def define(self, values: Mapping[str, str]) -> None:
        self._values |= {name: self.fill(value) for name, value in values.items()}

    def answered(self, name: str, answer: httpx.Response) -> None:
        self._answers[name] = answer

    def fill(self, text: str) -> str:
        return _REFERENCE.sub(lambda found: self._value(found[1].strip()), text)

    def _value(self, reference: str) -> str:
        name, dot, part = reference.partition(".response.")
        if not dot:
            return self._values[name]
        answer = self._answers[name]
        if part.startswith("headers."):
            return answer.headers[part.removeprefix("headers.")]
        value = answer.json()
        for member, index in _STEP.findall(part.removeprefix("body.$")):
            value = value[member] if member else value[int(index)]
        return str(value)
