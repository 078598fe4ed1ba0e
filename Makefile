# Two set-up commands: `make demo` and `make test`. Both need Python 3.11 or newer and a package registry, no more.
# PYTHON names another interpreter, VENV another place for the virtual environment.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Dependency groups (the developers' tools) need a pip of 2025.
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt

# A process of tests for each core; a file's tests stay together, since what they share is made once for them.
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder
QUICK := $(patsubst %,tests/test_%.py,cli import_graph labels options scripts sources) \
	tests/scoring tests/text tests/perturb tests/natlog tests/challenge_sets $(filter-out %/test_rerun.py,$(wildcard tests/report/test_*.py))

.PHONY: demo test quick lint format hub bench harnesses

demo: $(VENV)/demo.installed  ## show every set offline, put to a bag of words
	$(BIN)/unbag demo

test: $(VENV)/dev.installed  ## run all tests; those that need ../shared skip without it
	$(BIN)/python -m pytest $(PARALLEL)

quick: $(VENV)/dev.installed  ## the core in less than a minute: scores, labels, perturbations, sources, tables, imports, usage
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow" $(QUICK)

lint: $(VENV)/dev.installed  ## style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/dev.installed
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

hub: $(VENV)/dev.installed  ## a small Hub on this machine, to play with: it prints how to point the clients at it
	$(BIN)/python -m tests.hub_server $(if $(wildcard ../shared/hub),--mount ../shared/hub --corpora)

bench: $(VENV)/dev.installed  ## the claims of speed, beside a peer, one JSON line each; inference.py wants a model
	$(INSTALL) --group bench
	$(BIN)/python benchmarks/permute.py
	$(BIN)/python benchmarks/scoring.py

harnesses: $(VENV)/dev.installed  ## our tasks in three evaluation harnesses themselves, each installed apart: minutes, gigabytes
	$(BIN)/python benchmarks/harnesses.py $(if $(KEEP),--keep $(KEEP))

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Apart from the one above, for a virtual environment that somebody made by hand.
$(VENV)/pip.installed: | $(VENV)/bin/python
	$(INSTALL) "pip>=25.1"
	touch $@

$(VENV)/demo.installed: pyproject.toml constraints.txt $(VENV)/pip.installed
	$(INSTALL) --editable ".[parse,report]"
	touch $@

$(VENV)/dev.installed: pyproject.toml constraints.txt $(VENV)/pip.installed
	$(INSTALL) --editable ".[all]" --group dev
	touch $@
