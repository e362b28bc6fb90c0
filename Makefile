# `make` lists the targets. Everything is installed into .venv; only Python 3.11+, make and a package index are needed.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help demo test check fix solr bench-engines bench-fingerprint bench-similar bench-startup bench-accuracy bench-calibration bench-parsing fuzz prove-identity clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

demo: .venv/installed ## Index real text of this machine and ask three questions
	@$(BIN)/whorl demo

test: .venv/developing ## Run the whole suite, on real Solrs that it starts itself
	$(BIN)/python -m pytest

check: .venv/developing ## Lint, format and type checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fix: .venv/developing ## Repair what the linter can, and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

solr: .venv/developing ## Start a real Solr without Docker, on port 8983, until interrupted
	$(BIN)/whorl solr up

benchmarks/data/main.jsonl: | .venv/developing
	$(BIN)/python benchmarks/corpus.py benchmarks/data

bench-engines: .venv/developing ## Measure both engines beside each other and beside bare HTTP (about 10 minutes)
	$(BIN)/python benchmarks/engines.py

bench-fingerprint: .venv/developing benchmarks/data/main.jsonl ## Time signatures beside other libraries and Lucene (about 3 minutes)
	-for peer in $$(grep -v '^#' benchmarks/requirements-fingerprint.txt); do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$peer"; done
	$(BIN)/python benchmarks/fingerprint.py

bench-similar: .venv/developing benchmarks/data/main.jsonl ## Time calibrated searches beside {!min_hash} on 100,000 documents (about an hour)
	$(BIN)/python benchmarks/similar.py --sources 20 --rounds 3

bench-startup: .venv/developing ## Time the process of whorl fingerprint FILE
	$(BIN)/python benchmarks/startup.py

bench-accuracy: .venv/developing benchmarks/data/main.jsonl ## Recall, precision and errors beside stock queries and datasketch (about an hour)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements-accuracy.txt
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/accuracy_schemes.py
	$(BIN)/python benchmarks/accuracy_plots.py

bench-calibration: .venv/developing ## Recall that plans deliver against the recall asked for, simulated (about 3 minutes)
	$(BIN)/python benchmarks/calibration.py

bench-parsing: .venv/developing ## Time the query parser (about a minute)
	$(BIN)/python benchmarks/parsing.py

fuzz: .venv/developing ## Put 221,100 queries, right and wrong, through both readings of the parser (about 10 minutes)
	$(BIN)/python tests/query/fuzz_queries.py benchmarks/results/fuzz.txt

prove-identity: .venv/developing benchmarks/data/main.jsonl ## Compare tokens made here with a real Solr's, for all corpora
	$(BIN)/python benchmarks/identity.py benchmarks/data

clean: ## Remove what was installed and built
	rm -rf .venv dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("whorl needs Python 3.11 or newer, this is " + sys.version)'
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/developing: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fast,solr,serve,test,check]'
	@touch .venv/installed $@
