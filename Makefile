# `make` lists the targets. Everything is installed into .venv; only Python 3.11+, make and a package index are needed.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
# What a test process compiles, the next one need not: the processes that tests start are many.
export PYTHONDONTWRITEBYTECODE =
#: Stores of tests are thrown away: where there is memory enough they stand there, and nothing waits for a disk.
quick test coverage: export TMPDIR := $(or $(shell tools/memory_folder.sh),$(TMPDIR),/tmp)
#: Processes that tests are shared out to: units to two, the whole suite to four, since its tests wait for servers.
QUICK_WORKERS ?= 2
WORKERS ?= 4
.PHONY: compiled help demo quick quick-coverage quick-tests test test-pythons coverage check fix solr bench-engines bench-fingerprint bench-similar bench-startup bench-accuracy bench-calibration bench-simhash-quality bench-duplicates bench-duplicates-accuracy bench-duplicates-scaling bench-hamming bench-spark bench-spark-cluster bench-parsing bench-load bench-memory bench-uploads bench-indexing bench-queries bench-million bench-opensearch bench-passages bench-boilerplate fuzz contract mutations injections prove-identity prove-engines prove-kills replay-image screenshots docs clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

demo: .venv/installed ## Index real text of this machine and ask three questions
	@$(BIN)/whorl demo

quick: .venv/developing compiled ## Run the tests that need nothing but Python: no Solr, no other process
	@$(MAKE) --no-print-directory quick-tests QUICK_OPTIONS="$(QUICK_OPTIONS)"

quick-coverage: QUICK_OPTIONS := --cov --cov-report=term
quick-coverage: quick ## Say how many lines and branches the tests reach that need nothing but Python

quick-tests:
	$(BIN)/python -m pytest -n $(QUICK_WORKERS) --dist loadfile --hypothesis-profile=quick $(QUICK_OPTIONS) \
		-m "not (solr or cloud or opensearch or spark or browser or clients or process or slow)"

compiled: .venv/developing
	@# Once, before several processes would compile the loops at the same time; where they cannot be, nothing needs them.
	@$(BIN)/python -c "from whorl.fingerprint.compiled.kernel import Kernel; Kernel()" 2> /dev/null || true
	@$(BIN)/python -c "from whorl.hamming.routes import loops; loops(60)" 2> /dev/null || true

test: .venv/developing compiled ## Run the whole suite, on real Solrs that it starts itself
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test-pythons: .venv/bin/python ## Run the quick tests and the demo on each Python here: 3.11 to 3.14 (minutes)
	$(BIN)/python tools/test_pythons.py $(PYTHONS)

coverage: .venv/developing compiled ## Run the whole suite and list the lines and branches that no test reaches
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --cov --cov-report=term-missing:skip-covered

check: .venv/developing ## Lint, format, type and workflow checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet .github

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

bench-similar: .venv/developing benchmarks/data/main.jsonl ## Time calibrated searches beside {!min_hash} on 100,000 documents (about 10 minutes)
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

bench-simhash-quality: .venv/developing benchmarks/data/main.jsonl ## How well SimHash codes tell near-duplicates, and what they cost (about 10 minutes)
	$(BIN)/python benchmarks/simhash_quality.py

bench-duplicates: .venv/developing benchmarks/data/main.jsonl ## All pairs of near-duplicates beside other libraries (about three hours)
	-for peer in $$(grep -v '^#' benchmarks/requirements-duplicates.txt); do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$peer"; done
	-for peer in text-dedup datatrove; do $(BIN)/python -m venv benchmarks/data/venv-$$peer && \
		benchmarks/data/venv-$$peer/bin/python -m pip install --quiet --disable-pip-version-check \
		-r benchmarks/requirements-duplicates-$$peer.txt; done
	$(BIN)/python benchmarks/duplicates.py --thresholds 80,50,90
	$(BIN)/python benchmarks/duplicates.py --words 60 --thresholds 80,50,90
	$(BIN)/python benchmarks/duplicates.py --pieces 60000 --thresholds 80,50,90
	$(BIN)/python benchmarks/descriptions.py
	$(BIN)/python benchmarks/duplicates.py benchmarks/data/descriptions.jsonl --thresholds 80,50,90
	$(BIN)/python benchmarks/duplicates.py --profile

bench-duplicates-accuracy: .venv/developing benchmarks/data/main.jsonl ## Recall and precision of duplicates on real text (about 20 minutes)
	$(BIN)/python benchmarks/duplicates_accuracy.py --solr

bench-duplicates-scaling: .venv/developing benchmarks/data/main.jsonl ## Time and memory of duplicates of up to a million documents (about 25 minutes)
	$(BIN)/python benchmarks/duplicates_scaling.py
	$(BIN)/python benchmarks/duplicates_scaling.py --boilerplate
	$(BIN)/python benchmarks/duplicates_scaling.py --families

bench-hamming: .venv/developing ## Hamming search of up to 100 million codes; PEERS='--corpus-peer FOLDER ...' (about 10 minutes)
	$(BIN)/python benchmarks/hamming.py $(PEERS)
	$(BIN)/python benchmarks/hamming_commands.py $(if $(BINARIES),--binaries $(BINARIES))

bench-spark: .venv/developing benchmarks/data/main.jsonl ## What duplicates on Spark take of a document, step by step (about 3 minutes)
	$(BIN)/python benchmarks/spark.py

bench-spark-cluster: .venv/developing benchmarks/data/main.jsonl ## Duplicates on a cluster of Spark that loses a worker in the middle (about 2 minutes)
	$(BIN)/python benchmarks/spark_cluster.py --documents 20000 --words 60

bench-parsing: .venv/developing ## Time the query parser (about a minute)
	$(BIN)/python benchmarks/parsing.py

.venv/load/bin/locust: benchmarks/requirements-load.txt | .venv/bin/python
	$(BIN)/python -m venv .venv/load
	.venv/load/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements-load.txt
	@touch $@

bench-load: .venv/developing .venv/load/bin/locust ## 64 clients on the service for ten minutes on each engine, which is killed meanwhile
	for engine in solr opensearch embedded; do $(BIN)/python benchmarks/load.py --engine $$engine --seconds 600 || exit 1; done

bench-memory: .venv/developing ## What an embedded store holds in memory under 16 threads, with and without new documents (about 3 minutes)
	$(BIN)/python benchmarks/memory.py

bench-uploads: .venv/developing ## Uploads and deletes of one document each, into an embedded store of 20,000 (about 3 minutes)
	$(BIN)/python benchmarks/uploads.py

bench-indexing: .venv/developing benchmarks/data/main.jsonl ## Time and bytes that an embedded store takes of a document (about a minute)
	$(BIN)/python benchmarks/indexing.py

bench-queries: .venv/developing benchmarks/data/main.jsonl ## Processor time of questions to an embedded store of 200,000 and a million (hours)
	test -f benchmarks/data/million/documents.jsonl || $(BIN)/python benchmarks/million_texts.py
	$(BIN)/python benchmarks/queries.py

bench-million: .venv/developing ## A million documents of real text in every engine, with faults (hours; goes on where it was stopped)
	$(BIN)/python benchmarks/million.py
	$(BIN)/python benchmarks/million.py --faults --engines embedded,solr
	$(BIN)/python benchmarks/million.py --report

bench-opensearch: .venv/developing benchmarks/data/main.jsonl ## Searches on OpenSearch beside Solr, embedded, bare requests, match and more_like_this (about 10 minutes)
	$(BIN)/python benchmarks/opensearch.py

bench-passages: .venv/developing benchmarks/data/main.jsonl ## Put 12,000 passages into other texts and look for them (about 15 minutes)
	$(BIN)/python benchmarks/passages.py --csv benchmarks/results/passages.csv
	$(BIN)/python benchmarks/passages.py --design

bench-boilerplate: .venv/developing benchmarks/data/main.jsonl ## Clusters of documents with one frame, with and without what is common (about 5 minutes)
	$(BIN)/python benchmarks/boilerplate.py --line 1%,5% --csv benchmarks/results/boilerplate.csv

contract: .venv/developing ## Schemathesis over every operation of the service, with all of its checks (about ten minutes)
	$(BIN)/python -m tests.service.contract 200

mutations: .venv/developing ## 10,000 damaged answers of a real Solr and of OpenSearch, to every question whorl asks (about ten minutes)
	MUTATIONS=5000 $(BIN)/python -m pytest -q tests/engine/test_mutations.py

injections: .venv/developing ## Syntax of Solr's and OpenSearch's own in every place where a user can write, on all engines (about two minutes)
	INJECTIONS_STEP=1 $(BIN)/python -m pytest -q tests/cli/test_injections.py

fuzz: .venv/developing ## Hundreds of thousands of damaged queries, requests and files (about half an hour)
	$(BIN)/python -m tests.query.fuzz_queries benchmarks/results/fuzz.txt
	$(BIN)/python -m tests.service.fuzz_requests benchmarks/results/fuzz-requests.txt
	$(BIN)/python -m tests.ingest.fuzz_files benchmarks/results/fuzz-files.txt

prove-identity: .venv/developing benchmarks/data/main.jsonl ## Compare tokens made here with a real Solr's and OpenSearch's, for all corpora
	-$(BIN)/python benchmarks/identity.py benchmarks/data
	$(BIN)/python benchmarks/identity_opensearch.py benchmarks/data

prove-engines: .venv/developing benchmarks/data/main.jsonl ## Ask Solr, OpenSearch and the embedded engine the same 1,000 queries about 13,000 real documents; a run that was stopped goes on
	$(BIN)/python benchmarks/same_answers.py --folder benchmarks/data/same-answers --out benchmarks/results/same-answers.txt
	rm -rf benchmarks/data/same-answers

prove-kills: .venv/developing ## Kill the writer, the service and Solr 200 times while documents are sent (about 20 minutes)
	$(BIN)/python benchmarks/kills.py

replay-image: .venv/developing ## Do what the Dockerfile says without Docker, up to its health check (about a minute)
	$(BIN)/python tools/replay_image.py

screenshots: .venv/developing ## Take the pictures of the page in docs/images (needs Chromium)
	$(BIN)/python tools/page_screenshots.py

docs: .venv/developing ## Make a site of docs/ in build/site; a link that leads nowhere is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site
	@echo build/site/index.html

clean: ## Remove what was installed and built
	rm -rf .venv dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("whorl needs Python 3.11 or newer, this is " + sys.version)'
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/developing: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[data,docs,files,mcp,opensearch,solr,serve,spark,test,check]'
	@touch .venv/installed $@
