# The commands of this project. `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEVELOP = PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --quiet
FUZZ_SECONDS ?= 7200
FUZZ_SEED ?=
FAULTS ?=
SHUFFLE ?= $(shell date +%s)
SOAK_MINUTES ?= 120
RUST_NEEDED := 1.89
PYTHON_NEEDED := 3.10

.DEFAULT_GOAL := help
.PHONY: help demo release test test-slow test-rust test-python test-shuffled lint format fuzz faults soak audit bench bench-peers docs conformance clean tools

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | sort | awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(VENV)/shown ## build, flatten and measure a 100,000-point swiss roll, draw it
	@$(BIN)/unbend demo

test: test-rust test-python ## everything the default tests need, then the tests

test-slow: $(VENV)/built ## the tests that take longer, with the others
	cargo test --release
	$(BIN)/pytest -q -m ''

test-rust: tools
	cargo test --quiet

test-python: $(VENV)/built
	$(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder

test-shuffled: $(VENV)/built ## the tests of the Python face in random order, from SHUFFLE=
	$(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder --shuffle $(SHUFFLE)

lint: $(VENV)/built ## formatting, clippy, ruff, mypy, stubs
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --workspace
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python rust/py/stubs.py --check
	$(BIN)/python -m mypy.stubtest unbend._core --ignore-disjoint-bases

format: $(VENV)/built ## put all code in order
	cargo fmt --all
	$(BIN)/python rust/py/stubs.py
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .

fuzz: $(VENV)/built ## random calls and damaged files, for FUZZ_SECONDS=7200 from FUZZ_SEED=
	$(BIN)/python tests/fuzz --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

faults: $(VENV)/built ## kill commands, fill disks, interrupt calls: FAULTS="--kills 500 ..."
	$(BIN)/python tests/faults $(FAULTS)

soak: $(VENV)/built ## fits of all kinds in one process, for SOAK_MINUTES=120: memory stays flat
	$(BIN)/python tests/faults/soak.py --minutes $(SOAK_MINUTES)

audit: $(VENV)/ready ## known holes and licenses of all dependencies
	@cargo deny --version >/dev/null 2>&1 || { echo "cargo-deny is missing: it is built now, which takes some minutes"; \
		cargo install --quiet --locked cargo-deny; }
	cargo deny --workspace check bans licenses sources
	cargo deny --workspace check advisories
	$(BIN)/pip install --quiet pip-audit
	$(BIN)/pip freeze --exclude-editable > target/installed.txt
	$(BIN)/pip-audit --strict --disable-pip --no-deps -r target/installed.txt

bench: $(VENV)/built ## costs as ratios, kept in benches/records and drawn in docs/records.md
	$(BIN)/python benches/python/record.py --growth

bench-peers: $(VENV)/built ## the core alone, then against peers (they are installed first)
	cargo bench
	$(BIN)/pip install --quiet -r benches/python/requirements.txt
	$(BIN)/python benches/python/bench_neighbors.py
	$(BIN)/python benches/python/bench_measure.py
	$(BIN)/python benches/python/bench_ranks.py
	$(BIN)/python benches/python/bench_geodesic.py
	$(BIN)/python benches/python/bench_embed.py --peers
	$(BIN)/python benches/python/bench_align.py --peers --anneal
	$(BIN)/python benches/python/bench_assembly.py
	$(BIN)/python benches/python/bench_partition.py

docs: $(VENV)/built ## all documents as web pages, under target/site
	$(BIN)/pip install --quiet --group docs
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -b html -c docs . target/site
	@echo "target/site/docs/index.html; the core: target/doc/unbend/index.html"

release: tools ## all that a release publishes, built and checked under dist, and what could not be done here
	$(PYTHON) packaging/release.py

conformance: $(VENV)/built ## make the golden numbers under tests/data again
	$(BIN)/pip install --quiet mpmath
	$(BIN)/python tests/data/faithfulness/make.py

clean: ## remove what was built
	rm -rf target $(VENV) python/unbend/_core*.so

# The extension is rebuilt whenever a source of the core or the border is newer.
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find rust -name '*.rs' -o -name 'Cargo.toml')

$(VENV)/built: $(VENV)/ready $(SOURCES)
	@$(BIN)/maturin --version >/dev/null
	@echo "building, with all optional packages: some minutes"
	@$(DEVELOP) --release --extras plot,parquet,report,anndata,zarr,dask,mvu,mesh
	@touch $@

# The demo needs few packages, and a build that is quick rather than fast. What is built for the tests serves it too. The
# output of pip and maturin is shown if they fail; the next `make test` builds with all optimizations again.
$(VENV)/shown: $(SOURCES) | tools
	@mkdir -p target
	@if ! test -e $(VENV)/built || [ -n "$$(find $(SOURCES) -newer $(VENV)/built)" ]; then \
		echo "building: one or two minutes"; \
		{ { test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); } \
			&& $(BIN)/python -m pip install --disable-pip-version-check 'maturin>=1.9,<2' \
			&& $(DEVELOP) --profile quick --extras plot; } >target/demo.log 2>&1 || { cat target/demo.log; exit 1; }; \
		rm -f $(VENV)/built; \
	fi
	@touch $@

$(VENV)/ready: pyproject.toml | tools
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet 'maturin>=1.9,<2' --group test --group lint
	@touch $@

# One clear line when something is missing or too old.
tools:
	@command -v cargo >/dev/null || { echo "unbend needs Rust $(RUST_NEEDED) or newer, and cargo was not found: see https://rustup.rs"; exit 1; }
	@have=$$(rustc --version | cut -d' ' -f2); [ "$$(printf '%s\n' $(RUST_NEEDED) $$have | sort -V | head -n1)" = $(RUST_NEEDED) ] \
		|| { echo "unbend needs Rust $(RUST_NEEDED) or newer, found $$have: run 'rustup update'"; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "unbend needs Python $(PYTHON_NEEDED) or newer, and $(PYTHON) was not found: set PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < tuple(map(int, "$(PYTHON_NEEDED)".split("."))))' \
		|| { echo "unbend needs Python $(PYTHON_NEEDED) or newer, found $$($(PYTHON) --version): set PYTHON=python3.x"; exit 1; }
