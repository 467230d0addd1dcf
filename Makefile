# Every target makes its own virtual environment when there is none.
PYTHON ?= python3
BIN = .venv/bin
COVERAGE_FLOOR = 98
# One thread per test process: two processes share the two cores of a small machine. Bytecode is kept, even where the
# environment says otherwise: dozens of processes import the package.
RUN_TESTS = OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: audit axe campaign demo lock golden pictures release sbom soak test test-cpus test-faults test-handover test-hidden test-install test-light test-lower test-release test-sanitize test-slow docs lint type wheel bench bench-quick clean

# Every file is checked against its hash, but that of torch (.ci/lock says why). The lock is for Python 3.11 on Linux;
# elsewhere: make LOCKED= ...
LOCKED = yes
PIP = pip install --quiet --disable-pip-version-check
.venv/packages: pyproject.toml constraints.txt .ci/requirements.lock
	$(PYTHON) -m venv .venv
ifdef LOCKED
	$(BIN)/$(PIP) --require-hashes --no-deps -r .ci/requirements.lock
	$(BIN)/$(PIP) -c constraints.txt $(shell grep '^torch==' constraints.txt)
endif
	touch .venv/packages

# The compiled core is built in place, again whenever its sources change. A warning is an error with WARNINGS=error.
# The package is found by a plain path, not by a hook of the build tool, so that PYTHONPATH can put another one first.
CORE = src/core/CMakeLists.txt $(wildcard src/core/*.cpp src/core/*.h)
WARNINGS =
.venv/ready: .venv/packages $(CORE)
ifdef LOCKED
	CXX="$$(.ci/compiler $(BIN))" && export CXX && \
	  $(BIN)/$(PIP) --no-deps --no-build-isolation $(if $(WARNINGS),-C cmake.define.DRBO_WERROR=ON) -e .
	$(BIN)/pip check --disable-pip-version-check
else
	CXX="$$(.ci/compiler $(BIN))" && export CXX && $(BIN)/$(PIP) -c constraints.txt -e ".[dev]"
endif
	echo $(CURDIR)/src > $$(echo .venv/lib/python3*/site-packages)/_editable_skbc_drbo.pth
	touch .venv/ready

# The demo shows what "pip install drbo" brings: no torch, no matplotlib, no tools for development.
.venv-demo/ready: pyproject.toml .ci/runtime.lock $(CORE)
	$(PYTHON) -m venv .venv-demo
ifdef LOCKED
	.venv-demo/bin/$(PIP) --require-hashes --no-deps -r .ci/runtime.lock
	CXX="$$(.ci/compiler .venv-demo/bin)" && export CXX && .venv-demo/bin/$(PIP) --no-deps --no-build-isolation -e .
else
	CXX="$$(.ci/compiler .venv-demo/bin)" && export CXX && .venv-demo/bin/$(PIP) -c constraints.txt -e .
endif
	echo $(CURDIR)/src > $$(echo .venv-demo/lib/python3*/site-packages)/_editable_skbc_drbo.pth
	touch .venv-demo/ready

.venv-light/ready: pyproject.toml .ci/light.lock
	$(PYTHON) -m venv .venv-light
ifdef LOCKED
	.venv-light/bin/$(PIP) --require-hashes --no-deps -r .ci/light.lock
else
	.venv-light/bin/$(PIP) -c constraints.txt . hypothesis packaging polars pyarrow pytest pytest-xdist python-calamine statsmodels
	.venv-light/bin/pip uninstall --quiet --yes drbo
endif
	touch .venv-light/ready

lock:  ## .ci/*.lock from constraints.txt
	.ci/lock

sbom: .venv/ready  ## what drbo is made of and tested with, as CycloneDX: build/sbom.json
	$(BIN)/python .ci/sbom.py build/sbom.json

audit: .venv/ready  ## ask the advisory databases about every pin; needs a network (tests/test_supply_chain.py does not)
	$(PYTHON) -m venv build/audit
	build/audit/bin/$(PIP) pip-audit
	build/audit/bin/pip-audit --require-hashes --disable-pip -r .ci/requirements.lock

# DoWhy and pgmpy ask for an older scipy: the tests that hand graphs over to them have an environment of their own.
.venv-handover/ready: .ci/handover.txt
	$(PYTHON) -m venv .venv-handover
	.venv-handover/bin/pip install --quiet --disable-pip-version-check -r .ci/handover.txt
	touch .venv-handover/ready

test-handover: .venv/ready .venv-handover/ready  ## an effect estimated by DoWhy, a DAG read by pgmpy
	DRBO_REQUIRE_HANDOVER=1 DRBO_HANDOVER_PYTHON=$(CURDIR)/.venv-handover/bin/python $(RUN_TESTS) tests/result/files/test_handover.py

demo: .venv-demo/ready  ## learn the Sachs protein network and draw it
	.venv-demo/bin/drbo demo

# With COVERED=yes the tests must run COVERAGE_FLOOR percent of the lines of src, which takes a quarter longer.
COVERED =
test: .venv/ready  ## all tests but the slow ones
	$(RUN_TESTS) -m "not slow" $(if $(COVERED),--cov --cov-report=term:skip-covered --cov-fail-under=$(COVERAGE_FLOOR))

LIGHT_TESTS = tests/graph tests/independence tests/scores tests/search tests/choice tests/claims tests/cli tests/result \
  $(filter-out tests/test_docs.py tests/test_examples.py tests/test_plugin.py,$(wildcard tests/test_*.py))
test-light: .venv/ready .venv-light/ready  ## the tests that need neither torch nor matplotlib, in an environment without them
	! .venv-light/bin/python -c "import torch" 2> /dev/null
	! .venv-light/bin/python -c "import matplotlib" 2> /dev/null
	OMP_NUM_THREADS=1 PYTHONPATH=$(CURDIR)/src .venv-light/bin/python -m pytest -q -n 2 --dist loadfile \
	  -p no:cacheprovider -m "not slow" $(LIGHT_TESTS)

test-cpus: .venv/ready  ## the tests that rounding could change, as on four other kinds of machines
	$(BIN)/python .ci/cpus.py

# The kernels with AddressSanitizer and UndefinedBehaviorSanitizer, in a copy of the package. The interpreter itself is
# built without them, so their libraries are loaded first; what it never frees is not looked at.
KERNELS = additive astar block_steps class_member climb core count_steps drawn_score experiment_counts experiments \
  known_orders linear linear_steps nongaussian_steps order_graph order_sampling paper_draws paper_train \
  parents_counts parents_linear posterior propose ricf set_functions set_tests space spline_steps subset_kernels
SANITIZED = $(foreach name,$(KERNELS),$(shell find tests -name test_$(name).py))
# Their calls, and those of whatever else they reach, are recorded, mutated and made again, for so many seconds in all;
# a campaign of ten minutes for each of the 72 entry points takes FUZZ_SECONDS=42600. With FUZZ_RECORD=--record seconds
# are added to those of docs/developers/faults.md; another FUZZ_SEED makes other calls.
FUZZ_SECONDS = 90
FUZZ_SEED = 0
FUZZ_RECORD =
WATCHED = LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" PYTHONPATH=build/sanitize:. \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096
test-sanitize: .venv/ready  ## the tests of the compiled core and mutated calls of it, watched for wrong addresses and undefined behaviour
	rm -rf build/sanitize && mkdir -p build/sanitize
	cp -r src/drbo build/sanitize/drbo && rm -f build/sanitize/drbo/_core.*.so
	$(BIN)/cmake -G Ninja -S src/core -B build/sanitize/core -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDRBO_WERROR=ON \
	  -DCMAKE_CXX_COMPILER=g++ -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
	  -DDRBO_SANITIZE=address,undefined > build/sanitize/log
	$(BIN)/cmake --build build/sanitize/core >> build/sanitize/log || (cat build/sanitize/log; false)
	cp build/sanitize/core/_core.*.so build/sanitize/drbo
	PYTHONPATH=build/sanitize $(BIN)/python -c 'import drbo; assert "sanitize" in drbo.__file__, drbo.__file__'
	$(WATCHED) $(RUN_TESTS) -q -p no:cacheprovider -m "not slow" $(SANITIZED)
	rm -rf build/calls && mkdir -p build/calls
	-DRBO_RECORD_CORE=build/calls PYTHONPATH=src:. $(RUN_TESTS) -q -p tests.core.recording -p no:cacheprovider \
	  -m "not slow" $(SANITIZED) 2> build/calls/recording.log
	$(WATCHED) $(BIN)/python -m tests.core.fuzz build/calls --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) $(FUZZ_RECORD)

test-slow: .venv/ready  ## the figures that take minutes
	$(RUN_TESTS) -m slow

test-faults: .venv/ready  ## kill, fuzz and starve it, in large numbers; writes docs/developers/faults.md (an hour)
	-$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r .ci/fuzz.txt
	OMP_NUM_THREADS=1 DRBO_FUZZ_CASES=1000 DRBO_BOMBS=1 $(BIN)/python -m pytest -q tests/faults
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign kills --times 100
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign moments
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign fuzz --times 10000
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign forged --times 1000
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign repeats --times 20
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign dask --times 10
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign size
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign overhead
	$(BIN)/python -m tests.faults.campaign limits
	$(BIN)/python -m tests.faults.campaign crowded
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign worked
	DRBO_BOMBS=1 $(BIN)/python -m tests.faults.campaign bombs
	$(BIN)/python -m tests.faults.campaign page

# Two halves beside each other, on two cores: a little of every trial. Nothing is recorded.
campaign: .venv/ready  ## limits, kills, bombs and forged files for every route and reader, in a few minutes
	mkdir -p build
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign reduced --part limits > build/campaign-limits.txt 2>&1 & limits=$$!; \
	  OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.campaign reduced --part rest; rest=$$?; \
	  wait $$limits; limits=$$?; cat build/campaign-limits.txt; exit $$((limits + rest))

test-hidden: .venv/ready  ## 10,000 random tables with hidden causes: is every answer legal?
	OMP_NUM_THREADS=1 DRBO_HIDDEN_TABLES=10000 $(BIN)/python -m pytest -q tests/search/ancestral/test_climb.py -k legal

soak: .venv/ready  ## an hour of searches of random shapes in one process: does anything grow?
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults.soak --minutes 60

LIGHT_MB = 430
test-install: .venv/ready  ## wheel and sdist, each installed into a clean environment; the README's commands run from it
	rm -rf build/install
	$(BIN)/python -m build --quiet --outdir build/install .
	$(PYTHON) -m venv build/install/env
	build/install/env/bin/$(PIP) -c constraints.txt build/install/*.tar.gz
	du -sm --apparent-size build/install/env | awk '{ print $$1 " MB in a fresh environment"; exit $$1 > $(LIGHT_MB) }'
	build/install/env/bin/drbo --version
	build/install/env/bin/$(PIP) --no-deps --force-reinstall build/install/*.whl
	build/install/env/bin/python .ci/readme.py build/install/try

wheel: .venv/ready  ## the wheel of this machine with a manylinux tag, tried where there is no compiler: build/wheel/dist
	.ci/wheel $(BIN)/python

release: docs wheel sbom  ## sdist, wheel, bill of materials and site, checked against the sources: build/dist
	rm -rf build/dist && mkdir -p build/dist
	$(BIN)/python -m build --sdist --no-isolation --outdir build/dist . > build/dist.log || (cat build/dist.log; false)
	cp build/wheel/dist/*.whl build/sbom.json build/dist
	cd build/docs && ../../$(BIN)/python -m zipfile -c ../dist/drbo-docs.zip *
	$(BIN)/python .ci/release.py build/dist

test-release: wheel  ## is the wheel ready for PyPI? twine reads it, pipx and uvx run the demo from it
	$(PYTHON) -m venv build/release
	build/release/bin/$(PIP) twine pipx uv
	build/release/bin/twine check --strict build/wheel/dist/*.whl
	cd build/release && PIPX_HOME=$(CURDIR)/build/release/pipx bin/pipx run --spec $(CURDIR)/build/wheel/dist/*.whl drbo demo
	mkdir -p build/release/uvx && cd build/release/uvx && ../bin/uvx --from $(CURDIR)/build/wheel/dist/*.whl drbo demo

# torch is the pinned one: PyPI has its older versions for Linux with CUDA alone, gigabytes that a test need not load.
# Where an index offers them for the CPU: make test-lower LOWER_TORCH=torch==2.11.0
# The README's commands meet every library; what an old version warns of is its own affair.
LOWER_TESTS = tests/data tests/search/bayes/test_first_design.py tests/search/orders/test_search.py tests/search/evaluation/test_remote.py \
  tests/result/files/test_export.py
LOWER_TORCH = $(shell grep '^torch==' constraints.txt)
test-lower: ## the core tests with the oldest versions that pyproject.toml allows
	rm -rf build/lower && mkdir -p build/lower
	$(PYTHON) -m venv build/lower/env
	grep -v '^torch' constraints-lower.txt > build/lower/constraints.txt
	build/lower/env/bin/$(PIP) -c build/lower/constraints.txt $(LOWER_TORCH) \
	  ".[torch,plot,parquet,studio]" causal-learn hypothesis packaging polars pytest pytest-xdist statsmodels
	OMP_NUM_THREADS=1 build/lower/env/bin/python -m pytest -q -p no:cacheprovider -o filterwarnings=default \
	  -n 2 --dist loadfile -m "not slow" $(LOWER_TESTS)
	build/lower/env/bin/python .ci/readme.py build/lower/try

docs: .venv/ready  ## the site in build/docs; runs the examples; a warning is an error
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

pictures: .venv/ready  ## the screenshots in docs/images; needs Chromium
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks pages --part pictures

# axe-core is not a part of drbo: it is taken from npm, at this version.
AXE = 4.14.0
axe: docs  ## look for barriers on every page of the site and in the reports; needs Chromium and npm
	npm install --silent --no-save --prefix build/axe axe-core@$(AXE)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks pages --part axe --library build/axe/node_modules/axe-core/axe.min.js

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(filter %.cpp %.h,$(CORE))

type: .venv/ready
	$(BIN)/mypy

bench-quick: .venv/ready  ## a small slice of every benchmark; libraries that are not installed give rows that say so
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks experiments --quick --workers 2
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks studies --quick

# Hours; goes on where it stopped. The methods of others: make bench BENCH_PYTHON=rivals/bin/python, benchmarks/requirements.txt
BENCH_PYTHON = $(BIN)/python
bench: .venv/ready  ## every cell of every experiment, then the pages
	OMP_NUM_THREADS=1 $(BENCH_PYTHON) -m benchmarks experiments --workers $(shell nproc)
	$(BIN)/python -m benchmarks report

BASE = HEAD
golden: .venv/ready  ## does any small run differ from that of another commit? make golden BASE=main
	$(BIN)/python -m benchmarks golden --base $(BASE)

clean:
	rm -rf .venv .venv-demo .venv-handover .venv-light drbo-demo src/drbo/_core.*.so
