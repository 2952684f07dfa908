"""Every regular expression of ours takes 100 kB of its worst case in 10 ms.

Found in the source, wherever they are used, with the method that they are used by: searching is dearer than
matching. The worst case is looked for: runs of each character that the expression knows, of each pair of
them, after what it begins with and before what it cannot take.
"""

import ast
import importlib
import itertools
import re
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.wait import shared

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_constants
    import sre_parse

ROOT = Path(__file__).parents[2]
METHODS = ("match", "search", "fullmatch", "sub", "split", "findall", "finditer", "scanner")
FULL = 100_000
SAMPLE = 4_000
SECONDS = 0.010
SUSPICIOUS_SECONDS = 0.0005
MOST_CHARACTERS = 12


class Use(NamedTuple):
    place: str
    pattern: "re.Pattern[Any]"
    method: str


def uses() -> Iterator[Use]:
    for path in sorted([*ROOT.glob("app/**/*.py"), *ROOT.glob("spark/**/*.py")]):
        text = path.read_text()
        if "import re\n" in text:
            yield from _uses_in(path, ast.parse(text))


def _uses_in(path: Path, tree: ast.Module) -> Iterator[Use]:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    module = importlib.import_module(name)
    compiled: dict[str, re.Pattern[Any]] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and _call_of_re(statement.value) == "compile":
            (target,) = statement.targets
            assert isinstance(target, ast.Name)
            compiled[target.id] = getattr(module, target.id)
    found = 0
    for node in ast.walk(tree):
        called = _call_of_re(node)
        if called == "compile":
            found += 1
        elif called in METHODS:
            assert isinstance(node, ast.Call)
            flags = re.ASCII if "re.ASCII" in ast.unparse(node) else 0
            yield Use(f"{name}:{node.lineno}", re.compile(ast.literal_eval(node.args[0]), flags), called)
        elif (
            isinstance(node, ast.Attribute)
            and node.attr in METHODS
            and isinstance(node.value, ast.Name)
            and node.value.id in compiled
        ):
            yield Use(f"{name}:{node.lineno}", compiled[node.value.id], node.attr)
    assert found == len(compiled), f"{name} compiles one where this test does not find it"


def _call_of_re(node: ast.AST) -> str | None:
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
    ):
        return node.func.attr
    return None


def shapes(pattern: "re.Pattern[Any]") -> Iterator[tuple[str, str, str]]:
    """How a text begins, what it repeats and how it ends."""
    known, beginning = _characters(pattern)
    pairs = [a + b for a, b in itertools.product(known, repeat=2)]
    again = [beginning + character for character in known] if beginning else []
    return itertools.product(("", beginning), pairs + again, ("", "\0"))


def text_of(use: Use, shape: tuple[str, str, str], length: int) -> Any:
    begin, run, end = shape
    text = (begin + run * (length // len(run)))[: length - 1] + end
    return text if isinstance(use.pattern.pattern, str) else text.encode("latin-1", "replace")


def _characters(pattern: "re.Pattern[Any]") -> tuple[list[str], str]:
    """Some that it knows, and what it begins with."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = sre_parse.parse(text, pattern.flags & (re.DOTALL | re.ASCII))
    literals = itertools.takewhile(lambda item: item[0] is sre_constants.LITERAL, _items(tree))
    beginning = "".join(chr(item[1]) for item in literals)
    found = dict.fromkeys(_literals(tree))
    return [*found][:MOST_CHARACTERS], beginning


def _items(tree: Any) -> Iterator[Any]:
    """Those of a group at the beginning too."""
    for item in tree:
        if item[0] is sre_constants.SUBPATTERN:
            yield from _items(item[1][-1])
        else:
            yield item


def _literals(tree: Any) -> Iterator[str]:
    """Literals, ends of ranges, one of each class of characters; from wherever in the tree."""
    if isinstance(tree, tuple | list) or hasattr(tree, "data"):
        kind = tree[0] if isinstance(tree, tuple) and tree else None
        if kind in (sre_constants.MAX_REPEAT, sre_constants.MIN_REPEAT):
            # The bounds beside it are numbers of times, no characters.
            yield from _literals(tree[1][2])
        elif kind in (sre_constants.LITERAL, sre_constants.NOT_LITERAL):
            yield chr(tree[1])
            yield "a"
        elif kind is sre_constants.RANGE:
            yield from map(chr, tree[1])
        elif kind is sre_constants.ANY:
            yield "a"
        elif kind is sre_constants.CATEGORY:
            yield {"DIGIT": "7", "SPACE": " "}.get(str(tree[1]).rpartition("_")[2], "a")
        else:
            for part in tree:
                yield from _literals(part)


def seconds_of(use: Use, text: Any) -> float:
    method: Callable[..., Any] = getattr(use.pattern, use.method)
    began = time.thread_time()
    if use.method == "sub":
        method("" if isinstance(text, str) else b"", text)
    elif use.method == "finditer":
        list(method(text))
    else:
        method(text)
    return time.thread_time() - began


USES = list(uses())


def test_all_regexes_of_the_code_are_found() -> None:
    assert len(USES) > 40
    assert {use.place.split(".")[0] for use in USES} == {"app", "spark"}


def test_the_search_for_worst_cases_finds_what_is_slow() -> None:
    for slow, method in (("(a+)+$", "match"), (r"\s*,", "search"), ("(a|a)*b", "match"), (r"//\S*@", "sub")):
        use = Use("here", re.compile(slow), method)
        if method == "match":
            assert seconds_of(use, "a" * 22 + "!") > SUSPICIOUS_SECONDS
        else:
            assert any(
                min(seconds_of(use, text_of(use, shape, SAMPLE)) for _ in range(2)) > SUSPICIOUS_SECONDS
                for shape in shapes(use.pattern)
            ), slow


@pytest.mark.parametrize("use", USES, ids=[f"{use.place}-{use.method}" for use in USES])
def test_30_a_regex_takes_its_worst_case_in_time(use: Use) -> None:
    """A part of the text first: what takes long for that is given all of it."""
    for shape in shapes(use.pattern):
        if seconds_of(use, text_of(use, shape, SAMPLE)) > SUSPICIOUS_SECONDS:
            text = text_of(use, shape, FULL)
            fastest = min(seconds_of(use, text) for _ in range(3))
            assert fastest < shared(SECONDS), f"{use.pattern.pattern!r} on {text[:40]!r}…: {fastest:.3f} s"
