"""The security checklist: a test says by its name which case of it that proves, `test_<case>_…`."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NAME = re.compile(r"test_(\d+)_")

CASES = {
    1: "credentials that are none",
    2: "forged and unfit JWTs",
    3: "API keys: hashed, compared in constant time",
    4: "what a role may not do",
    5: "another tenant's things are not there",
    6: "every operation without a token",
    7: "other spellings of paths and methods",
    8: "tokens of leases",
    9: "the role of the service in the database",
    10: "tokens in URLs, and tickets",
    11: "other origins",
    12: "the cookie of the page, and forged requests by it",
    13: "streams end with the right to them",
    14: "frames of streams",
    15: "headers of HTTP",
    16: "SQL",
    17: "jsonpath",
    18: "patterns that take for ever",
    19: "the log",
    20: "exports as CSV",
    21: "texts on the page",
    22: "code and objects made of text",
    23: "bodies that are too large",
    24: "JSON to choke on",
    25: "clients that are slow",
    26: "headers and queries that are too large",
    27: "streams without number",
    28: "rates, and others at theirs",
    29: "reads that would cost much",
    30: "regular expressions of ours",
    31: "one key for all events",
    32: "requests that can be read in two ways",
}
FURTHER = range(33, 41)
"""Cases of what goes out, secrets and the supply chain: `make lint` and `make audit` prove some of them."""

# Of 18 only the `like_regex` of a jsonpath is not.
NOT_BUILT = {
    17: "no filter takes a jsonpath",
    20: "nothing is exported as CSV: jobs of Spark write Parquet",
}


def proofs(texts: Mapping[str, str]) -> dict[int, list[str]]:
    """The tests in these files by the case that they prove. The files are not run."""
    found: dict[int, list[str]] = {}
    for place, text in texts.items():
        for function in _functions(ast.parse(text).body):
            if named := NAME.match(function):
                found.setdefault(int(named[1]), []).append(f"{place}::{function}")
    return found


def _functions(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Those that pytest takes for tests: of a module, and of classes in it."""
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement.name
        elif isinstance(statement, ast.ClassDef) and statement.name.startswith("Test"):
            yield from _functions(statement.body)


@pytest.fixture(scope="module")
def proved() -> dict[int, list[str]]:
    return proofs({str(path.relative_to(TESTS)): path.read_text() for path in TESTS.rglob("test_*.py")})


def test_every_case_has_a_test_or_a_reason_why_it_has_none(proved: dict[int, list[str]]) -> None:
    assert list(CASES) == list(range(1, 33))
    lacking = CASES.keys() - proved.keys() - NOT_BUILT.keys()
    assert not lacking, {number: CASES[number] for number in sorted(lacking)}


def test_what_is_not_built_has_no_test(proved: dict[int, list[str]]) -> None:
    assert NOT_BUILT.keys() <= CASES.keys()
    assert {number: proved[number] for number in NOT_BUILT if number in proved} == {}


def test_no_test_names_a_case_that_does_not_exist(proved: dict[int, list[str]]) -> None:
    unknown = proved.keys() - CASES.keys() - set(FURTHER)
    assert {number: proved[number] for number in unknown} == {}


def test_a_case_is_named_by_functions_that_are_tests_and_by_nothing_else() -> None:
    text = """
def test_1_plain(): ...
async def test_26_1_000_waits(): ...
class TestThem:
    def test_3_of_a_class(self): ...
class Others:
    def test_4_of_no_test(self): ...
def make():
    def test_5_within_another(): ...
def test_s85_of_a_story(): ...
# def test_6_no_more(): ...
said = "def test_7_in_a_text(): ..."
"""
    assert proofs({"here": text}) == {
        1: ["here::test_1_plain"],
        26: ["here::test_26_1_000_waits"],
        3: ["here::test_3_of_a_class"],
    }
