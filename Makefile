# make test         everything that CI checks, in a virtual environment of its own
# make reproduce    the paper's figures and claims, as report/index.html
# make bench        the cost table, docs/cost.md
# make bench-tiers  docs/benchmark.md; tier 1 needs sif2jax: make bench-tiers TIERS='1 2 3'
PYTHON ?= python3
BIN := .venv/bin
TIERS ?= 2 3

.PHONY: test browser lint bench bench-tiers reproduce clean

test: lint browser
	$(BIN)/python -m pytest -n 2

browser:  # a test opens the report in Chromium; where there is none to be had it is skipped
	@command -v chromium > /dev/null || timeout 300 sh -c 'apt-get update && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium' \
	> /dev/null 2>&1 || echo 'no chromium, and none could be installed: its tests are skipped'

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
