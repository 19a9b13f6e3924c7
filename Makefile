# The two commands: `make demo` shows the main job, `make test` checks everything.

CARGO ?= cargo
VENV := target/venv

.PHONY: demo test bench fuzz packages help

help:
	@echo "make demo   crawl a synthetic web and see what comes of it"
	@echo "make test   format, lints, all tests"
	@echo "make bench  the extractor and the store, measured (several minutes)"
	@echo "make fuzz   the fuzz targets, ten minutes each"
	@echo "make packages  the program with manual pages and completions, in target/packages"

demo: toolchain
	$(CARGO) run --quiet --release -p porthole -- demo

test: toolchain warcio
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

# `cargo deb -p porthole --no-build` (cargo install cargo-deb) makes a Debian package of it.
packages: toolchain
	$(CARGO) build --release -p porthole --locked
	mkdir -p target/packages/completions
	target/release/porthole man target/packages/man
	target/release/porthole completions bash > target/packages/completions/porthole.bash
	target/release/porthole completions zsh > target/packages/completions/_porthole
	target/release/porthole completions fish > target/packages/completions/porthole.fish
	cp target/release/porthole target/packages/

# The dashboard in a real browser, on crawls of a synthetic web over loopback. Where there is no browser and none can be
# installed, it says so, and nothing fails.
.PHONY: e2e
e2e: toolchain web
	@command -v chromium >/dev/null || { apt-get update --quiet=2 && apt-get install --quiet=2 --yes chromium >/dev/null; } || true
	@if command -v npm >/dev/null && command -v chromium >/dev/null; then \
		$(CARGO) build --quiet -p porthole --locked && cd web && npm test && PORTHOLE=$(CURDIR)/target/debug/porthole npm run e2e; \
	else \
		echo "**** BROWSER TESTS SKIPPED: they need npm and chromium (apt-get install npm chromium) ****"; \
	fi

.PHONY: toolchain warcio
toolchain:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install a Rust toolchain, 1.91 or newer (rustup, or Debian's rustup package)"; exit 1; }
	@command -v cc >/dev/null || { echo "a C compiler is missing (SQLite is built from source): apt-get install gcc libc6-dev"; exit 1; }

# warcio checks the WARC files that the tests write. Where there is no Python, those two tests say that
# they were skipped, and all others run.
warcio: $(VENV)/bin/warcio
$(VENV)/bin/warcio:
	@if command -v python3 >/dev/null && python3 -m venv $(VENV) 2>/dev/null && $(VENV)/bin/pip install --quiet warcio==1.8.1; then \
		echo "warcio installed in $(VENV)"; \
	else \
		echo "no python3 with venv and pip: the check by warcio is skipped (apt-get install python3-venv)"; \
	fi
