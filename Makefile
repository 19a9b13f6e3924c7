# The main targets: `make demo` runs the demo, `make test` checks everything.

CARGO ?= cargo
VENV := target/venv

.PHONY: demo test bench fuzz fuzz-api packages deb web help

help:
	@echo "make demo   crawl a synthetic web, focused and unfocused"
	@echo "make test   format, lints, all tests, also in a browser"
	@echo "make bench  benchmarks of the extractor and the store (several minutes)"
	@echo "make fuzz   the three fuzz targets, ten minutes each"
	@echo "make fuzz-api  fuzz the dashboard's API by its OpenAPI description, five minutes"
	@echo "make web    build the dashboard's pages (needs npm); part of demo, test and packages"
	@echo "make packages  build the program, manual pages and completions, in target/packages"
	@echo "make deb    build a Debian package, in target/debian"

demo: toolchain web
	$(CARGO) run --quiet --release -p porthole -- demo

test: toolchain warcio postgres web
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy -p porthole --no-default-features --locked -- -D warnings
	WARCIO="$$(ls $(CURDIR)/$(VENV)/bin/warcio 2>/dev/null)" $(CARGO) test --workspace --locked
	$(MAKE) e2e

bench: toolchain
	$(CARGO) bench -p porthole-page
	$(CARGO) bench -p porthole-store

fuzz: toolchain
	@command -v cargo-fuzz >/dev/null || $(CARGO) install --locked cargo-fuzz
	scripts/fuzz page 600
	scripts/fuzz pdf 600
	scripts/fuzz warc 600

packages: toolchain web
	$(CARGO) build --release -p porthole --locked
	mkdir -p target/packages/completions
	target/release/porthole man target/packages/man
	target/release/porthole completions bash > target/packages/completions/porthole.bash
	target/release/porthole completions zsh > target/packages/completions/_porthole
	target/release/porthole completions fish > target/packages/completions/porthole.fish
	cp target/release/porthole target/packages/

deb: packages
	@command -v cargo-deb >/dev/null || $(CARGO) install --locked cargo-deb
	$(CARGO) deb -p porthole --no-build

fuzz-api: toolchain
	$(CARGO) build -p porthole --locked
	scripts/fuzz-api.py 300

# Builds the pages of the dashboard if their sources are newer. build.rs embeds them; it is touched, because cargo cannot
# watch a folder that did not exist at the last build. Without npm the program is built without them. `npm ci` would require
# packages for other systems, which not every registry has.
WEB_SOURCES = $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/dist/*' 2>/dev/null)
web: web/dist/index.html
web/dist/index.html: $(WEB_SOURCES)
	@if [ ! -f web/package.json ]; then \
		echo "there is no front end in web/: porthole is built without the dashboard's pages"; \
	elif command -v npm >/dev/null; then \
		(cd web && npm install --no-save && npm run build) && touch porthole-serve/build.rs; \
	else \
		echo "npm is missing: porthole is built without the dashboard's pages (apt-get install npm)"; \
	fi

# Tests the dashboard in a real browser, on crawls of a synthetic web over loopback. If there is no browser and none can be
# installed, the tests are skipped with a message.
.PHONY: e2e
e2e: toolchain web
	@command -v chromium >/dev/null || { apt-get update --quiet=2 && apt-get install --quiet=2 --yes chromium >/dev/null; } || true
	@if command -v npm >/dev/null && command -v chromium >/dev/null; then \
		$(CARGO) build --quiet -p porthole --locked && cd web && npm test && PORTHOLE=$(CURDIR)/target/debug/porthole npm run e2e; \
	else \
		echo "**** BROWSER TESTS SKIPPED: they need npm and chromium (apt-get install npm chromium) ****"; \
	fi

# Installs PostgreSQL for the tests of the store, which start their own cluster. If it cannot be installed, they are skipped
# with a message.
.PHONY: postgres
postgres:
	@if [ -z "$$PORTHOLE_TEST_PG" ] && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ! command -v initdb >/dev/null; then \
		{ apt-get update --quiet=2 && DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends postgresql >/dev/null; } || \
		echo "**** no PostgreSQL: the tests of the store on it are skipped (apt-get install postgresql) ****"; \
	fi

.PHONY: toolchain warcio
toolchain:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install a Rust toolchain, 1.91 or newer (rustup, or Debian's rustup package)"; exit 1; }
	@command -v cc >/dev/null || { echo "a C compiler is missing (SQLite is built from source): apt-get install gcc libc6-dev"; exit 1; }

# warcio checks the WARC files that the tests write. Without Python these two tests are skipped with a message.
warcio: $(VENV)/bin/warcio
$(VENV)/bin/warcio:
	@if command -v python3 >/dev/null && python3 -m venv $(VENV) 2>/dev/null && $(VENV)/bin/pip install --quiet warcio==1.8.1; then \
		echo "warcio installed in $(VENV)"; \
	else \
		echo "no python3 with venv and pip: the check by warcio is skipped (apt-get install python3-venv)"; \
	fi
