# make test   everything that CI checks, in a virtual environment of its own
# make bench  the cost table of docs/cost.md
# make bench-tiers  docs/benchmark.md; tier 1 needs sif2jax: make bench-tiers TIERS='1 2 3'
PYTHON ?= python3
BIN := .venv/bin

.PHONY: test lint bench bench-tiers clean

TIERS ?= 2 3

test: lint
	$(BIN)/python -m pytest -n 2

lint: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

bench: .venv/ready
	$(BIN)/python benchmarks/cost.py --output docs/cost.md

bench-tiers: .venv/ready
	$(BIN)/python -m benchmarks.tiers $(TIERS) --output docs/benchmark.md

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist report
