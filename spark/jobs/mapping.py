"""From rows of files to the columns that the data source writes."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import permutations
from math import inf
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from spark.columns import insist_on_json, members
from spark.jobs.inputs import LINE, SHOWN
from spark.jobs.job import JobError
from spark.transport import GaplessError

ATTRIBUTES = ("key", "type", "time", "id", "subject")
UNFIT = "_unfit"
# Spark takes a time without a day to be one of today.
NO_DAY = r"^[\x00-\x20]*(T|\d{1,2}:)"
JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def events(frame: DataFrame, kind: str, fields: Mapping[str, str]) -> DataFrame:
    """`fields` names the field of each attribute, and of data; those that end in ? may be null."""
    given = {attribute: field.removesuffix("?") for attribute, field in fields.items()}
    if kind == "json":
        frame, found, data = _of_lines(frame, given)
        shown = F.col(LINE)
    else:
        found = {attribute: _column(frame, field) for attribute, field in given.items()}
        data = found["data"].cast("string") if "data" in found else _rest(frame, list(given.values()))
        shown = _row(frame)
    columns = []
    for attribute in ATTRIBUTES:
        if attribute in given:
            column = _value(attribute, found[attribute], given[attribute], shown)
            if not fields[attribute].endswith("?"):
                column = F.coalesce(column, _missing(given[attribute], shown))
            columns.append(column.alias(attribute))
    if "data" in given:
        data = F.coalesce(data, _missing(given["data"], shown))
    return frame.select(*columns, data.alias("data"))


def _value(attribute: str, found: Column, field: str, row: Column) -> Column:
    if attribute != "time":
        return found.cast("string")
    time = found.try_cast("timestamp")
    unfit = found.isNotNull() & (time.isNull() | found.cast("string").rlike(NO_DAY))
    return F.when(unfit, _refused(f"the field {field!r} is no time", row).cast("timestamp")).otherwise(time)


def _missing(field: str, row: Column) -> Column:
    return _refused(f"there is no field {field!r} (write {field}? if it may be absent)", row)


def _refused(reason: str, row: Column) -> Column:
    return F.raise_error(F.concat(F.lit(f"{reason} in this row: "), F.substring(row, 1, SHOWN)))


def _column(frame: DataFrame, field: str) -> Column:
    """`a.b` is the column of that name, or else b in the struct a."""
    if field in frame.columns:
        return F.col(f"`{field}`")
    first, *steps = field.split(".")
    if first not in frame.columns:
        raise JobError(f"there is no column {first!r}, only {', '.join(frame.columns)}")
    found = F.col(f"`{first}`")
    for step in steps:
        found = found.getField(step)
    return found


def _row(frame: DataFrame) -> Column:
    return F.to_json(F.struct(*[f"`{name}`" for name in frame.columns]), JSON_OPTIONS)


def _rest(frame: DataFrame, used: Sequence[str]) -> Column:
    left = [field for field in frame.schema.fields if field.name not in used]
    data = F.to_json(F.struct(*[f"`{field.name}`" for field in left]), JSON_OPTIONS) if left else F.lit("{}")
    for field in left:
        refused = _refused(f"the field {field.name!r} has what is no number of JSON", _row(frame))
        data = F.when(_beyond_json(F.col(f"`{field.name}`"), field.dataType), refused).otherwise(data)
    return data


def _beyond_json(value: Column, kind: DataType) -> Column:
    """Whether there is a NaN or an infinity in it, which Spark would write as text."""
    match kind:
        case DoubleType() | FloatType():
            return F.isnan(value) | (F.abs(value) == F.lit(inf))
        case ArrayType(elementType=below):
            return F.exists(value, lambda one: _beyond_json(one, below))
        case MapType(valueType=below):
            return _beyond_json(F.map_values(value), ArrayType(below))
        case StructType(fields=fields):
            inside = [_beyond_json(value.getField(field.name), field.dataType) for field in fields]
            return reduce(or_, inside, F.lit(False))
    return F.lit(False)


def _of_lines(frame: DataFrame, given: Mapping[str, str]) -> tuple[DataFrame, dict[str, Column], Column]:
    """The data is the line itself, or the text of one member."""
    data = F.col(LINE)
    if "data" in given:
        member = F.udf(member_text(given["data"].split(".")), StringType(), useArrow=False)(LINE)
        unfit = _refused("what is not UTF-8 is", F.make_valid_utf8(LINE))
        data = F.when(F.is_valid_utf8(LINE), member).otherwise(unfit)
    paths = {attribute: field.split(".") for attribute, field in given.items() if attribute != "data"}
    if not paths:
        return frame, {}, data
    for outer, inner in permutations(paths.values(), 2):
        if inner[: len(outer)] == outer != inner:
            raise JobError(
                f"{'.'.join(outer)} and {'.'.join(inner)}: a field of lines and a member of it cannot both be"
                " mapped"
            )
    schema = _schema(list(paths.values())).add(UNFIT, StringType())
    parsed = F.from_json(LINE, schema, {"columnNameOfCorruptRecord": UNFIT})
    frame = frame.withColumn("_line", parsed)
    unfit = _refused("what is mapped cannot be found, as this is no JSON of that shape,", F.col(LINE))
    found = {}
    for attribute, path in paths.items():
        field = F.col("_line")
        for step in path:
            field = field.getField(step)
        found[attribute] = F.when(F.col("_line").getField(UNFIT).isNull(), field).otherwise(unfit)
    return frame, found, data


def member_text(path: Sequence[str]) -> Callable[[str], str | None]:
    def text_of(line: str) -> str | None:
        text = line
        try:
            insist_on_json(line)
            for step in path:
                found, _ = members(text)
                if step not in found:
                    return None
                start, end, _ = found[step]
                text = text[start:end]
        except (ValueError, IndexError, RecursionError):
            raise GaplessError(f"this is no JSON: {line[:SHOWN]}") from None
        return text

    return text_of


def _schema(paths: Sequence[Sequence[str]]) -> StructType:
    """What a path goes through is a struct, what it ends at is text."""
    below: dict[str, list[Sequence[str]]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).extend([rest] if rest else [])
    kinds: dict[str, DataType] = {
        name: _schema(rest) if rest else StringType() for name, rest in below.items()
    }
    return StructType([StructField(name, kind) for name, kind in kinds.items()])
