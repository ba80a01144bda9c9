# railweave: every everyday action, one word each. `make help` lists them.

PYTHON ?= python3
VENV   ?= .venv
# Another target is named on the command line (`make deploy TARGET=lab`), never by the environment.
TARGET := sim
INTENT ?= intent/pod-32.yml

# A lab is small: without INTENT it runs the intent that fits on a laptop.
LAB_INTENT := $(if $(filter file undefined,$(origin INTENT)),intent/lab-4.yml,$(INTENT))
ifeq ($(TARGET),lab)
INTENT := $(LAB_INTENT)
endif

BIN       := $(VENV)/bin
PIP       := $(BIN)/python -m pip --disable-pip-version-check
RAILWEAVE := $(BIN)/railweave
READY     := $(VENV)/.ready

# The simulator and the lab need no confirmation; any other target does:
# make deploy TARGET=production CONFIRM=yes PROVISION=yes
# REMOVE_LIVE=yes closes ports of removed nodes that are still up, on every target.
REHEARSAL := $(filter sim lab,$(TARGET))
CONSENT   := $(if $(or $(REHEARSAL),$(filter yes,$(CONFIRM))),--yes) \
             $(if $(or $(REHEARSAL),$(filter yes,$(PROVISION))),--provision) \
             $(if $(filter yes,$(REMOVE_LIVE)),--remove-live)

# make deploy FROM=REV: in phases from the git revision that is deployed, up to the next manual step; PHASE=N only that
# one, and `make verify FROM=REV PHASE=N` checks it. NODES_DONE=yes: the GPU nodes have done the phases before.
FROM   :=
PHASE  :=
PHASED := $(if $(FROM),--from $(FROM)) $(if $(PHASE),--phase $(PHASE))

# make deploy LIMIT=pod1-leaf3: only these switches; names, patterns and tiers, separated by commas. No node is changed.
LIMIT   :=
LIMITED := $(if $(LIMIT),--limit "$(LIMIT)")

# Simulators, revert timers and Ansible's workers run in sessions of their own; the guard ends them with the tests.
GUARDED := $(BIN)/python -I -S tests/support/run_guarded.py
PYTEST  := $(GUARDED) $(BIN)/python -m pytest -q

# One worker per processor; an idle one takes tests from another.
PARALLEL := -n auto --maxprocesses 8 --dist worksteal

# Without bytecode every process compiles the project again: seconds in a test run, half a second per command.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup lock sbom docs pages wheels image fabric deploy diff verify pictures test slow trials check lint types coverage e2e e2e-nightly e2e-weekly faults fuzz chaos fuzz-chaos frozen properties rollouts soak yang bench scale lab-up lab-down \
        sim-down clean

help: ## list the targets
	@test -t 1 && test -z "$$NO_COLOR" && bold='\033[1m' plain='\033[0m'; \
	awk -F':.*## ' "/^[a-z0-9-]+:.*## /{printf \"  $$bold%-10s$$plain %s\\n\", \$$1, \$$2}" $(MAKEFILE_LIST)
	@printf '\n  TARGET=%s INTENT=%s\n' '$(TARGET)' '$(INTENT)'

setup: $(READY) ## create the environment in .venv

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "railweave needs Python 3.11 or newer; name one: make PYTHON=python3.11 setup" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing railweave and its packages into $(VENV)"
	@$(PIP) install --quiet --no-compile --require-hashes -r constraints.txt
	@$(PIP) install --quiet --no-compile --no-deps --no-build-isolation -e .
	@touch $@

# Versions and hashes of every package, for every platform. `make lock UPGRADE=` keeps the versions and adds new
# requirements of pyproject.toml; `make lock UPGRADE='--upgrade-package NAME'` upgrades one.
UPGRADE ?= --upgrade
COMPILE = $(BIN)/uv pip compile --quiet $(UPGRADE) --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-annotate --custom-compile-command 'make lock'
YANG_PACKAGES := import sys, tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"][sys.argv[1]])

lock: setup ## upgrade the locked packages: constraints.txt and requirements/
	@$(PIP) install --quiet --require-hashes -r requirements/lock.txt
	@$(COMPILE) pyproject.toml --extra dev --extra sim --output-file constraints.txt >/dev/null
	@$(COMPILE) pyproject.toml --extra hosts --extra sim --constraints constraints.txt \
	  --output-file requirements/runtime.txt >/dev/null
	@for extra in yang yang3; do \
	  $(BIN)/python -c '$(YANG_PACKAGES)' $$extra | $(COMPILE) - --constraints constraints.txt \
	    --output-file requirements/$$extra.txt >/dev/null; done
	@$(COMPILE) --group lock --output-file requirements/lock.txt >/dev/null
	@$(COMPILE) --group docs --constraints constraints.txt --output-file requirements/docs.txt >/dev/null

# The bill lists the packages of an environment, which is created as a user would. To use another one, name its
# interpreter: SBOM_PYTHON=.venv/bin/python.
SBOM      ?= build/railweave.cdx.json
SBOM_VENV := build/sbom-venv
SBOM_PYTHON ?= $(SBOM_VENV)/bin/python

# Validation takes twenty times as long as the rest; an end-to-end test does it.
sbom: setup $(filter $(SBOM_VENV)/%,$(SBOM_PYTHON)) ## software bill of materials (CycloneDX) in build/railweave.cdx.json
	@mkdir -p $(dir $(SBOM))
	@sed 's/^dynamic = .*/version = "$(lastword $(shell $(RAILWEAVE) --version))"/' pyproject.toml > $(SBOM).toml
	@$(BIN)/cyclonedx-py environment --no-validate --pyproject $(SBOM).toml --mc-type application --output-reproducible \
	  --output-file $(SBOM) $(SBOM_PYTHON)
	@rm $(SBOM).toml

$(SBOM_VENV)/bin/python: pyproject.toml requirements/runtime.txt
	@$(PYTHON) -m venv --clear --without-pip $(SBOM_VENV)
	@$(PIP) --python $@ install --quiet --no-compile --require-hashes -r requirements/runtime.txt
	@$(PIP) --python $@ install --quiet --no-deps .
	@touch $@

SITE ?= build/site

docs: setup ## the documentation site in build/site
	@$(BIN)/python -c 'import material' 2>/dev/null || $(PIP) install --quiet --require-hashes -r requirements/docs.txt
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir $(SITE)
	@echo "$(SITE)/index.html"

# Each test of tests/golden/docs compares a page with what its command prints.
PAGES := docs/reference

pages: setup ## renew the pages of docs/reference that commands print
	@$(RAILWEAVE) schema intent --markdown >$(PAGES)/intent.md
	@$(RAILWEAVE) schema --markdown >$(PAGES)/json.md
	@$(RAILWEAVE) codes >$(PAGES)/checks.md
	@$(RAILWEAVE) models --markdown >$(PAGES)/catalog.md
	@$(RAILWEAVE) init --list --markdown >$(PAGES)/designs.md

DIST     ?= dist
PACKAGES := . packages/railweave-sonic packages/napalm-sonic packages/sonic-sim

wheels: setup ## the wheels of railweave and of the packages that work without it, in dist/
	@rm -rf $(DIST)
	@$(foreach package,$(PACKAGES),$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir $(DIST) ./$(package) &&) ls $(DIST)

# Packages are fetched here, by hash, so that the build of the image reaches no index; its Python is Debian 12's, 3.11, and so
# must this one be. IMAGE_BUILD has more options of the build, such as --network host.
IMAGE ?= railweave:$(lastword $(shell $(RAILWEAVE) --version))

image: wheels ## a container image with railweave, its simulator and Ansible; needs Docker
	@rm -rf build/wheels
	@$(PIP) wheel --quiet --require-hashes --wheel-dir build/wheels -r requirements/runtime.txt
	@cp $(DIST)/railweave-*.whl build/wheels
	@docker build --quiet $(IMAGE_BUILD) --file Containerfile --tag $(IMAGE) . >/dev/null

# The fabric of the target: the simulator is started here, a lab by `make lab-up`.
fabric: setup
ifeq ($(TARGET),sim)
	@$(RAILWEAVE) sim up $(INTENT)
endif

deploy: fabric ## plan, deploy and verify INTENT on TARGET
	@$(RAILWEAVE) deploy $(INTENT) --target $(TARGET) $(CONSENT) $(PHASED) $(LIMITED) $(if $(filter yes,$(NODES_DONE)),--nodes-done)
# The phases include those of the nodes; under a limit nodes could use what switches left behind do not offer.
ifeq ($(FROM)$(LIMIT),)
	@$(RAILWEAVE) hosts apply $(INTENT) --target $(TARGET) --if-managed $(filter --yes,$(CONSENT))
endif

diff: fabric ## dry run: what a deployment would change
	@$(RAILWEAVE) plan $(INTENT) --target $(TARGET) $(LIMITED)

verify: setup ## compare LLDP, BGP, MTU and links of the running fabric with the intent
	@$(RAILWEAVE) verify $(INTENT) --target $(TARGET) $(PHASED)

# The pages need Chromium; CONTRIBUTING.md says what to look for.
pictures: setup ## the reference pictures anew: screens, drawings and pages, and those of the docs; needs Chromium
	@RAILWEAVE_UPDATE_GOLDEN=1 $(PYTEST) tests/golden/drawing tests/golden/screens
	@RAILWEAVE_UPDATE_GOLDEN=1 $(PYTEST) -m e2e tests/e2e/test_e2e_pictures.py

# Every process would rewrite the assertions of all test modules to be able to explain one: those that failed run again for that.
test: setup ## all tests that need only Python, except slow ones (`make check` runs these too)
	@$(PYTEST) --assert=plain $(PARALLEL) -m 'not e2e and not bench and not slow' \
	  || { $(PYTEST) --last-failed --last-failed-no-failures none tests; exit 1; }

slow: setup ## the slow tests, which `make test` leaves out
	@$(PYTEST) $(PARALLEL) -m 'slow and not e2e and not bench'

# mypy keeps one processor busy, the tests wait for processes now and then: side by side they end sooner.
check: lint ## format, lint, types, and all tests, with coverage but for the trials
	@$(MAKE) --no-print-directory -j2 --output-sync types coverage
	@$(MAKE) --no-print-directory trials

# The same paths with many seeds: measuring their lines again would double the longest tests.
trials: setup ## the tests of many seeds, of `make slow`
	@$(PYTEST) $(PARALLEL) -m 'trials and not e2e and not bench'

lint: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: setup
	@$(BIN)/mypy

# A separate run, because measured tests take twice as long.
coverage: setup ## run the tests with coverage, and print the branches that they miss, the worst files first
	@rm -rf build/coverage
	@mkdir -p build/coverage
	@$(GUARDED) $(BIN)/coverage run -m pytest -q $(PARALLEL) -m 'not e2e and not bench and not trials' --hypothesis-profile=usual >build/coverage/tests.log 2>&1 \
	  || { tail -40 build/coverage/tests.log; exit 1; }
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

# SONiC's YANG models are no part of this project; if they are beside it, e2e validates all renderings against them.
YANG_MODELS := $(wildcard ../shared/sonic-yang)

# Targets in THEN run after the simulator's part, while the lab's, which takes longer, goes on.
e2e: setup $(if $(YANG_MODELS),yang) ## whole scenarios on the simulated fabric and on the lab (Docker, Containerlab, root)
	@$(GUARDED) $(BIN)/python tests/support/side_by_side.py $(THEN)

e2e-nightly: setup $(if $(YANG_MODELS),yang) ## the scenarios that `make e2e` leaves out, as others cover their paths
	@$(GUARDED) $(BIN)/python tests/support/side_by_side.py --nightly $(THEN)

# One after the other, because these measure bandwidth, or hold devices to the time that they have on an idle machine.
e2e-weekly: setup ## the longest scenarios: faults on every shape of fabrics, killed acceptance runs, real bandwidth in the lab
	@RAILWEAVE_FAULT_FABRICS=all $(PYTEST) -m 'e2e and weekly' tests/e2e --ignore=tests/e2e/lab
	@$(PYTEST) -m 'e2e and weekly' tests/e2e/lab

# Both on fixed seeds, side by side.
SECONDS_EACH ?= 70

fuzz-chaos: setup
	@$(MAKE) --no-print-directory -j2 --output-sync fuzz chaos FUZZ_SECONDS=$(SECONDS_EACH) FUZZ="--seed 1" CHAOS='--seconds $(SECONDS_EACH)'

faults: setup ## 10,000 seeded faults in the switch program: killed, frozen and repeated calls, lying commands, daemons that end or start late
	@RAILWEAVE_SWITCH_SEEDS=10000 $(PYTEST) $(PARALLEL) tests/unit/switch/test_switch_faults.py

properties: setup ## every property on 25 times as many examples as in `make test`
	@$(PYTEST) $(PARALLEL) -m 'hypothesis and not e2e and not bench' --hypothesis-profile=thorough
	@RAILWEAVE_HISTORIES=250 $(PYTEST) $(PARALLEL) tests/property/test_tenant_histories.py

FUZZ_SECONDS ?= 600

fuzz: setup ## mutated intents, plans, inventories, journals, answers, state files and exchanges with a switch; FUZZ_SECONDS=600, FUZZ="--seed 7 --only plan"
	@$(GUARDED) $(BIN)/python tests/support/fuzz.py --seconds $(FUZZ_SECONDS) $(FUZZ)

# CHAOS='--first 0 --trials 1000 --seconds 60 --log FILE': see its --help.
chaos: setup ## 1,000 trials: killed and frozen processes, full disks, two clones, rebooting, lying and hostile switches; takes an hour
	@$(GUARDED) $(BIN)/python tests/support/chaos.py $(CHAOS)

FROZEN_TRIALS ?= 60
RUNNER_SEEDS  ?= 1000

frozen: setup ## runners frozen for longer than the timers while others deploy, phases killed at every fourth step: 1,000 seeds in one process each, 60 trials of real commands
	@RAILWEAVE_RUNNER_SEEDS=$(RUNNER_SEEDS) RAILWEAVE_EVERY_RACE=1 $(PYTEST) $(PARALLEL) \
	  tests/unit/nornir/test_nornir_frozen_runners.py tests/unit/nornir/test_nornir_capacity_race.py \
	  tests/unit/nornir/test_nornir_phases_killed.py
	@RAILWEAVE_FROZEN_TRIALS=$(FROZEN_TRIALS) $(PYTEST) -m e2e tests/e2e/test_e2e_frozen.py

ROLLOUTS := $(PYTEST) -n 3 --dist worksteal -m e2e tests/e2e/test_e2e_rollouts.py

rollouts: setup ## 200 seeded rollouts on the simulator: lost, lying and restarting switches, killed and frozen processes, foreign commits
	@$(ROLLOUTS)

SEEDS ?= 2000
FIRST ?= 1000

soak: setup ## the same with SEEDS rollouts from seed FIRST; takes long
	@RAILWEAVE_ROLLOUT_SEEDS=$(SEEDS) RAILWEAVE_ROLLOUT_FIRST=$(FIRST) $(ROLLOUTS)

# The binding of libyang for the C library whose headers are there.
YANG_EXTRA = $(if $(filter 3.%,$(shell pkg-config --modversion libyang 2>/dev/null)),yang3,yang)

yang: setup ## libyang, for `railweave check --yang DIR`; compiled against libyang2-dev (Debian 12) or libyang-dev (13)
	@$(BIN)/python -c 'import libyang' 2>/dev/null \
	  || $(PIP) install --quiet --require-hashes -r requirements/$(YANG_EXTRA).txt

# make bench AGAINST=DIR: another checkout takes turns with this one. BENCH='--rounds 9 --json' and others: see its --help.
bench: setup ## time, memory and CPU a switch of what users run, beside the bars; AGAINST=DIR compares
	@$(PYTEST) -m bench tests/unit/support >&2
	@$(GUARDED) $(BIN)/python tests/bench/bench.py $(if $(AGAINST),--against $(AGAINST)) $(BENCH)

scale: setup ## a thousand simulated switches planned, deployed and verified; takes minutes
	@$(GUARDED) $(BIN)/python tests/bench/bench.py --scale $(BENCH)

lab-up: setup ## start the lab of INTENT (by default intent/lab-4.yml) on Containerlab, or add what a running one lacks; needs Docker and root
	@$(RAILWEAVE) lab up $(LAB_INTENT)

lab-down: setup ## stop the lab and remove its containers, network and files
	@$(RAILWEAVE) lab down $(LAB_INTENT)

sim-down: setup ## stop the simulated fabric and remove its state
	@$(RAILWEAVE) sim down $(INTENT)

clean: ## remove the environment and all generated files
	@if test -x $(RAILWEAVE); then $(RAILWEAVE) sim down --all; $(RAILWEAVE) lab down --all; fi
	rm -rf $(VENV) .railweave build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
