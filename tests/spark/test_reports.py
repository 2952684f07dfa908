"""What the driver says of a run when its tasks are done."""

from spark.publisher import Span
from spark.reports import summary
from spark.task_write import LONGEST_KEY, TaskReport, run_name


def report(task: int, rows: int, replayed: int, **spans: Span) -> TaskReport:
    places = {int(name[1:]): span for name, span in spans.items()}
    return TaskReport("gapless-spark/job/-", "driver", task, "a", rows, 1, replayed, b"", places)


def test_a_summary_counts_rows_and_names_the_range_of_each_partition() -> None:
    reports = [report(0, 30, 0, p1=Span(5, 40, 30)), report(1, 20, 0, p0=Span(1, 8, 8), p1=Span(11, 60, 12))]
    assert summary(reports, "t") == (
        "gapless-spark/job/-: 2 tasks, 50 rows to topic t, 50 published now and 0 before;"
        " partition 0: 8 at 1 to 8, partition 1: 42 at 5 to 60"
    )


def test_a_run_that_found_only_some_of_its_rows_published_is_pointed_out() -> None:
    assert summary([report(0, 30, 30)], "t").endswith("0 published now and 30 before")
    assert summary([report(0, 30, 30), report(1, 10, 0)], "t").endswith(
        "10 published now and 30 before (right if that run had not ended; if it had, its rows were others)"
    )


def test_the_name_of_a_run_leaves_room_for_task_and_chunk() -> None:
    assert run_name("nightly") == "gapless-spark/nightly/-"
    assert run_name("query", "7") == "gapless-spark/query/7"
    long = run_name("n" * 200)
    assert long.startswith("gapless-spark/")
    assert len(long) <= LONGEST_KEY
    assert long != run_name("n" * 199 + "m")
