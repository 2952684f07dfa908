"""The columns of reading, for Spark and for Arrow, and how to check a schema that the user gives."""

from functools import cache

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from spark.options import OptionError

_TYPES: dict[str, DataType] = {
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "id": StringType(),
    "source": StringType(),
    "type": StringType(),
    "subject": StringType(),
    "time": TimestampType(),
    "key": StringType(),
    "headers": MapType(StringType(), StringType()),
    "data": StringType(),
    "transaction_id": StringType(),
    "datacontenttype": StringType(),
    "data_bytes": BinaryType(),
    "published_at": TimestampType(),
}
READ_COLUMNS = tuple(_TYPES)


def spark_schema(columns: tuple[str, ...]) -> StructType:
    return StructType([StructField(name, _TYPES[name]) for name in columns])


@cache
def arrow_schema(columns: tuple[str, ...]) -> pa.Schema:
    """What Spark compares the batches of a task with."""
    return to_arrow_schema(spark_schema(columns), timezone="UTC")


def columns_of(schema: StructType, chosen: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """The columns that a schema asks for; it may leave some out, in any order, but not change a type.

    `chosen` are those of the option `columns`.
    """
    if not schema.fields:
        raise OptionError("schema", "without columns", f"some of {', '.join(READ_COLUMNS)}")
    for field in schema.fields:
        if field.name not in _TYPES:
            raise OptionError("schema", field.name, f"some of {', '.join(READ_COLUMNS)}")
        wanted = f"{field.name} {_TYPES[field.name].simpleString()}"
        if _with_nulls(field.dataType) != _TYPES[field.name]:
            raise OptionError("schema", f"{field.name} {field.dataType.simpleString()}", wanted)
        if not field.nullable or field.dataType != _TYPES[field.name]:
            raise OptionError("schema", f"{wanted} without nulls", f"{wanted} that may have nulls")
    if chosen is not None and set(chosen) != set(schema.names):
        raise OptionError(
            "columns", ",".join(chosen), f"{','.join(schema.names)}, as the schema that is given"
        )
    return tuple(schema.names)


def _with_nulls(kind: DataType) -> DataType:
    return MapType(kind.keyType, kind.valueType) if isinstance(kind, MapType) else kind
