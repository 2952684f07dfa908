"""Texts speak of groups; a subscription, in names of calls and codes, is what a group has at a topic."""

import re

from app.api.document import EXAMPLES
from app.api.problem_types import MEANINGS
from app.api.problems import STATUS
from app.db.scripts import sql_folder

MESSAGE = re.compile(r"'([^'\n]* [^'\n]*)'")


def test_no_problem_speaks_of_subscriptions() -> None:
    titles = [title for _, title in STATUS.values()]
    texts = [*titles, *(error.detail for error in EXAMPLES), *MEANINGS.values()]
    assert [text for text in texts if "subscription" in text] == []


def test_every_problem_is_told_in_sentences() -> None:
    """A name of a field may begin one, and stays as it is written."""
    fields = [str(error.extra["field"]) for error in EXAMPLES if "field" in error.extra]
    for error in EXAMPLES:
        first = error.detail.split()[0]
        assert first[0].isupper() or first[0].isdigit() or first in fields
        assert error.detail.endswith(".")


def test_no_message_of_the_database_speaks_of_subscriptions() -> None:
    said = []
    for file in (sql_folder() / "functions").glob("*.sql"):
        code = re.sub(r"/\*.*?\*/", "", file.read_text(), flags=re.DOTALL)
        lines = [line for line in code.splitlines() if "message = " in line or "format('" in line]
        said += [text for line in lines for text in MESSAGE.findall(line)]
    assert len(said) > 30
    assert [text for text in said if re.search(r"\bsubscription", text)] == []
