"""Nothing that comes from outside becomes code, or an object of its own choice: options of Spark neither."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = sorted([*ROOT.glob("app/**/*.py"), *ROOT.glob("spark/**/*.py")])
MAKERS = {"cloudpickle", "cPickle", "dill", "joblib", "jsonpickle", "marshal", "pickle", "shelve", "yaml"}
"""Modules that read objects, some of which run what the text says."""
EVALUATORS = {"__import__", "compile", "eval", "exec", "execfile"}
SQL_EVALUATORS = {"expr", "selectExpr"}
"""Of Spark."""


def dangers(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in MAKERS)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            named = {alias.name for alias in node.names}
            if module.partition(".")[0] in MAKERS or named & (EVALUATORS | SQL_EVALUATORS):
                yield module
        elif isinstance(node, ast.Name) and node.id in EVALUATORS:
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr in SQL_EVALUATORS | (EVALUATORS - {"compile"}):
            yield node.attr


def test_22_no_code_and_no_object_is_made_of_text() -> None:
    found = {str(path.relative_to(ROOT)): list(dangers(path.read_text())) for path in CODE}
    assert len(found) > 150
    assert {place: names for place, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "text",
    [
        "eval(option)",
        "run = exec",
        "builtins.eval(option)",
        "import pickle",
        "import yaml.loader",
        "from marshal import loads as read",
        "from builtins import eval as read",
        "def read():\n    import dill",
        "frame.selectExpr(option)",
        "from pyspark.sql.functions import expr",
    ],
)
def test_22_what_would_make_some_is_found(text: str) -> None:
    assert list(dangers(text))


def test_22_what_only_looks_alike_is_not() -> None:
    assert list(dangers('re.compile("eval(")\nast.literal_eval(text)\nevaluate(text)')) == []
