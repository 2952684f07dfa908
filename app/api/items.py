"""The items of a batch, one by one: the careful way that decides what is accepted and lists every problem.

Faster ways may accept a batch without coming here, but only what would be accepted here too.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from app.api.decoder_texts import BYTE_ORDER_MARK, SyntaxFault, fault_of
from app.api.drafts import Draft, Limits
from app.api.gate import MAX_DEPTH, flaws, nests_at_most
from app.api.json_text import escaped, parts, pointer_at
from app.api.refusals import Refusal
from app.api.text_rules import MAX_HEADERS
from app.errors import EmptyBatch, InvalidArgument, InvalidEvents, InvalidJson, ItemProblem, TooManyItems
from app.model import NewEvent

Fields = dict[str, msgspec.Raw]
Fill = Callable[[Fields, Draft], None]

MAX_FIELDS = 20 + MAX_HEADERS

_FIELDS = msgspec.json.Decoder(Fields)
_STRING = msgspec.json.Decoder(str)
_OPTIONAL_STRING = msgspec.json.Decoder(str | None)
_ANYTHING = msgspec.json.Decoder(msgspec.Raw)
# The brackets around an item, by which a request may be deeper than its data.
_ENVELOPE = 3
_OPENERS_PER_EVENT = 16


def read_item(text: bytes, draft: Draft, fill: Fill) -> NewEvent | None:
    """The event that a JSON object describes; None, with the problems in the draft, if it cannot be taken."""
    found = flaws(text, MAX_DEPTH + 1)
    for flaw in found:
        draft.refuse(flaw.code, flaw.detail, pointer_at(text, flaw.position))
    fields = None if found else _fields(text, draft)
    if fields is None:
        return None
    fill(fields, draft)
    return draft.event()


def _fields(text: bytes, draft: Draft) -> Fields | None:
    members = parts(text, 0, MAX_FIELDS)
    if text.startswith(b"{") and members is not None and len(members[0]) > MAX_FIELDS:
        draft.refuse(Refusal.TOO_MANY_ITEMS, f"The event has more than {MAX_FIELDS} fields.")
        return None
    try:
        return _FIELDS.decode(text)
    except msgspec.DecodeError:
        # The decoder looks at types first: a number with a stray bracket behind it would be no object to it.
        fault = syntax_fault(text, " of the event")
    if fault is None:
        draft.refuse(Refusal.WRONG_TYPE, "An event must be a JSON object.")
    else:
        pointer = "" if fault.position is None else pointer_at(text, fault.position)
        draft.refuse(Refusal.INVALID_JSON, fault.detail, pointer)
    return None


def read_items(
    items: Iterable[tuple[int, bytes]], fill: Fill, limits: Limits, transaction_id: str | None
) -> list[NewEvent]:
    """The events of numbered texts; every problem of every one is listed if any cannot be taken."""
    events: list[NewEvent] = []
    problems: list[ItemProblem] = []
    numbers: list[int] = []
    for number, text in items:
        draft = Draft(number, limits, transaction_id)
        if event := read_item(text, draft, fill):
            events.append(event)
            numbers.append(number)
        problems += draft.problems
    settle(events, numbers, problems)
    return events


def settle(events: Sequence[NewEvent], numbers: Sequence[int], problems: list[ItemProblem]) -> None:
    """Look at the events together, and raise what is wrong with any of them."""
    detail = "Other events stand between this one and the transaction's earlier ones."
    problems += [
        ItemProblem(numbers[i], Refusal.TRANSACTION_SPLIT, detail)
        for i in torn([event.transaction_id for event in events])
    ]
    if problems:
        problems.sort(key=lambda problem: int(problem["index"]))
        raise InvalidEvents(_summary(problems), problems)


def torn(transaction_ids: Sequence[str | None]) -> list[int]:
    """Which of these come back to a transaction that others have followed already."""
    if not any(transaction_ids):
        return []
    found = []
    seen: set[str | None] = {None}
    previous = None
    for i, current in enumerate(transaction_ids):
        if current != previous:
            if current is not None and current in seen:
                found.append(i)
            seen.add(current)
            previous = current
    return found


def _summary(problems: Sequence[ItemProblem]) -> str:
    bad = len({problem["index"] for problem in problems})
    return f"{bad} event{'s' if bad > 1 else ''} cannot be stored as sent; nothing was published."


def array_items(array: bytes, limits: Limits, document: bytes) -> list[bytes]:
    """The texts between the commas of a JSON array, which is all of the document or stands in it."""
    if not array.startswith(b"["):
        raise malformed(document, "The events must be a JSON array.")
    split = parts(array, 0, limits.max_batch_events)
    too_many = split is not None and len(split[0]) > limits.max_batch_events
    # Where nothing stands between two commas there is no event to name.
    if (
        split is None
        or b"" in split[0]
        or not (too_many or (split[1] == len(array) and array.endswith(b"]")))
    ):
        fault = syntax_fault(document)
        raise InvalidJson(
            "The brackets and commas of the JSON text do not fit together." if fault is None else fault.detail
        )
    check_count(len(split[0]), limits)
    return split[0]


def malformed(document: bytes, rule: str) -> InvalidJson | InvalidArgument:
    """The error for a text that is not JSON, or not the JSON that `rule` asks for."""
    fault = syntax_fault(document)
    return InvalidArgument(rule) if fault is None else InvalidJson(fault.detail)


def check_count(events: int, limits: Limits) -> None:
    if events == 0:
        raise EmptyBatch("There is no event in the batch.")
    if events > limits.max_batch_events:
        most = limits.max_batch_events
        raise TooManyItems(f"A batch holds at most {most} events.", limit=most)


def syntax_fault(document: bytes, of: str = "") -> SyntaxFault | None:
    """What is wrong with the text; nothing if it is JSON, or too deep for the parser to look at."""
    # Of what begins with a byte order mark the parser reads nothing more.
    if not document.startswith(BYTE_ORDER_MARK) and not nests_at_most(document, MAX_DEPTH + _ENVELOPE):
        return None
    try:
        _ANYTHING.decode(document)
    except msgspec.DecodeError as error:
        return fault_of(document, str(error), of)
    return None


def may_be_many(document: bytes, limits: Limits) -> bool:
    """Whether decoding the whole batch at once could cost much more memory than a batch may."""
    most = _OPENERS_PER_EVENT * limits.max_batch_events
    return len(document) > most and document.count(b"{") > most


def text_of(raw: msgspec.Raw, name: str, draft: Draft, parent: str = "") -> str | None:
    """The string that a field holds; null is the same as leaving the field out, but for headers."""
    try:
        return (_STRING if parent else _OPTIONAL_STRING).decode(raw)
    except msgspec.ValidationError:
        pointer = f"{parent}/{escaped(name[:100])}"
        draft.refuse(Refusal.WRONG_TYPE, f"{name[:100]} must be a string.", pointer)
    return None
