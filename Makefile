# The few commands of this project. `make help` lists them; CONTRIBUTING.md explains them.
SHELL := bash
.DEFAULT_GOAL := help

VENV ?= .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
REPORTS := reports
DEMO_ARGS ?=
PYTEST_ARGS ?=

.PHONY: help venv demo test test-all test-python test-browser test-js test-pythons lint types layers bundle drift \
	format bench docs lite test-lite screenshots chromium kernels clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-12s %s\n", $$1, $$2 }'

# --- environments ------------------------------------------------------------------------------

$(PY):
	python=$$(scripts/python.sh) && "$$python" -m venv $(VENV)
	$(PIP) install "pip>=25.1"

# The demo needs no test tools: a first look installs half as much.
$(VENV)/.docs-stamp: pyproject.toml | $(PY)
	$(PIP) install --editable . --group docs
	@touch $@

$(VENV)/.dev-stamp: pyproject.toml | $(PY)
	$(PIP) install --editable . --group dev
	@touch $@ $(VENV)/.docs-stamp

js/node_modules/.package-lock.json: js/package.json js/package-lock.json
	cd js && npm ci --no-audit --no-fund
	@touch $@

venv: $(VENV)/.dev-stamp ## make or refresh .venv with everything a contributor needs

chromium:
	@scripts/chromium.sh

# Older ipykernels beside the environment's own, for the tests that compare them.
kernels: $(VENV)/.dev-stamp
	$(PY) scripts/kernels.py

# --- a look ------------------------------------------------------------------------------------

demo: $(VENV)/.docs-stamp ## open the first lesson in JupyterLab (DEMO_ARGS="--port=9000")
	$(PY) scripts/demo.py $(DEMO_ARGS)

# --- tests -------------------------------------------------------------------------------------

test: ## the tests, small sizes, at most 12 minutes on two cores
	@# The page's tests mostly wait: beside the first part they take next to no time of their own.
	@# A part that fails does not keep the others from running.
	@status=0; \
	$(MAKE) --no-print-directory --keep-going --jobs=2 test-python test-js || status=1; \
	$(MAKE) --no-print-directory test-browser || status=1; \
	exit $$status

test-all: export HITL_TEST_ALL = 1
test-all: $(VENV)/.bench-stamp $(VENV)/.frontends-stamp ## everything: large sizes, all kernels, a clean install, the benchmarks
	@$(MAKE) --no-print-directory --keep-going test test-lite test-pythons

# Three workers, a file each at a time: a third of the time is spent waiting for others.
test-python: $(VENV)/.dev-stamp kernels
	@mkdir -p $(REPORTS)
	$(PY) -m pytest --junitxml=$(REPORTS)/python.xml --numprocesses=3 --dist=loadfile \
		tests --ignore=tests/browser --ignore=tests/frontends --ignore=tests/bench --ignore=tests/lite $(PYTEST_ARGS)

# Notebook 7, nbclassic and marimo, for the core suite in every front end.
$(VENV)/.frontends-stamp: $(VENV)/.dev-stamp
	$(PIP) install --group frontends
	@touch $@

# The stand-in for VS Code's notebook page, from what VS Code itself loads.
PAGE := tests/frontends/webview
.cache/vscode-page/webview.js: $(PAGE)/package.json $(PAGE)/package-lock.json $(PAGE)/build.mjs $(PAGE)/webview.js
	cd $(PAGE) && npm ci --no-audit --no-fund
	node $(PAGE)/build.mjs $(dir $@)

# Two workers, a file each at a time; each has a browser and a Jupyter server for all its tests.
test-browser: $(VENV)/.dev-stamp chromium kernels .cache/vscode-page/webview.js
	@mkdir -p $(REPORTS)
	$(PY) -m pytest --junitxml=$(REPORTS)/browser.xml --numprocesses=2 --dist=loadfile \
		tests/browser tests/frontends $(PYTEST_ARGS)

# The other supported Pythons that this machine has; the newest runs everything else.
test-pythons:
	@for python in $$(scripts/pythons.sh); do \
		venv=.cache/pythons/$$("$$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
		test -x $$venv/bin/python || "$$python" -m venv $$venv || exit 1; \
		pip="$$venv/bin/python -m pip --disable-pip-version-check --quiet install"; \
		$$pip "pip>=25.1" && $$pip --editable . --group test || exit 1; \
		$$venv/bin/python -m pytest -q tests/unit tests/store tests/questions tests/rules || exit 1; \
	done

test-lite: $(VENV)/.dev-stamp chromium lite ## the lesson of `make lite`, by hand
	@mkdir -p $(REPORTS)
	$(PY) -m pytest --junitxml=$(REPORTS)/lite.xml tests/lite $(PYTEST_ARGS)

test-js: js/node_modules/.package-lock.json chromium
	@mkdir -p $(REPORTS)
	cd js && npm test -- --reporter=default --reporter=junit --outputFile.junit=../$(REPORTS)/js.xml

# What others keep runs in: only measured against, never imported by the package.
$(VENV)/.bench-stamp: $(VENV)/.dev-stamp
	$(PIP) install --group bench
	@touch $@

bench: $(VENV)/.bench-stamp chromium ## measure against the figures written in tests/bench
	HITL_TEST_ALL=1 $(PY) -m pytest tests/bench --capture=no --durations=0
	for bench in agent forms runs screen wake; do $(PY) -m tests.bench.bench_$$bench || exit 1; done

# --- checks ------------------------------------------------------------------------------------

lint: $(VENV)/.dev-stamp js/node_modules/.package-lock.json ## ruff and biome
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd js && npm run check

types: $(VENV)/.dev-stamp ## pyright, strict
	$(BIN)/pyright --pythonpath $(PY)

layers: $(VENV)/.dev-stamp ## who may import whom
	$(BIN)/lint-imports

bundle: js/node_modules/.package-lock.json ## rebuild the front-end bundle; fail if it had changed
	scripts/unchanged.sh hitl_widgets/screen/static -- npm --prefix js run build

drift: $(VENV)/.dev-stamp ## regenerate the message types; fail if they had changed
	scripts/unchanged.sh js/src/generated js/tests/fixtures -- $(PY) scripts/messages.py

format: $(VENV)/.dev-stamp ## format the Python code
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

# --- sites ---------------------------------------------------------------------------------------

docs: $(VENV)/.dev-stamp ## build the pages in docs/ into build/site; a link to nowhere fails
	$(BIN)/mkdocs build --strict --quiet

LITE := .cache/lite-venv
$(LITE)/.stamp: pyproject.toml | $(PY)
	$(PY) -m venv $(LITE)
	$(LITE)/bin/python -m pip --disable-pip-version-check --quiet install "pip>=25.1"
	$(LITE)/bin/python -m pip --disable-pip-version-check --quiet install --group lite
	@touch $@

lite: $(LITE)/.stamp ## build the first lesson as a static site into build/lite: Python runs in the page
	$(LITE)/bin/python scripts/lite.py

# --- the rest ----------------------------------------------------------------------------------

screenshots: $(VENV)/.dev-stamp chromium ## take the README's pictures again
	$(PY) -m scripts.screenshots

clean: ## remove everything that was built or installed here
	rm -rf $(VENV) .cache $(REPORTS) dist build js/node_modules lite/node_modules
