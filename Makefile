# `make` lists the targets. It needs Python 3.11+, make and a package index, and installs everything into .venv.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
# Keep .pyc files; tests start many Python processes.
export PYTHONDONTWRITEBYTECODE =
#: Tests create temporary stores; keep them in memory if it is large enough, so that no test waits for a disk.
quick test test-full coverage: export TMPDIR := $(or $(shell tools/memory_folder.sh),$(TMPDIR),/tmp)
#: Test processes: two for unit tests, four for the whole suite, whose tests wait for servers.
QUICK_WORKERS ?= 2
WORKERS ?= 4
.PHONY: compiled compiled-tests help demo quick quick-coverage quick-tests test test-full test-frames test-lowest test-pythons coverage check fix solr count-modules bench-engines bench-fingerprint bench-similar bench-startup bench-accuracy bench-calibration bench-simhash-quality bench-duplicates bench-duplicates-accuracy bench-duplicates-scaling bench-hamming bench-spark bench-spark-cluster bench-parsing bench-load bench-gate bench-service bench-memory bench-uploads bench-indexing bench-sizes bench-queries bench-million bench-opensearch bench-passages bench-contamination bench-boilerplate bench-licences bench-all pictures fuzz contract mutations injections prove-identity prove-engines prove-servers prove-sources prove-quotations prove-kills prove-flips prove-bombs replay-image screenshots docs clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

demo: .venv/installed ## Index real text that is found on this machine, and ask three questions
	@$(BIN)/whorl demo

quick: .venv/developing compiled ## Run the tests that need only Python: no Solr, no other process
	@$(MAKE) --no-print-directory quick-tests QUICK_OPTIONS="$(QUICK_OPTIONS)"

quick-coverage: QUICK_OPTIONS := --cov --cov-report=term
quick-coverage: quick ## Measure the coverage of the quick tests

quick-tests:
	$(BIN)/python -m pytest -n $(QUICK_WORKERS) --dist loadfile --hypothesis-profile=quick $(QUICK_OPTIONS) \
		-m "not (solr or cloud or opensearch or spark or browser or clients or process or slow)"

compiled: .venv/developing
	@# Compile the loops once, before several test processes do so at the same time; the tests also run without them.
	@$(BIN)/python -c "from whorl.fingerprint.compiled.kernel import Kernel; Kernel()" 2> /dev/null || true
	@$(BIN)/python -c "from whorl.hamming.load_loops import loops_if_worth_loading as load; load(60)" 2> /dev/null || true

compiled-tests: compiled
	@$(BIN)/python -m pytest --collect-only -q > /dev/null
	@# Hypothesis computes its table of characters once for all processes, in three seconds.
	@$(BIN)/python -c "from hypothesis import strategies; strategies.text().validate()"

test: .venv/developing compiled ## Run the whole suite, on real servers that it starts itself
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test-full: export WHORL_TEST_FULL := 1
test-full: test ## Run the whole suite with all combinations of parameters, which `make test` samples (about an hour)

test-pythons: .venv/bin/python ## Run the quick tests and the demo on each installed Python, 3.11 to 3.14 (minutes)
	$(BIN)/python tools/test_pythons.py $(PYTHONS)

.venv/lowest/bin/python: pyproject.toml
	$(PYTHON) -m venv .venv/lowest
	.venv/lowest/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9'
	.venv/lowest/bin/uv pip compile --quiet --resolution lowest-direct --python $@ pyproject.toml \
		$(foreach extra,data files mcp opensearch serve solr spark,--extra $(extra)) --output-file .venv/lowest/constraints.txt
	.venv/lowest/bin/uv pip install --quiet --python $@ --constraints .venv/lowest/constraints.txt \
		--editable '.[data,files,mcp,opensearch,serve,solr,spark,test]'

test-lowest: .venv/lowest/bin/python ## Run the quick tests with the lowest versions of the dependencies (minutes)
	@# Old releases raise warnings that newer ones have fixed.
	@$(MAKE) --no-print-directory quick-tests BIN=.venv/lowest/bin QUICK_OPTIONS="-W ignore -p no:cacheprovider"

.venv/frames/bin/python: pyproject.toml
	$(PYTHON) -m venv .venv/frames
	.venv/frames/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[data,opensearch,test]' \
		polars datasets langchain-core llama-index-core haystack-ai

test-frames: .venv/frames/bin/python ## Test deduplication with polars, Hugging Face, LangChain, LlamaIndex and Haystack
	.venv/frames/bin/python -m pytest -W ignore tests/duplicates/test_deduplicate_in_memory.py tests/test_rag_examples.py

coverage: .venv/developing compiled ## Run the whole suite and list uncovered lines and branches
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --cov --cov-report=term-missing:skip-covered

check: .venv/developing ## Check lint, format, types and workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet .github

fix: .venv/developing ## Apply the linter's fixes, and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

solr: .venv/developing ## Start a real Solr without Docker, on port 8983, until interrupted
	$(BIN)/whorl solr up

benchmarks/data/main.jsonl: | .venv/developing
	$(BIN)/python benchmarks/corpus.py benchmarks/data

bench-engines: .venv/developing ## Compare Solr and the embedded engine with each other and with bare HTTP (about 10 minutes)
	$(BIN)/python benchmarks/engines.py

bench-fingerprint: .venv/developing benchmarks/data/main.jsonl ## Time signatures, compared with other libraries and Lucene (about 3 minutes)
	-for peer in $$(grep -v '^#' benchmarks/requirements-fingerprint.txt); do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$peer"; done
	$(BIN)/python benchmarks/fingerprint.py

bench-similar: .venv/developing benchmarks/data/main.jsonl ## Time calibrated searches, compared with {!min_hash}, on 100,000 documents (about 10 minutes)
	$(BIN)/python benchmarks/similar.py --sources 20 --rounds 3

count-modules: .venv/developing ## Count the modules whose code runs in a search on Solr and in an Alfresco request
	$(BIN)/python benchmarks/modules_entered.py

bench-startup: .venv/developing ## Measure the CPU time of small commands
	$(BIN)/python benchmarks/startup.py

bench-accuracy: .venv/developing benchmarks/data/main.jsonl ## Measure recall, precision and errors, compared with stock queries and datasketch (about an hour)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements-accuracy.txt
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/accuracy_schemes.py
	$(BIN)/python benchmarks/pictures.py

bench-calibration: .venv/developing ## Simulate the recall of plans and compare it with the requested recall (about 3 minutes)
	$(BIN)/python benchmarks/calibration.py

bench-simhash-quality: .venv/developing benchmarks/data/main.jsonl ## Measure the quality and cost of SimHash codes (about 10 minutes)
	$(BIN)/python benchmarks/simhash_quality.py

bench-duplicates: .venv/developing benchmarks/data/main.jsonl ## Find all pairs of near-duplicates, compared with other libraries (about three hours)
	-for peer in $$(grep -v '^#' benchmarks/requirements-duplicates.txt); do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$peer"; done
	-for peer in text-dedup datatrove; do $(BIN)/python -m venv benchmarks/data/venv-$$peer && \
		benchmarks/data/venv-$$peer/bin/python -m pip install --quiet --disable-pip-version-check \
		-r benchmarks/requirements-duplicates-$$peer.txt; done
	$(BIN)/python benchmarks/duplicates.py --thresholds 80,50,90
	$(BIN)/python benchmarks/duplicates.py --words 60 --thresholds 80,50,90
	$(BIN)/python benchmarks/duplicates.py --words 60 --clusters --thresholds 80,50,90
	$(BIN)/python benchmarks/duplicates.py --pieces 60000 --thresholds 80,50,90
	$(BIN)/python benchmarks/descriptions.py
	$(BIN)/python benchmarks/duplicates.py benchmarks/data/descriptions.jsonl --thresholds 80,50,90
	$(BIN)/python benchmarks/installed.py
	$(BIN)/python benchmarks/duplicates.py benchmarks/data/installed.jsonl --thresholds 80,50,90
	$(BIN)/python benchmarks/duplicates.py --profile

bench-duplicates-accuracy: .venv/developing benchmarks/data/main.jsonl ## Measure recall and precision of duplicates on real text (about 40 minutes)
	$(BIN)/python benchmarks/duplicates_accuracy.py --solr

bench-duplicates-scaling: .venv/developing benchmarks/data/main.jsonl ## Measure time and memory of duplicates, up to a million documents (about 25 minutes)
	$(BIN)/python benchmarks/duplicates_scaling.py
	$(BIN)/python benchmarks/duplicates_scaling.py --boilerplate
	$(BIN)/python benchmarks/duplicates_scaling.py --families

bench-hamming: .venv/developing ## Time Hamming search of up to 100 million codes; PEERS='--corpus-peer FOLDER ...' (about 10 minutes)
	$(BIN)/python benchmarks/hamming.py $(PEERS)
	$(BIN)/python benchmarks/hamming_commands.py $(if $(BINARIES),--binaries $(BINARIES))

bench-spark: .venv/developing benchmarks/data/main.jsonl ## Measure the cost per document of duplicates on Spark, step by step (about 3 minutes)
	$(BIN)/python benchmarks/spark.py

bench-spark-cluster: .venv/developing benchmarks/data/main.jsonl ## Find duplicates on a Spark cluster that loses a worker during the run (about 2 minutes)
	$(BIN)/python benchmarks/spark_cluster.py --documents 20000 --words 60

bench-parsing: .venv/developing ## Time the query parser (about a minute)
	$(BIN)/python benchmarks/parsing.py

.venv/load/bin/locust: benchmarks/requirements-load.txt | .venv/bin/python
	$(BIN)/python -m venv .venv/load
	.venv/load/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements-load.txt
	@touch $@

bench-load: .venv/developing .venv/load/bin/locust ## Measure requests a second with one and two workers; then load the service for ten minutes on each engine, and kill the engine during the run
	for engine in solr opensearch embedded; do \
		$(BIN)/python benchmarks/throughput.py --engine $$engine --csv benchmarks/results/throughput-$$engine.csv || exit 1; done
	for engine in solr opensearch embedded; do $(BIN)/python benchmarks/load.py --engine $$engine --seconds 600 || exit 1; done

bench-gate: .venv/developing ## Ask for the sources of 50 mails a second, against 100,000 documents (about 10 minutes)
	$(BIN)/python benchmarks/gate.py --csv benchmarks/results/gate.csv

bench-service: .venv/developing ## Measure the CPU time that the service adds to a request (about a minute)
	$(BIN)/python benchmarks/service_costs.py

bench-memory: .venv/developing ## Measure the memory of an embedded store under 16 threads, with and without new documents (about 3 minutes)
	$(BIN)/python benchmarks/memory.py

bench-uploads: .venv/developing ## Time single uploads and deletions in an embedded store of 20,000 documents (about 3 minutes)
	$(BIN)/python benchmarks/uploads.py --label latest --csv benchmarks/results/uploads.csv

bench-indexing: .venv/developing benchmarks/data/main.jsonl ## Measure time and bytes per document in an embedded store, and whorl's CPU on servers (about 10 minutes)
	test -f benchmarks/data/million/documents.jsonl || $(BIN)/python benchmarks/million_texts.py
	for documents in 1500 13055; do \
		$(BIN)/python benchmarks/indexing.py --documents $$documents --label latest --csv benchmarks/results/indexing.csv; \
		$(BIN)/python benchmarks/indexing.py --documents $$documents --without-minhash --label 'latest, without MINHASH' \
			--csv benchmarks/results/indexing.csv || exit 1; done
	$(BIN)/python benchmarks/indexing.py benchmarks/data/million/documents.jsonl --documents 100000 \
		--label 'latest, paragraphs' --csv benchmarks/results/indexing.csv
	$(BIN)/python benchmarks/server_indexing.py --label latest --csv benchmarks/results/server-indexing.csv

bench-sizes: .venv/developing ## Measure the size of the index of 20,000 paragraphs in every engine, by part (about 5 minutes)
	test -f benchmarks/data/million/documents.jsonl || $(BIN)/python benchmarks/million_texts.py
	$(BIN)/python benchmarks/index_sizes.py --label after

bench-queries: .venv/developing benchmarks/data/main.jsonl ## Measure the CPU time of searches in embedded stores of 200,000 and a million documents (hours)
	test -f benchmarks/data/million/documents.jsonl || $(BIN)/python benchmarks/million_texts.py
	$(BIN)/python benchmarks/queries.py --label latest --csv benchmarks/results/queries.csv

bench-million: .venv/developing ## Index and search a million real documents in every engine, with injected faults (hours; resumes an interrupted run)
	$(BIN)/python benchmarks/million.py
	$(BIN)/python benchmarks/million.py --faults --engines embedded,solr
	$(BIN)/python benchmarks/million.py --report
	$(BIN)/python benchmarks/index_sizes.py --documents 1000000 --engines solr,opensearch,embedded,embedded-short --label 1,000,000

bench-opensearch: .venv/developing benchmarks/data/main.jsonl ## Compare OpenSearch with Solr, embedded, bare requests, match and more_like_this (about 10 minutes)
	$(BIN)/python benchmarks/opensearch.py

bench-passages: .venv/developing benchmarks/data/main.jsonl ## Insert 12,000 passages into other texts and search for them (about 15 minutes)
	$(BIN)/python benchmarks/passages.py --csv benchmarks/results/passages.csv
	$(BIN)/python benchmarks/passages.py --design

prove-sources: .venv/developing ## Ask for the sources of 1,000 texts in a store with families of 500 near-copies (about 15 minutes)
	$(BIN)/python benchmarks/sources.py --csv benchmarks/results/sources.csv

prove-quotations: .venv/developing ## Verify 20,000 quotations with known verdicts in a store with families of 500 near-copies (about 5 minutes)
	$(BIN)/python benchmarks/quotations.py --csv benchmarks/results/quotations.csv

bench-contamination: .venv/developing ## Find HumanEval in a million rows of real text, and time it (about 10 minutes)
	$(BIN)/python benchmarks/contamination.py --csv benchmarks/results/contamination.csv

bench-boilerplate: .venv/developing benchmarks/data/main.jsonl ## Cluster documents that share a frame, with and without boilerplate (about 5 minutes)
	$(BIN)/python benchmarks/boilerplate.py --line 1%,5% --csv benchmarks/results/boilerplate.csv

bench-licences: .venv/developing ## Look up 300 licence texts and notices whose licence is known; SCANCODE=PYTHON compares (about 15 minutes)
	$(BIN)/python benchmarks/licences.py $(if $(SCANCODE),--scancode $(SCANCODE)) --csv benchmarks/results/licences.csv

bench-all: .venv/developing ## Run all benchmarks, draw the pictures, and list what changed since the last commit (a night or two)
	$(BIN)/python benchmarks/bench_all.py $(BENCH_ALL)

pictures: .venv/developing ## Draw the pictures of benchmarks/README.md from the recorded results
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements-accuracy.txt
	$(BIN)/python benchmarks/pictures.py

contract: .venv/developing ## Run all checks of Schemathesis on every operation of the service (about ten minutes)
	$(BIN)/python -m tests.service.contract 200

mutations: .venv/developing ## Damage 10,000 responses of a real Solr and OpenSearch, to every request of whorl (about ten minutes)
	WHORL_TEST_FULL=1 $(BIN)/python -m pytest -q tests/engine/test_mutations.py

injections: .venv/developing ## Try Solr's and OpenSearch's query syntax in every user input, on all engines (about two minutes)
	WHORL_TEST_FULL=1 $(BIN)/python -m pytest -q tests/cli/test_injections.py

fuzz: .venv/developing ## Try hundreds of thousands of damaged queries, requests and files (about half an hour)
	$(BIN)/python -m tests.query.fuzz_queries benchmarks/results/fuzz.txt
	$(BIN)/python -m tests.service.fuzz_requests benchmarks/results/fuzz-requests.txt
	$(BIN)/python -m tests.ingest.fuzz_files benchmarks/results/fuzz-files.txt

prove-identity: .venv/developing benchmarks/data/main.jsonl ## Compare whorl's tokens with a real Solr's and OpenSearch's, for all corpora
	-$(BIN)/python benchmarks/identity.py benchmarks/data
	$(BIN)/python benchmarks/identity_opensearch.py benchmarks/data

prove-engines: .venv/developing benchmarks/data/main.jsonl ## Compare Solr, OpenSearch and the embedded engine on 1,000 queries and 13,000 real documents; resumes an interrupted run
	$(BIN)/python benchmarks/same_answers.py --folder benchmarks/data/same-answers --out benchmarks/results/same-answers.txt
	rm -rf benchmarks/data/same-answers

prove-servers: .venv/developing ## Run the conformance suite on Solr 8.11 and 9, OpenSearch 2.11, 2.19 and 3, Elasticsearch 8.19 and 9.5 (about 40 minutes)
	WHORL_TEST_FULL=1 $(BIN)/python benchmarks/servers.py

prove-kills: .venv/developing ## Kill the writer, the service, Solr and OpenSearch 220 times while documents are sent (about 40 minutes)
	$(BIN)/python benchmarks/kills.py

prove-flips: .venv/developing ## Flip single bits in all files of an embedded store, 500 times (about 5 minutes)
	$(BIN)/python benchmarks/flips.py

prove-bombs: .venv/developing ## Index files made to exhaust memory or time, and search them for duplicates
	$(BIN)/python -m tests.ingest.rows.prove_bombs --csv benchmarks/results/bombs.csv

replay-image: .venv/developing ## Run the steps of the Dockerfile without Docker, up to its health check (about a minute)
	$(BIN)/python tools/replay_image.py

screenshots: .venv/developing ## Take the screenshots of the page in docs/images (needs Chromium)
	$(BIN)/python tools/page_screenshots.py

docs: .venv/developing ## Build the site from docs/ in build/site; a broken link is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site
	@echo build/site/index.html

clean: ## Remove installed and built files
	rm -rf .venv dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("whorl needs Python 3.11 or newer, this is " + sys.version)'
	@# The pip of Python 3.11 compares each file of an index with hundreds of tags; a new pip takes half the time.
	$(PYTHON) -m venv --upgrade-deps .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/developing: pyproject.toml | .venv/bin/python
	@# Python compiles the modules that it imports, a third of those that are installed.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[data,docs,files,mcp,opensearch,solr,serve,spark,test,check]'
	@touch .venv/installed $@
