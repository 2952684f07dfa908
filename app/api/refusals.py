"""The codes that an item of a batch can be refused with: all of them, and what each means."""

from collections.abc import Mapping
from enum import StrEnum


class Refusal(StrEnum):
    INVALID_JSON = "invalid_json"
    INVALID_UTF8 = "invalid_utf8"
    UNSTORABLE_CHARACTER = "unstorable_character"
    NUMBER_OUT_OF_RANGE = "number_out_of_range"
    TOO_DEEP = "too_deep"
    EVENT_TOO_LARGE = "event_too_large"
    TOO_MANY_ITEMS = "too_many_items"
    MISSING_DATA = "missing_data"
    UNKNOWN_FIELD = "unknown_field"
    WRONG_TYPE = "wrong_type"
    CONTROL_CHARACTER = "control_character"
    TOO_LONG = "too_long"
    INVALID_BASE64 = "invalid_base64"
    INVALID_TIME = "invalid_time"
    INVALID_ATTRIBUTE = "invalid_attribute"
    TRANSACTION_SPLIT = "transaction_split"
    TRANSACTION_CONFLICT = "transaction_conflict"


MEANINGS: Mapping[Refusal, str] = {
    Refusal.INVALID_JSON: "The item is not JSON; NaN and Infinity are not either.",
    Refusal.INVALID_UTF8: "The item holds bytes that are not UTF-8.",
    Refusal.UNSTORABLE_CHARACTER: "The item holds U+0000 or half of a surrogate pair.",
    Refusal.NUMBER_OUT_OF_RANGE: "A number has more than 400 digits, as written or written out.",
    Refusal.TOO_DEEP: "The data nests arrays and objects more than 128 levels deep.",
    Refusal.EVENT_TOO_LARGE: "The data and headers of the event are larger than the server takes.",
    Refusal.TOO_MANY_ITEMS: "The event has too many headers, or its transaction too many events.",
    Refusal.MISSING_DATA: "The event has neither data nor data_base64; null is data.",
    Refusal.UNKNOWN_FIELD: "The event has a field that does not exist.",
    Refusal.WRONG_TYPE: "A field has a value of the wrong JSON type.",
    Refusal.CONTROL_CHARACTER: "A name, key, type, id or other attribute holds a control or noncharacter.",
    Refusal.TOO_LONG: "An attribute is longer than allowed.",
    Refusal.INVALID_BASE64: "data_base64 is not the one canonical base64 spelling of some bytes.",
    Refusal.INVALID_TIME: "The time is not RFC 3339 with a zone, within the years 0001 to 9999 in UTC.",
    Refusal.INVALID_ATTRIBUTE: "An attribute is missing, empty, repeated, misspelt or contradicts another.",
    Refusal.TRANSACTION_SPLIT: "Other events stand between those of one transaction.",
    Refusal.TRANSACTION_CONFLICT: "The event names another transaction than the request does.",
}
