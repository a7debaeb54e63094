# make test         everything that CI checks, in a virtual environment of its own
# make reproduce    the paper's figures and claims, as report/index.html
# make bench        the cost table, docs/cost.md
# make bench-tiers  docs/benchmark.md; tier 1 needs sif2jax: make bench-tiers TIERS='1 2 3'
PYTHON ?= python3
BIN := .venv/bin
TIERS ?= 2 3

.PHONY: test lint bench bench-tiers reproduce clean

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

reproduce: .venv/ready
	$(BIN)/unsaddle reproduce all --output report

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist report
