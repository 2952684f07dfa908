"""Jobs for `python -m spark.jobs.NAME` and spark-submit: publish files, export a topic, replay an export."""
