# `make help` lists the targets.
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CARGO_MANIFEST := voyager_native/Cargo.toml
RUST_SOURCES := $(shell find voyager_native/src voyager_native/engine/src -name '*.rs') \
  voyager_native/Cargo.toml voyager_native/Cargo.lock voyager_native/engine/Cargo.toml voyager_native/pyproject.toml
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: fuzz help setup setup-dev demo up test test-rust test-python check lint types contracts stubs bench instructions quality format clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/venv.stamp:
	@command -v $(PYTHON) >/dev/null || { echo "Voyager needs Python 3.11 or newer (set PYTHON=…)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Voyager needs Python 3.11 or newer; $$($(PYTHON) --version) is too old (set PYTHON=…)"; exit 1; }
	@command -v cargo >/dev/null || { echo "Voyager needs a Rust toolchain (cargo 1.85 or newer)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	@touch $@

$(VENV)/native.stamp: $(VENV)/venv.stamp $(RUST_SOURCES)
	@echo "building the native core in release mode"
	$(PIP_INSTALL) -e ./voyager_native
	@touch $@

$(VENV)/run.stamp: $(VENV)/native.stamp pyproject.toml constraints.txt
	$(PIP_INSTALL) -e '.[assets,api,analysis]'
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp
	$(PIP_INSTALL) --group dev
	@touch $@

setup: $(VENV)/run.stamp ## Create .venv, build the native core, install Voyager
setup-dev: $(VENV)/dev.stamp ## The same and everything that tests and checks need

demo: setup ## Index bundled sample posts with everything running; Ctrl-C stops it
	$(BIN)/voyager demo $(ARGS)

up: setup ## Run Voyager with your news account (settings in .env)
	$(BIN)/voyager up

test: test-rust test-python ## All tests (Rust, then Python)

test-rust: setup-dev
	cargo test --quiet --manifest-path $(CARGO_MANIFEST) --workspace --exclude voyager-native

test-python: setup-dev
	$(BIN)/python -m pytest -n 2 --dist loadgroup $(ARGS)

check: lint types contracts stubs ## Everything but the tests: lint, types, import contracts, stubs

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cargo fmt --manifest-path $(CARGO_MANIFEST) --all --check
	cargo clippy --quiet --manifest-path $(CARGO_MANIFEST) --workspace --all-targets -- -D warnings

types: setup-dev
	$(BIN)/mypy

contracts: setup-dev
	$(BIN)/lint-imports

stubs: setup-dev
	$(BIN)/python -m mypy.stubtest voyager_native._native

format: setup-dev ## Rewrite the sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cargo fmt --manifest-path $(CARGO_MANIFEST) --all

bench: setup ## Ratios of docs/performance.md, against benches/budgets.toml
	POLARS_MAX_THREADS=$${POLARS_MAX_THREADS:-1} $(BIN)/voyager bench --budgets benches/budgets.toml $(ARGS)

instructions: setup ## Instructions of the engine, against benches/instructions.json (valgrind)
	$(BIN)/python benches/instructions.py $(ARGS)

DATA ?= ../shared/data
quality: setup-dev ## Figures on real headers (DATA=folder), each against its bar
	$(BIN)/python -m tests.quality --data $(DATA) $(ARGS)

fuzz: ## Ten minutes of every fuzz target (ARGS="lines --seconds 60" for less)
	$(PYTHON) benches/fuzz.py $(ARGS)

clean: ## Remove the environment and build outputs (not the data)
	rm -rf $(VENV) voyager_native/target .pytest_cache .mypy_cache .ruff_cache
