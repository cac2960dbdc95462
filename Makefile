# What is assumed: python3 (3.11 or later) with pip, and make. Everything else is installed into $(VENV).
#
#   make tpch [SF=1] [WORKERS=n]   generate TPC-H (kept for the next time), run the 22 queries, check every answer
#   make test                      linter, formatter, type checker, tests
#   make test-full                 the same with the tests that take minutes
#   make clean                     remove the environment and caches; generated data stays
#
# Another interpreter, beside the first: make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON  ?= python3
VENV    ?= .venv
SF      ?= 1
WORKERS ?=
DATA    ?= data/tpch/sf$(SF)

# pip of the outer interpreter installs into the environment, so that no bundled copy of pip is needed to make one.
PIP_INSTALL = $(PYTHON) -m pip --python $(VENV)/bin/python --disable-pip-version-check install -qq --no-input
RUN = $(VENV)/bin/python -m

.PHONY: tpch test test-full check clean
.DELETE_ON_ERROR:

tpch: $(VENV)/.installed-tpch
	$(RUN) tpch generate --sf $(SF) --dir $(DATA)
	$(RUN) tpch run --sf $(SF) --dir $(DATA) $(if $(WORKERS),--workers $(WORKERS))

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
