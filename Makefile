# clientscope: two commands matter to a newcomer, `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MINOR := 'import sys; print("%d.%d" % sys.version_info[:2])'
SPARKS := 3.5 4.0 4.1
CHROMIUM := $(firstword $(wildcard /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome))

.PHONY: sparks fuzzer test-sparks faketime help demo fixtures screenshots docs docs-rules test test-pure test-pythons test-pythons-short test-real test-faults test-matrix test-turn mutants check check-page format-page test-long test-soak test-backlog bench-guard bench-client bench-gateway bench-lint bench-addresses bench-telemetry bench-request-settings bench-hostile bench-policy bench-decode bench-rules bench-findings bench-gauges bench-quality bench-history bench-past bench-page bench-browser bench-stream bench-restart bench-xray bench-first-report class-data lock clean venv java chromium prometheus
help:            ## what there is
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1\t/' | expand -t 24

demo: venv       ## everything on this machine, with real clients; Ctrl-C ends it
	@$(BIN)/clientscope demo $(ARGS)

# What failed gets a second look, file by file.
TIER := $(BIN)/python -P tests/tier.py
# By file or by what several files share (tests/conftest.py), so that it is started once; the longest first.
TWO_AT_A_TIME := -n 2 --dist loadfile --no-loadscope-reorder
REAL := venv chromium prometheus faketime class-data
test: $(REAL) check test-pure test-real   ## checks and tests, on this Python; what it leaves out: test-faults, test-matrix, test-long
test-pure: venv prometheus  ## no broker: each module's meaning, children and sockets, one Spark session
	$(TIER) tests/pure tests/spark $(TWO_AT_A_TIME)
test-real: $(REAL)  ## a real broker, gateway, clients, job and browser
	$(TIER) tests/real $(TWO_AT_A_TIME) -m "not (faults or matrix or long)"
test-faults: $(REAL)  ## what fails, restarts, is attacked or secured; CI runs it too
	$(TIER) tests/real $(TWO_AT_A_TIME) -m "faults and not long"
test-matrix: $(REAL) sparks  ## releases of clients, brokers and Spark, and their catalogues; SHARD=name for one of tests/shards.txt
	$(BIN)/python -P tests/shard.py matrix $(SHARD)
fuzzer: venv
	-$(BIN)/pip install --quiet --disable-pip-version-check atheris==3.0.0
test-long: $(REAL) sparks fuzzer  ## many repetitions, long statistics, memory over minutes, a million fuzzed pushes (Linux); SHARD=name for one
	$(BIN)/python -P tests/shard.py long $(SHARD)
test-turn: $(REAL) fuzzer  ## one shard of these two, by the commit's turn: CI's, of at most four minutes, and never red
	$(BIN)/python -P tests/shard.py --turn
mutants: .mutmut/.ready  ## how many of COUNT (200) small changes to the parts that decide the tests notice
	PYTHONPATH=$(CURDIR)/.mutmut $(BIN)/python tools/mutants.py $(COUNT)
.mutmut/.ready: | venv  # beside the environment: it is no dependency of anything
	@$(BIN)/pip install --quiet --disable-pip-version-check --target .mutmut mutmut==3.8.1 && rm -rf .mutmut/pytest* .mutmut/_pytest* .mutmut/pluggy* && touch $@
test-pythons: venv prometheus  ## the pure tests on each other Python that is here (3.11 to 3.13)
	.ci/pythons $(TWO_AT_A_TIME)
test-pythons-short: venv prometheus  ## the same on the oldest and the newest alone, without the files that take longest, as CI does
	PYTHONS="3.11 3.13" TEST_SHORT_FORMS=1 .ci/pythons $(TWO_AT_A_TIME)
fixtures: venv   ## capture what real clients say, again (needs a JDK)
	$(BIN)/python tools/capture.py
screenshots: venv chromium  ## the pictures of the page and of the report, again
	$(BIN)/python tools/page_screenshots.py && $(BIN)/python tools/xray_screenshot.py
test-soak: venv  ## F26: twice the load for MINUTES (30); fails where what the job holds, or its batches, grow
	@$(BIN)/python -m bench.stream --seconds 0 --backlog 0 --soak $(or $(MINUTES),30) --flat $(ARGS)
test-backlog: venv  ## F27: PUSHES (10 million) wait for the job, and new ones come meanwhile; a quarter of an hour, 20 GB of disk
	@$(BIN)/python -m bench.stream --seconds 0 --backlog $(or $(PUSHES),10000000) $(ARGS)
docs: docs-rules ## write what docs/ makes of the code anew: the tables of metrics.md, alerts.md, operating.md, readiness.md and telemetry.md, lint.md, rules.md
	$(BIN)/python docs/make/metrics.py && $(BIN)/python docs/make/readiness.py && $(BIN)/python docs/make/limits.py && $(BIN)/python docs/make/faults.py && $(BIN)/python docs/make/lint.py && $(BIN)/python docs/make/client_facts.py && $(BIN)/python docs/make/schemas.py
docs-rules: venv ## write docs/rules.md anew from the rules
	$(BIN)/python docs/make/rules.py
check: venv check-page ## ruff, mypy, import contracts; tsc and Biome on the page
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports --no-cache
check-page:      ## the page's JavaScript: types (JSDoc), lint, format
	.ci/node types lint
format-page:     ## format the page's JavaScript, and fix what Biome can
	.ci/node format

bench-guard: venv  ## what this commit costs beside its parent, in CPU: decoding, a read, lint, a batch of results (three minutes)
	@$(BIN)/python -m bench.guard $(ARGS)
bench-stream: venv  ## how soon pushes become results and findings, with 1, 3 and 12 partitions, and how fast a backlog is read (ten minutes)
	@$(BIN)/python -m bench.stream $(ARGS)
bench-restart: venv  ## how soon findings appear after a restart with 100,000 clients, and in how much memory (some minutes)
	@$(BIN)/python -m bench.restart $(ARGS)
bench-rules: venv  ## what rules cost beside decoding, each and all (two minutes)
	@$(BIN)/python -m bench.rules $(ARGS)
bench-lint: venv  ## how long clientscope lint takes for 10,000 files, and for one from a cold start (a minute)
	@$(BIN)/python -m bench.lint $(ARGS)
bench-decode: venv  ## how fast pushes are decoded and judged, beside the binary records of 0.1.0 (three minutes)
	@$(BIN)/python -m bench.decode $(ARGS)
bench-findings: venv  ## what findings cost the driver, and how that grows with the fleet (three minutes)
	@$(BIN)/python -m bench.findings $(ARGS)
bench-gauges: venv  ## what gauges of a thousand gateways cost
	@$(BIN)/python -m bench.gauges $(ARGS)
bench-quality: venv  ## what samples held against Great Expectations cost beside a batch of history (three minutes)
	@$(BIN)/python -m bench.quality $(ARGS)
bench-history: venv  ## what a batch of history costs (a minute)
	@$(BIN)/python -m bench.history $(ARGS)
bench-past: venv  ## questions to a month of history with 100,000 clients (two minutes)
	@$(BIN)/python -m bench.past $(ARGS)
bench-page: venv  ## what the page's lists cost the server with 100,000 connections and 1,000 changes a second (three minutes)
	@$(BIN)/python -m bench.page $(ARGS)
bench-browser: venv chromium  ## how soon the page shows what was asked for, and what it holds after ten minutes, in a real browser (14 minutes)
	@$(BIN)/python -m bench.page_browser $(ARGS)
bench-hostile: venv  ## what hostile clients cost the others (three minutes, nothing else running)
	@$(BIN)/python -m bench.hostile $(ARGS)
bench-policy: venv  ## what a policy that misbehaves costs other clients (10 minutes, nothing else running)
	$(BIN)/python -m bench.policy_isolation $(ARGS)
bench-client: venv  ## what a push costs a user's first request (two minutes, nothing else running)
	@$(BIN)/python -m bench.client $(ARGS)
bench-first-report: venv  ## how long a newcomer waits for the first report of clientscope xray, from nothing (three minutes)
	@PYTHONPATH=tests/real:tests/pure $(BIN)/python -m bench.first_report $(ARGS)
bench-xray: venv  ## how fast brokers' request logs are read, and in how much memory (two minutes)
	@$(BIN)/python -m bench.xray $(ARGS)
bench-gateway: venv ## the gateway beside a direct connection and a peer; ARGS="--rounds 3 --quick" for less (the peer needs a JDK)
	@$(BIN)/python -m bench.gateway $(ARGS)

bench-request-settings: venv ## what it costs the gateway to look into requests for settings (eight minutes)
	@$(BIN)/python -m bench.gateway.request_settings $(ARGS)
bench-telemetry: venv ## what a client's push of its own metrics costs the gateway (half a minute)
	@$(BIN)/python -m bench.client_telemetry
bench-addresses: venv ## what a session costs when it replaces brokers' addresses (half a minute)
	@$(BIN)/python -m bench.addresses

lock: venv       ## resolve requirements.lock anew (no index address in it)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-emit-index-url --no-emit-find-links \
	  --extra demo --extra crc32c --group dev --custom-compile-command 'make lock' pyproject.toml -o requirements.lock
	for spark in $(SPARKS); do $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-emit-index-url \
	  --no-emit-find-links --custom-compile-command 'make lock' tests/sparks/$$spark.in -o tests/sparks/$$spark.txt || exit 1; done

sparks: $(SPARKS:%=.sparks/%/.ready)  ## the other releases of Spark that the job runs on, for tests (some 350 MB each, once)
.sparks/%/.ready: tests/sparks/%.txt | venv  # PySpark and Py4J alone: all else is the environment's own
	@echo "installing Spark $* for the tests"
	@rm -rf $(@D) && $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target $(@D) -r $< && touch $@
test-sparks: sparks  ## the tests of one Spark session on each of the other releases
	for spark in $(SPARKS); do PYTHONPATH=.sparks/$$spark $(TIER) tests/spark || exit 1; done

venv: java right-python $(VENV)/.ready
right-python:    # an environment never changes its Python
	@[ "$(origin PYTHON)" != "command line" ] || [ ! -x $(BIN)/python ] || [ "$$($(PYTHON) -c $(MINOR))" = "$$($(BIN)/python -c $(MINOR))" ] || \
	  { echo "error: $(VENV) has another Python than $(PYTHON); hint: make clean, or another environment: make VENV=.venv-other PYTHON=$(PYTHON)" >&2; exit 1; }
java:            # said before anything is downloaded; which version it is, clientscope checks itself
	@command -v java >/dev/null || [ -x "$$JAVA_HOME/bin/java" ] || \
	  { echo "error: no Java on PATH or in JAVA_HOME; hint: install Java 17 or 21 (Debian: apt-get install openjdk-17-jre-headless)" >&2; exit 1; }
$(VENV)/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $$($(PYTHON) --version) is too old; hint: install Python 3.11 or later, or: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "making the environment in $(VENV) (some 700 MB to download, once)"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV) || { echo "error: no venv module; hint: on Debian, apt-get install python3-venv" >&2; exit 1; }
	@( $(BIN)/pip install --disable-pip-version-check --retries 2 --require-hashes -r requirements.lock 2>$(VENV)/pip.log; \
	  echo $$? >$(VENV)/pip.status ) | sed -un 's/^ *Downloading \(.*\)/  downloading \1/p; s/^Installing collected.*/  installing/p'; \
	  [ "$$(cat $(VENV)/pip.status)" = 0 ] || \
	  { echo "error: the packages could not be installed; hint: the first run needs the network (PyPI); see $(VENV)/pip.log" >&2; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

class-data: venv $(VENV)/class-data/.ready
$(VENV)/class-data/.ready: $(VENV)/.ready clientscope/local/jars.sha256 tools/class_data.py
	@echo "archiving the classes of broker and Spark, once, so that the tests' JVMs start sooner"
	@$(BIN)/python tools/class_data.py || echo "the tests' JVMs start without archives, and take longer" >&2
	@mkdir -p $(@D) && touch $@

chromium:
	@if [ -z "$(CHROMIUM)" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing Debian's chromium for the browser tests"; apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
	  else echo "error: the browser tests need Chromium; run: sudo apt-get install chromium" >&2; exit 1; fi; fi

prometheus:      # what is in deploy/, and alerts, are tested with the real programs
	@command -v promtool >/dev/null && command -v amtool >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing Debian's prometheus and prometheus-alertmanager for the tests"; \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends prometheus prometheus-alertmanager >/dev/null; \
	  else echo "error: the tests need Prometheus; run: sudo apt-get install --no-install-recommends prometheus prometheus-alertmanager" >&2; exit 1; fi; }

faketime:        # a clock that jumps, for F40
	@ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing Debian's faketime for the tests"; apt-get update -qq && apt-get install -y -qq --no-install-recommends faketime >/dev/null; \
	  else echo "error: the tests need libfaketime; run: sudo apt-get install --no-install-recommends faketime" >&2; exit 1; fi; }

clean:           ## remove the environment and the demo's data
	rm -rf $(VENV) .venv-3.* .sparks .mutmut mutants data .pytest_cache .mypy_cache .ruff_cache
