# Two commands: `make run` shows the tool at work, `make test` checks everything. Both set up what they need in .venv.

PYTHON ?= python3
BIN := .venv/bin
ARGS ?= demo

.PHONY: run test test-long test-reliability bench fuzz build clean

run: build
	@$(BIN)/colonnade $(ARGS)

test: build
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m mypy.stubtest colonnade.kernels._native
	cd rust && cargo fmt --check
	cd rust && cargo clippy --quiet --all-targets -- --deny warnings
	cd rust && cargo clippy --quiet --release --features python -- --deny warnings
	cd rust && cargo test --quiet
	$(BIN)/pytest -n auto

test-long: build
	COLONNADE_TESTS=thorough $(BIN)/pytest -n auto -m "long or not long"

test-reliability: build
	COLONNADE_TESTS=thorough $(BIN)/pytest -n auto -m "long or not long" tests/reliability

bench: build
	$(BIN)/python benches/bars.py
	$(BIN)/python benches/compression.py

# Each fuzz target for FUZZ_SECONDS; needs a nightly Rust, and cargo-fuzz (`cargo install cargo-fuzz`).
FUZZ_SECONDS ?= 60
fuzz:
	@cargo +nightly fuzz --version >/dev/null || { echo "error: no cargo-fuzz; install it: rustup toolchain install nightly, cargo install cargo-fuzz" >&2; exit 1; }
	cd rust/fuzz && for target in $$(cargo +nightly fuzz list); do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=1024 -max_len=4096 || exit 1; \
	done

build: .venv/kernels.stamp

clean:
	rm -rf .venv rust/target src/colonnade/kernels/_native.*so

# The environment: what pyproject.toml asks for.
.venv/tools.stamp: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "error: no $(PYTHON); install Python 3.11 or newer (Debian: apt install python3 python3-venv), or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $$($(PYTHON) --version) is too old; install Python 3.11 or newer, or name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "error: $(PYTHON) can't make environments; install its venv module (Debian: apt install python3-venv)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing Python packages into .venv"
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --group dev
	@touch $@

# The kernels: built in release mode into src/colonnade/kernels, the package installed as editable.
.venv/kernels.stamp: .venv/tools.stamp rust/Cargo.toml rust/Cargo.lock $(shell find rust/src -name '*.rs' 2>/dev/null)
	@command -v cargo >/dev/null || { echo "error: no cargo; install a Rust toolchain, 1.88 or newer: https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "error: no C compiler; install one (Debian: apt install gcc libc6-dev)" >&2; exit 1; }
	@echo "building the kernels"
	@VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --release --quiet
	@touch $@
