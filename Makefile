# Every target makes its own virtual environment when there is none.
PYTHON ?= python3
BIN = .venv/bin
# One thread per test process: two processes share the two cores of a small machine.
RUN_TESTS = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: demo soak test test-faults test-handover test-install test-lower test-slow coverage docs lint type bench-quick clean

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch .venv/ready

# DoWhy and pgmpy ask for an older scipy: the tests that hand graphs over to them have an environment of their own.
.venv-handover/ready: .ci/handover.txt
	$(PYTHON) -m venv .venv-handover
	.venv-handover/bin/pip install --quiet --disable-pip-version-check -r .ci/handover.txt
	touch .venv-handover/ready

test-handover: .venv/ready .venv-handover/ready  ## an effect estimated by DoWhy, a DAG read by pgmpy
	DRBO_REQUIRE_HANDOVER=1 DRBO_HANDOVER_PYTHON=$(CURDIR)/.venv-handover/bin/python $(RUN_TESTS) tests/result/test_handover.py

demo: .venv/ready  ## learn the Sachs protein network and draw it
	$(BIN)/drbo demo

test: .venv/ready  ## all tests but the slow ones
	$(RUN_TESTS) -m "not slow"

test-slow: .venv/ready  ## the figures that take minutes
	$(RUN_TESTS) -m slow

test-faults: .venv/ready  ## kill, fuzz and starve it, in large numbers; writes docs/faults.md (an hour)
	-$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r .ci/fuzz.txt
	OMP_NUM_THREADS=1 DRBO_FUZZ_CASES=1000 $(BIN)/python -m pytest -q tests/faults
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign kills --times 100
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign fuzz --times 10000
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign dask --times 10
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign size
	$(BIN)/python -m tests.faults.campaign page

soak: .venv/ready  ## an hour of searches of random shapes in one process: does anything grow?
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.soak --minutes 60

test-install: .venv/ready  ## build wheel and sdist, install the wheel into a clean environment, run the README's commands
	rm -rf build/install
	$(BIN)/python -m build --quiet --outdir build/install .
	$(PYTHON) -m venv build/install/env
	build/install/env/bin/pip install --quiet --disable-pip-version-check -c constraints.txt build/install/*.whl
	cd build/install && ./env/bin/drbo --version && ./env/bin/drbo simulate 6ER2 --rows 200 -o table.csv \
	  && ./env/bin/drbo check table.csv && ./env/bin/drbo fit table.csv -o run --time-limit 60s --seed 1 \
	  && ./env/bin/drbo resume run -q && ./env/bin/drbo score table.csv run && ./env/bin/drbo compare run run

test-lower: ## the core tests with the oldest versions that pyproject.toml allows
	rm -rf build/lower
	$(PYTHON) -m venv build/lower
	build/lower/bin/pip install --quiet --disable-pip-version-check -c constraints-lower.txt -e ".[parquet]" pytest hypothesis
	OMP_NUM_THREADS=1 build/lower/bin/python -m pytest -q -p no:cacheprovider tests/data tests/search tests/test_graph.py

coverage: .venv/ready  ## the part of src that the tests run, with a floor
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow" --cov=drbo --cov-fail-under=90

docs: .venv/ready  ## the site in build/docs; runs the examples; a warning is an error
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: .venv/ready
	$(BIN)/mypy

bench-quick: .venv/ready  ## a small slice of every benchmark
	OMP_WAIT_POLICY=passive $(BIN)/python -m benchmarks linear --preset paper --graphs 10ER2 --seeds 2 --evals 640 --candidates 2000
	OMP_WAIT_POLICY=passive $(BIN)/python -m benchmarks linear --preset default --graphs 10ER2,20ER4 --seeds 2 --evals 0

clean:
	rm -rf .venv .venv-handover drbo-demo
