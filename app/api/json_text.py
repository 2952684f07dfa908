"""Finds places in JSON text without parsing it: the parts of a container, the path to a byte.

Works on bytes, never recurses, and takes time linear in the text whatever it nests. On what is not JSON the
answers are "not found" or imprecise, never an exception: whether it is JSON is for the parser to say.
"""

import re

import msgspec

POINTER_REACH = 256 * 1024
"""Places further into a text get the empty pointer: naming them is a courtesy, not worth a stalled server."""
MAX_POINTER = 256

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_FLAT = rb'[\[{](?:[^"\[\]{}]++|' + _STRING + rb")*+[\]}]"
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")*+([\[\]{}])", re.DOTALL)
# These two pass over containers that hold no other, and over runs of brackets, in one step.
_INSIDE = re.compile(
    rb'(?:[^"\[\]{}]++|' + _STRING + rb"|" + _FLAT + rb")*+(?:([\[{](?:\s*+[\[{])*+)|([\]}]++))", re.DOTALL
)
_OUTSIDE = re.compile(
    rb'(?:[^"\[\]{},]++|' + _STRING + rb"|" + _FLAT + rb")*+(?:([\[{])|([\]}])|,)", re.DOTALL
)
_MEMBER = re.compile(rb"(" + _STRING + rb")\s*+:\s*+", re.DOTALL)
_TOKEN = re.compile(rb"\s*+(?:(" + _STRING + rb')|([\[{])|([\]}])|(,)|:|[^\s"\[\]{},:]++)', re.DOTALL)


def parts(document: bytes, start: int, most: int) -> tuple[list[bytes], int] | None:
    """What the commas of the container that opens at `start` separate, and its end; None if there is none.

    Gives up once there are more than `most` parts.
    """
    found: list[bytes] = []
    begin = position = start + 1
    while len(found) <= most:
        step = _OUTSIDE.match(document, position)
        if step is None:
            return None
        opened, closed = step.groups()
        position = step.end()
        if opened:
            position = _end(document, position)
            if position < 0:
                return None
            continue
        found.append(document[begin : position - 1].strip(b" \t\r\n"))
        begin = position
        if closed:
            return ([] if found == [b""] else found), position
    return found, position


def _end(document: bytes, position: int) -> int:
    depth = 1
    while depth:
        step = _INSIDE.match(document, position)
        if step is None:
            return -1
        opened, closed = step.groups(b"")
        if len(closed) >= depth:
            return step.start(2) + depth
        position = step.end()
        depth += _openers(opened) - len(closed)
    return position


def _openers(run: bytes) -> int:
    return run.count(b"[") + run.count(b"{")


def member(part: bytes) -> tuple[str, bytes] | None:
    """The name and the value of a part of an object."""
    found = _MEMBER.match(part)
    name = text_of(found[1]) if found else None
    return None if found is None or name is None else (name, part[found.end() :])


def first_deep(document: bytes, depth: int) -> int | None:
    """Where the first container opens that lies deeper than `depth` levels."""
    level = position = 0
    while step := _BRACKET.match(document, position):
        position = step.end()
        level += 1 if step[1] in b"[{" else -1
        if level > depth:
            return step.start(1)
    return None


def pointer_at(document: bytes, position: int) -> str:
    """The JSON pointer of the value at a byte position; of the object, if it is in a member's name.

    Of a very long path the beginning only.
    """
    path: list[int | bytes | None] = []
    at = 0
    while position <= POINTER_REACH and (token := _TOKEN.match(document, at)):
        text, opened, closed, comma = token.groups()
        at = token.end()
        if at > position:
            break
        if opened:
            path.append(0 if opened == b"[" else None)
        elif closed:
            del path[-1:]
        elif path and comma:
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
        elif path and text and path[-1] is None:
            path[-1] = text
    return _pointer(path) if position <= POINTER_REACH else ""


def _pointer(path: list[int | bytes | None]) -> str:
    pointer = ""
    for step in path:
        name = str(step) if isinstance(step, int) else text_of(step)
        if name is None or len(pointer) + len(name) >= MAX_POINTER:
            break
        pointer += "/" + escaped(name)
    return pointer


def text_of(string: bytes | None) -> str | None:
    """The text of a JSON string, if it is one."""
    try:
        return None if string is None else msgspec.json.decode(string, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def escaped(name: str) -> str:
    """A name as a step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")
