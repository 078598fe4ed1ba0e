# Two set-up commands: `make demo` and `make test`. Both need Python 3.11 or newer and a package registry, no more.
# PYTHON names another interpreter, VENV another place for the virtual environment.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Dependency groups (the developers' tools) need a pip of 2025.
# The tests start many processes. Each would compile all that it imports if the environment forbade cached byte code.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt

# One process of tests more than cores, since many wait for what they started; a file's tests stay together, since what
# they share is made once for them. With a process that crashed replaced, pytest-xdist 3.8 waits for ever at the end.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(os.cpu_count() + 1)")
PARALLEL = -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0
SCHEMA := $(VENV)/schemas/bin/check-jsonschema --builtin-schema vendor
QUICK := $(patsubst %,tests/%.py,cli/test_app test_import_graph data/test_labels utils/test_options test_scripts data/test_sources) \
	tests/scoring tests/data/text tests/baselines/natlog tests/challenge_sets \
	$(filter-out %/test_rerun.py,$(wildcard tests/reports/test_*.py))

.PHONY: demo test test-all portability lowest extras attack fuzz audit quick lint schemas format hub bench harnesses docs

demo: $(VENV)/demo.installed  ## show every set offline, put to a bag of words and to one that reads
	$(BIN)/unbag demo

test: $(VENV)/dev.installed  ## run the tests, without the long ones; those that need ../shared skip without it
	$(BIN)/python -m pytest $(PARALLEL)

test-all: $(VENV)/dev.installed  ## run all tests: clusters, launchers, other tools, long attacks, whole corpora
	$(BIN)/python -m pytest $(PARALLEL) -m ""

# Not there: what runs in Spaces, beside sentence-transformers and in a build, with newer packages than our own oldest.
lowest: $(VENV)/pip.installed  ## all tests with the oldest packages that pyproject.toml allows, installed apart
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --all-extras --group lowest pyproject.toml -o $(VENV)/lowest.txt
	$(BIN)/python -m venv $(VENV)/lowest
	$(VENV)/lowest/bin/python -m pip install --quiet --requirement $(VENV)/lowest.txt --editable .
	$(VENV)/lowest/bin/python -m pytest $(PARALLEL) -m "" $(addprefix --ignore=,tools src/unbag/integrations/cross_encoder.py \
		$(wildcard src/unbag/hub/*_page.py) tests/hub/test_leaderboard.py tests/hub/test_metric_spaces.py tests/hub/test_pair_space.py)

# EXTRAS names some: `make extras EXTRAS="none zh"`. UV_TORCH_BACKEND=cpu spares the gigabytes of torch for GPUs.
extras: $(VENV)/dev.installed  ## each extra alone: the wheel with it in a fresh environment does what it is for: minutes
	$(BIN)/python -m pip install --quiet uv
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tests.installed $(EXTRAS)

quick: $(VENV)/dev.installed  ## the core in less than a minute: scores, labels, perturbations, sources, tables, imports, usage
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not nightly" $(QUICK)

# SEED draws another attack; INPUTS and SECONDS say how much of it.
SEED ?= 0
INPUTS ?= 1500
SECONDS ?= 600

portability: $(VENV)/dev.installed  ## build every set as on other processors, and compare: minutes
	$(BIN)/python -m tools.portability $(if $(wildcard ../shared),--shared ../shared)

attack: $(VENV)/dev.installed  ## all of the attack with malformed input and faults, of which `make test` runs a part
	UNBAG_ATTACK=$(SEED) $(BIN)/python -m pytest $(PARALLEL) -m "" tests/robustness
	$(BIN)/python -m tests.robustness.malformed_inputs --attack-seed $(SEED) --inputs $(INPUTS)
	$(BIN)/python -m tests.robustness.fault_injection --attack-seed $(SEED)

fuzz: $(VENV)/dev.installed  ## the parsers of outside files, for SECONDS in all, led by coverage where atheris installs
	-$(INSTALL) atheris
	$(BIN)/python -m tests.robustness.fuzz --seconds $(SECONDS) --attack-seed $(SEED)

audit: $(VENV)/pip.installed  ## known vulnerabilities of what the tests ran with: asks PyPI's or OSV's database
	$(INSTALL) pip-audit
	$(BIN)/pip-audit --no-deps --disable-pip --strict --requirement constraints.txt

lint: $(VENV)/dev.installed  ## style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

schemas: $(VENV)/pip.installed  ## workflows, action, issue forms and citation, by the schemas that check-jsonschema brings
	$(BIN)/python -m venv $(VENV)/schemas
	$(VENV)/schemas/bin/python -m pip install --quiet check-jsonschema
	$(SCHEMA).github-workflows .github/workflows/*.yml
	$(SCHEMA).github-actions action.yml
	$(SCHEMA).github-issue-forms .github/ISSUE_TEMPLATE/w*.yml
	$(SCHEMA).github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA).dependabot .github/dependabot.yml
	$(SCHEMA).citation-file-format CITATION.cff

format: $(VENV)/dev.installed
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

hub: $(VENV)/dev.installed  ## a small Hub on this machine, to play with: it prints how to point the clients at it
	$(BIN)/python -m tests.fake_hub $(if $(wildcard ../shared/hub),--mount ../shared/hub --corpora)

docs: $(VENV)/dev.installed  ## the documentation in docs/_build/html, with the examples of its guides
	$(INSTALL) --group docs
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going docs docs/_build/html
	UNBAG_DOCS=1 $(BIN)/python -m pytest $(PARALLEL) -m "" tests/docs

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
	$(INSTALL) --editable .
	touch $@

$(VENV)/dev.installed: pyproject.toml constraints.txt $(VENV)/pip.installed
	$(INSTALL) --editable ".[all]" --group dev
	touch $@
