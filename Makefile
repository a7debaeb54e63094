# make quick        the core's tests, in about a minute: no torch, JAX or browser needed
# make test         everything that CI checks, in a virtual environment of its own
# make nightly      all tests again, with hypothesis free to draw new examples
# make oldest       the core's tests with the oldest packages that are supported
# make reproduce    the paper's figures and claims, as report/index.html
# make docs         the site, in site/, with every warning an error
# make walks        docs/walks.md: which functions six calls pass through
# make bench        all three of these; the tiers take half an hour, one of them: make bench-tiers TIERS=2
# make bench-tiers  three tiers beside SciPy and pytorch-minimize, docs/benchmark.md
# make bench-escapes  optimisers of torch, optax and other packages at saddles, docs/escapes.md
# make bench-atoms  thirty structures beside ASE's BFGS, docs/atoms.md
# make torture      what an adversary would try, docs/torture.md; takes long
# make bench-cost   what a step costs: docs/cost.md, and on torch and JAX docs/backends.md
PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2
TIERS ?= 1 2 3
export PYTHONDONTWRITEBYTECODE :=  # or every worker would compile all tests anew
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

.PHONY: quick test core nightly oldest browser lint docs walks bench bench-tiers bench-escapes bench-atoms bench-cost torture reproduce clean

quick: .venv/test
	$(PYTEST) --bare -m 'not (torch or jax or browser or slow or nightly)'

test: .venv/ready browser  # lint beside the core, as pyright leaves a processor idle
	$(MAKE) --jobs 2 lint core
	$(PYTEST) -m '(torch or jax) and not nightly'

core: .venv/ready  # as if torch and JAX were missing
	$(PYTEST) --bare -m 'not (torch or jax or nightly)'

nightly: .venv/ready browser
	JAX_DISABLE_MOST_OPTIMIZATIONS=0 XLA_FLAGS= $(PYTEST) --hypothesis-profile=random

oldest: .venv-oldest/ready
	OMP_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -n $(JOBS) --dist worksteal --bare \
	-m 'not (torch or jax or nightly)'

.venv-oldest/ready: pyproject.toml  # matplotlib 3.8 calls what a later pyparsing warns of
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet uv
	echo 'pyparsing>=3.1,<3.3' | .venv-oldest/bin/uv pip compile --quiet --no-header \
	--python .venv-oldest/bin/python \
	--resolution lowest-direct --extra test --extra hosts --extra dask pyproject.toml - \
	--output-file .venv-oldest/pins
	.venv-oldest/bin/pip install --quiet --requirement .venv-oldest/pins
	.venv-oldest/bin/pip install --quiet --no-deps --editable .
	touch $@

browser:  # a test opens the report in Chromium; where there is none to be had it is skipped
	@command -v chromium > /dev/null || timeout 300 sh -c 'apt-get update && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium' \
	> /dev/null 2>&1 || echo 'no chromium, and none could be installed: its tests are skipped'

lint: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

walks: .venv/ready
	$(BIN)/python tools/walk.py --output docs/walks.md

bench: bench-tiers bench-escapes bench-cost

bench-tiers: .venv/bench
	$(BIN)/python -m benchmarks.tiers $(TIERS)

bench-escapes: .venv/bench
	$(BIN)/python -m benchmarks.escapes

bench-atoms: .venv/bench
	$(BIN)/python -m benchmarks.atoms --output benchmarks/results/atoms.jsonl

bench-cost: .venv/ready
	$(BIN)/python benchmarks/cost.py --output docs/cost.md
	$(BIN)/python benchmarks/backends.py --output docs/backends.md

torture: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.torture --write

reproduce: .venv/paper
	$(BIN)/unsaddle reproduce all --output report

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

.venv/%: pyproject.toml constraints.txt  # the extra of that name and no more, unless all is there
	test -e .venv/ready || $(PYTHON) -m venv .venv
	test -e .venv/ready || $(BIN)/pip install --quiet --constraint constraints.txt \
	--editable '.[$*]'
	touch $@

.venv/bench: .venv/ready
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $@

clean:
	rm -rf .venv .venv-oldest build dist report site
