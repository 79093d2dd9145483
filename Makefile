# The chores of the project.  They need only make and a Python that is new enough, with venv and pip.
#
# The environment lives in .venv.  Its stamp carries the name of the Python it was made with, so another
# choice (make PYTHON=python3.12 test) makes a new one, and it is renewed when pyproject.toml or
# constraints.txt change; otherwise nothing is installed twice.

PYTHON ?= python3
BIN    := .venv/bin
STAMP  := .venv/installed-with-$(subst /,_,$(PYTHON))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONHOME PYTHONPATH

PAPER  := runs/table1/paper/paper.html

.DEFAULT_GOAL := help
.PHONY: help study test test-slow lint bench clean .venv

help:
	@echo "make study      run the paper's Table 1 and print where the reports lie"
	@echo "make test       lint, types and tests (under 10 minutes)"
	@echo "make test-slow  the long statistical tests (under 30 minutes)"
	@echo "make lint       lint and types alone"
	@echo "make bench      speed, as ratios to bare SimPy, textbook programs and Ciw"
	@echo "make clean      remove the environment, caches and builds (runs/ stays)"
	@echo "Python 3.11 or newer is needed; choose one with: make PYTHON=python3.12 test"

study: $(STAMP)
	$(BIN)/fairq run table1 --out runs/table1
	@$(MAKE) --silent --no-print-directory $(PAPER)
	@echo
	@echo "The study's report:                runs/table1/report.html (and summary.csv, runs.csv, figures/)"
	@echo "Beside the paper's own numbers:    $(PAPER) (and text, CSV, PNG)"
	@echo "A recorded trace on 8 workers:     $(BIN)/fairq run replay --set workload.arrivals.path=TRACE.csv"

# A finished study is reused by fairq itself; the comparison is made again only if it could differ.
$(PAPER): runs/table1/manifest.json $(wildcard fairq/*.py fairq/*/*.py analysis/*.py)
	$(BIN)/python -m analysis.paper_tables runs/table1
	@touch "$@"

test: lint
	$(BIN)/python -m pytest -n 2

test-slow: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	@$(BIN)/python -c 'import ciw' 2>/dev/null || $(INSTALL) --no-build-isolation --editable ".[dev,bench]"
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv: $(STAMP)

INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt
CHOOSE  := Choose one, for example: make PYTHON=python3.12 test

$(STAMP): pyproject.toml constraints.txt
	@version=$$("$(PYTHON)" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || version= ; \
	case "$$version" in \
	  "") echo "fairq needs Python 3.11 or newer, and '$(PYTHON)' does not run here. $(CHOOSE)" >&2; exit 1;; \
	  [012].*|3.[0-9].*|3.10.*) \
	    echo "fairq needs Python 3.11 or newer, and '$(PYTHON)' is $$version. $(CHOOSE)" >&2; exit 1;; \
	esac; \
	"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "fairq needs Python 3.11 or newer with the modules venv and ensurepip, and '$(PYTHON)' ($$version) lacks" \
	    "them: install them (on Debian and Ubuntu the package python3-venv). $(CHOOSE)" >&2; exit 1; }
	"$(PYTHON)" -m venv --clear .venv
	$(INSTALL) hatchling
	$(INSTALL) --no-build-isolation --editable ".[dev]"
	@touch "$@"
