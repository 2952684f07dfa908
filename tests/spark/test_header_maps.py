"""Headers of events as maps of Arrow, also those that only SQL takes."""

import pyarrow as pa
import pytest

from spark.columns import header_maps
from spark.transport import GaplessError


def test_values_that_are_no_texts_come_as_their_json() -> None:
    maps = header_maps(pa.array(['{"a":"1","b":1.10,"c":null}', None, "null", "{}"]))
    assert maps.to_pylist() == [[("a", "1"), ("b", "1.10"), ("c", None)], None, None, []]


@pytest.mark.parametrize("text", ["[1]", '"a"', '{"a":"\\ud800"}', '{"\\udfff":"a"}'])
def test_headers_that_cannot_be_a_map_are_refused_by_name(text: str) -> None:
    with pytest.raises(GaplessError, match="headers that are no object of texts"):
        header_maps(pa.array([text]))
