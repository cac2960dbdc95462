# What is assumed: python3 (3.11 or later) with pip, and make. Everything else is installed into $(VENV).
#
#   make tpch [SF=1] [WORKERS=n]   generate TPC-H (kept for the next time), run the 22 queries, check every answer
#   make bench [SF=1] [RUNS=2]     qengine, DuckDB and Polars side by side, hot and cold: a table, JSON and a page
#   make bench-full [SF=10]        the same with all engines (PySpark needs a Java runtime)
#   make test                      linter, formatter, type checker, tests
#   make test-full                 the same with the tests that take minutes
#   make clean                     remove the environment and caches; generated data stays
#
# Another interpreter, beside the first: make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON  ?= python3
VENV    ?= .venv
SF      ?= 1
WORKERS ?=
RUNS    ?= 2
DATA    ?= data/tpch/sf$(SF)
RESULT  := data/results/$(shell date +%Y%m%d-%H%M%S)

# pip of the outer interpreter installs into the environment, so that no bundled copy of pip is needed to make one.
PIP_INSTALL = $(PYTHON) -m pip --python $(VENV)/bin/python --disable-pip-version-check install -qq --no-input
RUN = $(VENV)/bin/python -m

.PHONY: tpch bench bench-full test test-full check clean
.DELETE_ON_ERROR:

tpch: $(VENV)/.installed-tpch
	$(RUN) tpch generate --sf $(SF) --dir $(DATA)
	$(RUN) tpch run --sf $(SF) --dir $(DATA) $(if $(WORKERS),--workers $(WORKERS))

bench: ENGINES = qengine,duckdb,polars
bench: $(VENV)/.installed-tpch
	$(measure)

bench-full: SF = 10
bench-full: ENGINES = qengine,duckdb,polars,datafusion,chdb,daft,pyspark
bench-full: $(VENV)/.installed-bench
	$(measure)

# The report is made of what was measured even if an answer was wrong, which the exit status tells.
define measure
	$(RUN) tpch generate --sf $(SF) --dir $(DATA)
	$(RUN) tpch run --sf $(SF) --dir $(DATA) --engines $(ENGINES) --mode hot,cold --runs $(RUNS) \
	    $(if $(WORKERS),--workers $(WORKERS)) --out $(RESULT)-$@.json; \
	status=$$?; test ! -f $(RESULT)-$@.json || $(RUN) tpch report $(RESULT)-$@.json; exit $$status
endef

test: check
	$(RUN) pytest

test-full: check
	$(RUN) pytest -m ""

check: $(VENV)/.installed-dev
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

$(VENV)/.installed-%: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed: make PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PIP_INSTALL) --editable '.[$*]'
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .pytest_cache .ruff_cache
