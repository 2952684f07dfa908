# Everything runs in .venv, which the first command makes; only Python 3.11 or newer is needed.

PYTHON ?= python3
UV := .venv/bin/uv
RUN := .venv/bin/
DEBIAN_POSTGRES ?= /usr/lib/postgresql/15/bin
# Where it is set, every process of the tests compiles all that it imports: a server takes a second more to start.
unexport PYTHONDONTWRITEBYTECODE
# What a database of another version could change the outcome of.
DATABASE_TESTS := tests/sql tests/db tests/property
# What measures times that were promised has the machine to itself. What kills servers or drives browsers and proxies
# shares it by three, the rest with Spark beside it, a file at a time. More processes than cores, because many tests wait
# for a server to do something.
ALONE := $(addprefix tests/fault/test_,embedded_service.py idle.py kill.py)
SHARING := $(addprefix tests/fault/test_,logs.py metrics_workers.py readiness.py restore.py traces.py)
BY_THREE := tests/browser $(filter-out $(SHARING) $(ALONE),$(wildcard tests/fault/test_*.py)) tests/live
# Of Spark, the jobs, killed drivers and what is marked `soak` are left to the soak, which runs all: a JVM takes a core
# for itself.
SPARK_SOON := tests/spark $(addprefix --ignore=,$(wildcard tests/spark/test_job_*.py) tests/spark/test_driver_killed.py)
SPARK_SOON += -m 'not soak'
# In the order in which tests/conftest.py has them: by their number of tests long files would be begun last.
BY_FILE := --dist loadfile --no-loadscope-reorder --numprocesses

# What searches for longer, or tries more, where it is told to.
LONGER = $(filter-out tests/spark/%,$(shell grep -rl --include='test_*.py' 'import.*\beffort$$' tests))

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show what there is to run.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: .venv/run ## Serve on 127.0.0.1:8080 with a PostgreSQL of its own, data in gapless-data.
	$(RUN)gapless serve

.PHONY: test
test: .venv/dev ## Check the code and run the tests but for Spark's long ones, some on Debian's PostgreSQL too.
	$(MAKE) --no-print-directory --jobs 3 lint test-spark test-others
	$(RUN)pytest $(BY_FILE) 3 $(BY_THREE)
	$(RUN)pytest $(ALONE)
	@if [ -x $(DEBIAN_POSTGRES)/postgres ]; then \
		echo "once more on $(DEBIAN_POSTGRES)"; \
		GAPLESS_TEST_POSTGRES_BIN=$(DEBIAN_POSTGRES) $(RUN)pytest $(BY_FILE) 4 $(DATABASE_TESTS); \
	else \
		echo "no PostgreSQL in $(DEBIAN_POSTGRES): tested on the embedded one only"; \
	fi

.PHONY: test-spark test-others
test-spark: .venv/dev
	@said=$$(mktemp); $(RUN)pytest $(SPARK_SOON) >$$said 2>&1; code=$$?; cat $$said; rm $$said; exit $$code
test-others: .venv/dev
	$(RUN)pytest $(BY_FILE) 4 $(addprefix --ignore=,tests/spark $(BY_THREE) $(ALONE))

.PHONY: lint
lint: .venv/dev ## Check style, types, the layers and habits that are dangerous.
	$(RUN)ruff check .
	$(RUN)ruff format --check .
	$(RUN)mypy
	$(RUN)lint-imports
	$(RUN)bandit --quiet --recursive --configfile pyproject.toml app spark 2>.venv/bandit.log

.PHONY: audit
audit: .venv/dev ## Ask the public advisory database about what is installed; needs the network.
	$(UV) export --quiet --frozen --all-extras --no-dev --no-emit-project --no-header --output-file .venv/audited.txt
	$(RUN)pip-audit --require-hashes --disable-pip --vulnerability-service osv --requirement .venv/audited.txt

.PHONY: format
format: .venv/dev ## Rewrite the code in the style that lint wants.
	$(RUN)ruff check --fix .
	$(RUN)ruff format .

.PHONY: openapi
openapi: .venv/dev ## Write openapi/openapi.json and the codes in PROTOCOL.md from the code, then the types.
	$(RUN)python -m app.api.openapi openapi/openapi.json
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory types; else echo "no npm: types not written"; fi

.PHONY: types
types: ## Write openapi/gapless.d.ts from openapi/openapi.json; needs Node.js.
	cd openapi && npm ci && npm run types

.PHONY: bench
bench: .venv/dev ## Measure, each figure beside its baseline of the same run; a report in bench-results.
	$(RUN)python -m tests.bench --json bench-results/figures.json --html bench-results/report.html

.PHONY: soak
soak: .venv/dev ## Kill, cut and restart for as long as SECONDS says, and run all tests of Spark and those that can search for longer.
	$(RUN)python -m tests.soak --seconds $(or $(SECONDS),600)
	GAPLESS_SOAK=1 $(RUN)pytest tests/spark $(LONGER)
	@if [ -x $(DEBIAN_POSTGRES)/postgres ]; then \
		echo "all but Spark once more on $(DEBIAN_POSTGRES)"; \
		GAPLESS_TEST_POSTGRES_BIN=$(DEBIAN_POSTGRES) $(RUN)pytest $(BY_FILE) 2 --ignore=tests/spark; \
	fi

.PHONY: spark-demo
spark-demo: .venv/spark ## Publish Wikipedia edits by a Spark job and count them as a stream; EDITS=file for real ones.
	$(RUN)python -m spark.demo $(EDITS)

# Stamps of what is installed: older than the lock when that changed.
.venv/run: pyproject.toml uv.lock $(UV)
	$(UV) sync --frozen --inexact --no-default-groups
	@touch $@

.venv/spark: pyproject.toml uv.lock $(UV)
	$(UV) sync --frozen --inexact --no-default-groups --extra spark
	@touch $@ .venv/run

.venv/dev: pyproject.toml uv.lock $(UV)
	$(UV) sync --frozen --inexact --all-groups --all-extras
	@touch $@ .venv/run .venv/spark

$(UV):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Gapless needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check uv
