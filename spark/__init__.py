"""Gapless for Spark: the data source `gapless`, for batches and streams, reading and writing.

`register(session)` makes `session.read.format("gapless")` and the like work; the docstring of
`GaplessDataSource` lists the options.
"""

from spark.source import GaplessDataSource, register

__all__ = ["GaplessDataSource", "register"]
