# make test   everything that CI checks, in a virtual environment of its own
# make bench  the cost table of docs/cost.md
# make reproduce  the paper's figures and claims, as report/index.html
PYTHON ?= python3
BIN := .venv/bin

.PHONY: test lint bench reproduce clean

test: lint
	$(BIN)/python -m pytest -n 2

lint: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

bench: .venv/ready
	$(BIN)/python benchmarks/cost.py --output docs/cost.md

reproduce: .venv/ready
	$(BIN)/unsaddle reproduce all --output report

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist report
