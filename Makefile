# Two commands are enough on a fresh machine with Python 3.11+, a C++ compiler and make:
#
#   make app     installs everything, prepares the embedded dataset, opens the dashboard on 127.0.0.1:8501
#   make test    installs everything and runs every check
#
# `make check` is the part of it that a contributor runs before every commit.

PORT ?= 8501
HOME_FOLDER ?= $(CURDIR)

BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: help setup app test check wheel docs notebooks clean

help:
	@echo "make app        the dashboard on http://127.0.0.1:$(PORT), with demo runs"
	@echo "make test       style, types, docs, engine, contract, app, notebook and browser tests"
	@echo "make check      style, types and the fast tests, in less than two minutes"
	@echo "make wheel      the wheel in dist/, installed and tried in a new environment"
	@echo "make docs       the documentation in site/, with everything that is generated from sources"
	@echo "make notebooks  the guided notebooks in JupyterLab"
	@echo "make setup      only the virtual environment .venv, with .venv/bin/xcwork"
	@echo "make clean      removes .venv and every cache; data and runs stay"

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt scripts/check_tools.sh
	@python=$$(sh scripts/check_tools.sh) || exit 1; \
	echo "installing into .venv with $$python (a few minutes the first time)"; \
	{ test -x $(BIN)/python || "$$python" -m venv .venv; } && \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]" && \
	touch $(INSTALLED)

app: setup
	@exec $(BIN)/xcwork app --demo --port $(PORT) --home "$(HOME_FOLDER)"

test: setup
	@exec sh scripts/run_tests.sh

check: setup
	@exec sh scripts/run_check.sh

wheel: setup
	@exec sh scripts/build_wheel.sh

docs: setup
	@exec sh scripts/build_docs.sh

notebooks: setup
	@as_root=$$(test "$$(id -u)" -ne 0 || echo --allow-root); \
	XCWORK_HOME="$(HOME_FOLDER)" exec $(BIN)/jupyter lab $$as_root --ip=127.0.0.1 notebooks

clean:
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist site *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
