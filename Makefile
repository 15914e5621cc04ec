# Every target sets up what it needs in .venv; a machine with Python 3.11+, make and a C compiler is enough.
PYTHON ?= python3
BIN := .venv/bin

KERNELS := $(shell find src -name '*_kernels.py' -o -name '*.pxd')

.PHONY: demo kernels test thorough test-lowest lock locked checked keywords wheel lint docs bench fuzz size speed clean

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "shorthaul needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv .venv

.venv/ready-core: pyproject.toml setup.py $(KERNELS) | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	$(BIN)/python -m compileall -q src
	touch $@

.venv/ready-dev: pyproject.toml setup.py | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

.venv/ready-docs: .venv/ready-core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

demo: .venv/ready-core
	$(BIN)/shorthaul demo

kernels: .venv/ready-dev
	$(BIN)/python setup.py --quiet build_ext --inplace
	$(BIN)/cythonize --quiet --inplace -3 tests/reference/pebble_game_kernels.py
	$(BIN)/python -m compileall -q src

# In a new clone all processes would compile the same tests at the same time, half of what collecting takes: done once first.
# Three processes keep two processors busy, as some tests wait. Files go to memory where there is much of it: a disk that
# syncs lets them wait.
MEMORY = $(shell df -k /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 8000000 {print "TMPDIR=/dev/shm"}')
test: kernels
	test -e .venv/ready-tests || { PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only -qqq -p tests.compiled > .venv/collected; \
		mv .venv/collected .venv/ready-tests; }
	$(MEMORY) $(BIN)/python -m pytest -n 3 --dist worksteal

# All random cases and the long studies: hours.
thorough: kernels .venv/ready-docs
	SHORTHAUL_THOROUGH=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m 'slow or not slow'

# Kernels that check every index, in a place of their own; an error inside one only warns, so that warning fails.
checked: .venv/ready-dev
	SHORTHAUL_CHECKED=1 $(BIN)/python setup.py --quiet build
	SHORTHAUL_CHECKED=1 PYTHONPATH=$(CURDIR)/build/checked/lib $(BIN)/python -m pytest -n 2 --dist worksteal \
		-W error::pytest.PytestUnraisableExceptionWarning $$(find tests -name 'test_kernels*.py') tests/packaging/test_checked.py

# 10^5 damaged files for every reader, then whole commands: hours.
fuzz: kernels
	$(BIN)/python -m tests.fuzz 100000
	$(BIN)/python -m tests.fuzz.commands 1000

# The dependencies at the lowest versions that pyproject.toml allows.
.venv-lowest/ready: requirements/lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

test-lowest: kernels .venv-lowest/ready
	PYTHONPATH=$(CURDIR)/src .venv-lowest/bin/python -m pytest -n 2 --dist worksteal

# All of .venv from the lock file, every package by its hash.
locked: requirements/dev.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch .venv/ready-core .venv/ready-dev

LOWEST := pyproject.toml requirements/tests.in --extra sklearn --extra onnx --extra cluster --extra plotly --resolution lowest-direct
lock: | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5'
	$(BIN)/uv pip compile --quiet --no-header --universal --python-version 3.11 --generate-hashes --upgrade \
		pyproject.toml --extra dev --output-file requirements/dev.txt
	$(BIN)/uv pip compile --quiet --no-header --python-version 3.11 --only-binary :all: --upgrade \
		$(LOWEST) --output-file requirements/lowest.txt

keywords: kernels
	$(BIN)/python scripts/write_keywords.py

wheel: kernels
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/ready-docs
	$(BIN)/mkdocs build --strict

bench: .venv/ready-core
	for script in affine affine_oracle dataflow dataflow_commands pebble pebble_sparse pebble_structured spatial tensor table; do $(BIN)/python benchmarks/$$script.py || exit 1; done

size: wheel
	$(BIN)/python benchmarks/installed_size.py

speed: kernels
	$(BIN)/python benchmarks/speed.py --against $(AGAINST)

clean:
	rm -rf .venv .venv-lowest build dist site out
	find src tests -name '*.so' -delete
	rm -f src/shorthaul/report/data/plotly.min.js.gz
