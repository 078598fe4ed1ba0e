# Start with `make demo` and `make test`. Both need only Python 3.11 or newer and a package registry.
# PYTHON sets the interpreter, and VENV the folder of the virtual environment.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Dependency groups (the development tools) need pip of 2025 or newer.
# The tests start many processes. Without cached bytecode, each of them would compile all of its imports.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt

# One more test process than cores, because many tests wait for subprocesses. The tests of a file stay together, because
# they share fixtures. If pytest-xdist 3.8 replaces a crashed process, it hangs at the end.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(os.cpu_count() + 1)")
PARALLEL = -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0
SCHEMA := $(VENV)/schemas/bin/check-jsonschema --builtin-schema vendor
QUICK := $(patsubst %,tests/%.py,cli/test_app test_import_graph data/test_labels utils/test_options data/test_sources) \
	tests/scoring tests/data/text tests/baselines/natlog tests/challenge_sets \
	$(filter-out %/test_reproduce.py,$(wildcard tests/reports/test_*.py))

.PHONY: help demo test test-all portability lowest extras attack audit quick lint schemas format hub bench harnesses docs released-pages

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 16

demo: $(VENV)/demo.installed  ## evaluate a small network and two bags of words on every set, offline
	$(BIN)/unbag demo

test: $(VENV)/dev.installed  ## run all tests except the nightly ones; without ../shared, the tests that need it are skipped
	$(BIN)/python -m pytest $(PARALLEL)

test-all: $(VENV)/dev.installed  ## run all tests, including clusters, launchers, other tools, long attacks and whole corpora
	$(BIN)/python -m pytest $(PARALLEL) -m ""

# Excludes tests of Spaces, Hugging Face jobs, sentence-transformers and builds, which need newer packages.
lowest: $(VENV)/pip.installed  ## run all tests with the oldest packages that pyproject.toml allows, in a separate environment
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --all-extras --group lowest pyproject.toml -o $(VENV)/lowest.txt
	$(BIN)/python -m venv $(VENV)/lowest
	$(VENV)/lowest/bin/python -m pip install --quiet --requirement $(VENV)/lowest.txt --editable .
	$(VENV)/lowest/bin/python -m pytest $(PARALLEL) -m "" $(addprefix --ignore=,tools/hatch_build.py tests/examples src/unbag/integrations/cross_encoder.py \
		$(wildcard src/unbag/hub/*_page.py) tests/hub/test_leaderboard.py tests/hub/test_metric_spaces.py tests/hub/test_pair_space.py)

# EXTRAS selects extras: `make extras EXTRAS="none zh"`. UV_TORCH_BACKEND=cpu avoids the large GPU version of torch.
extras: $(VENV)/dev.installed  ## test the wheel with each extra in a fresh environment; minutes
	$(BIN)/python -m pip install --quiet uv
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tests.wheel_extras $(EXTRAS)

quick: $(VENV)/dev.installed  ## run the core tests in less than a minute: scores, labels, perturbations, sources, tables, imports
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not nightly" $(QUICK)

portability: $(VENV)/dev.installed  ## build every set as on other processors, and compare the results; minutes
	$(BIN)/python -m tools.portability $(if $(wildcard ../shared),--shared ../shared)

attack: $(VENV)/dev.installed  ## run all tests with malformed input and faults (`make test` runs a part of them)
	UNBAG_ATTACK=1 $(BIN)/python -m pytest $(PARALLEL) -m "" tests/robustness

audit: $(VENV)/pip.installed  ## search PyPI's or OSV's database for known vulnerabilities of the tested packages
	$(INSTALL) pip-audit
	$(BIN)/pip-audit --no-deps --disable-pip --strict --requirement constraints.txt

lint: $(VENV)/dev.installed  ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

schemas: $(VENV)/pip.installed  ## validate workflows, action, issue forms and citation file against their schemas
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

hub: $(VENV)/dev.installed  ## start a local test Hub, and print the settings for its clients
	$(BIN)/python -m tests.fake_hub $(if $(wildcard ../shared/hub),--mount ../shared/hub)

docs: $(VENV)/dev.installed  ## build the documentation in docs/_build/html, and run the examples in its guides
	$(INSTALL) --group docs
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going docs docs/_build/html
	UNBAG_DOCS=1 $(BIN)/python -m pytest $(PARALLEL) -m "" tests/docs

bench: $(VENV)/dev.installed  ## measure unbag and its peers, one JSON line per measurement; inference.py needs a model
	$(INSTALL) --group bench
	$(BIN)/python benchmarks/permute.py
	$(BIN)/python benchmarks/scoring.py

harnesses: $(VENV)/dev.installed  ## run our tasks in three evaluation harnesses, in separate environments; minutes, gigabytes
	$(BIN)/python benchmarks/harnesses.py $(if $(KEEP),--keep $(KEEP))

# Before the first release, the name in the package index may belong to a stranger, so pages install from the clone.
released-pages:  ## replace the installation from a clone by the installation from the package index; the release runs it
	sed -i -E 's/pip install -e "?\.(\[[a-z,]+\])?"?/pip install "unbag\1"/' README.md skills/unbag/SKILL.md docs/*.md docs/*/*.md
	$(PYTHON) -m tools.notebook

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Separate from the rule above, to support a virtual environment that was created manually.
$(VENV)/pip.installed: | $(VENV)/bin/python
	$(INSTALL) "pip>=25.1"
	touch $@

$(VENV)/demo.installed: pyproject.toml constraints.txt $(VENV)/pip.installed
	$(INSTALL) --editable .
	touch $@

$(VENV)/dev.installed: pyproject.toml constraints.txt $(VENV)/pip.installed
	$(INSTALL) --editable ".[all]" --group dev
	touch $@
