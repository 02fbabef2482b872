# The project's commands; `make help` lists them. Each installs what it needs into .venv
# on its first run and is quick afterwards. Works with GNU make 3.81 and later.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
PY := .venv/bin/python
PIP := $(PY) -m pip install --disable-pip-version-check --constraint requirements.txt
# A stamp is newer than what it was installed from, or it is installed again.
LOCKED := pyproject.toml requirements.txt

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help book test notebooks lab check lint types execute lock oracles clean

help:  ## this list
	@echo "One-Hot to GPT: make COMMAND"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Python 3.11 or newer: $(PYTHON) (another one: make COMMAND PYTHON=...)"

book: .venv/.book  ## build the site, warnings as errors, and print its path
	@$(PY) tools/build_book.py

test: .venv/.test  ## library, notebooks and site; skipped if nothing changed (FORCE=1 repeats)
	@$(PY) tools/run_tests.py $(if $(FORCE),--force)

notebooks: .venv/.test  ## only run every notebook and compare it with its stored outputs
	@$(PY) tools/run_tests.py --notebooks

lab: .venv/.book  ## open the notebooks in JupyterLab
	$(PY) -m jupyterlab book

check: lint types book test  ## everything that CI runs

lint: .venv/.test  ## style and import order
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: .venv/.test  ## mypy, strict
	$(PY) -m mypy

execute: .venv/.book  ## run a chapter and store its new outputs: make execute CH=02 (none: all)
	@$(PY) tools/execute.py $(CH)

# Names and versions only. pip-compile would also copy this machine's index and link
# options into the file, and a local label such as torch's +cpu that no index serves.
lock: .venv/.lock  ## compile requirements.txt from pyproject.toml (UPGRADE=1: newer versions)
	$(PY) -m piptools compile --quiet --all-extras --strip-extras --no-header \
	  --annotation-style=line --no-emit-index-url --no-emit-find-links \
	  --no-emit-trusted-host --no-emit-options $(if $(UPGRADE),--upgrade) \
	  --output-file requirements.txt pyproject.toml
	$(PY) tools/clean_lock.py requirements.txt

oracles: .venv/.test  ## try again to install the peers that tests compare with
	$(PY) tools/install_oracles.py

clean:  ## remove what was built (not .venv)
	rm -rf _build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# --- what is installed where --------------------------------------------------------

.venv/.made:
	@$(PYTHON) tools/check_python.py
	$(PYTHON) -m venv .venv
	@touch $@

# On Linux, PyPI's torch brings 3 GB of CUDA libraries. TORCH_INDEX names another index
# to take it from, for example PyTorch's own with the CPU build (see README.md).
.venv/.torch: .venv/.made $(LOCKED)
	$(if $(TORCH_INDEX),$(PIP) --index-url $(TORCH_INDEX) torch)
	@touch $@

.venv/.book: .venv/.torch
	@echo "Installing the book's packages into .venv (some minutes, once)"
	$(PIP) --editable '.[book]'
	@touch $@

.venv/.test: .venv/.torch
	@echo "Installing the tests' packages into .venv (some minutes, once)"
	$(PIP) --editable '.[data,book,test]'
	@$(PY) tools/install_oracles.py
	@touch $@ .venv/.book

.venv/.lock: .venv/.made pyproject.toml
	$(PY) -m pip install --disable-pip-version-check 'pip-tools>=7.4'
	@touch $@
