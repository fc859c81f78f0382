# Everything a user or a contributor does, by name. `make help` lists it.
BACKING ?= ./drop-backing
MOUNT   ?= ./drop
PREFIX  ?= /usr/local
BIN     ?= bin/airlockfs
SECONDS ?= 60
SEED    ?= 0
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)

.PHONY: help build man install run demo test race bench bounds torture lint mutants red fuzz setup clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1: /p' $(MAKEFILE_LIST)

build: ## bin/airlockfs, static
	CGO_ENABLED=0 go build -trimpath -ldflags "-X main.version=$(VERSION)" -o bin/airlockfs ./cmd/airlockfs

bin/airlockfs:
	$(MAKE) build

man: build ## the manual pages, in bin/man
	bin/airlockfs man bin/man

install: $(BIN) ## what is built, with manual pages, completions and the link for mount(8), below DESTDIR and PREFIX (/usr/local)
	scripts/install.sh "$(BIN)" "$(DESTDIR)" "$(PREFIX)"

run: build ## mount BACKING on MOUNT and say what to try
	scripts/run.sh "$(BACKING)" "$(MOUNT)"

demo: build ## stock programs on a scratch mount, and what each of them saw
	scripts/demo.sh bin/airlockfs

setup: ## install what the tests need (apt where it can)
	scripts/setup.sh

test: setup build ## everything
	scripts/test.sh

race: ## unit and end-to-end tests under the race detector
	GORACE=atexit_sleep_ms=0 go test -race -timeout 10m ./...

bench: build ## the work of a hand-off beside bindfs, a plain loopback and the native protocol; QUICK=1: within 50 s
	go run ./tests/bench --bin bin/airlockfs --out bin/bench.json

torture: build ## programs of every kind hand over, are killed and take for SECONDS (60); then nothing may be torn, doubled or lost. SEED=N
	CGO_ENABLED=0 go build -tags failpoints -o bin/airlockfs-failing ./cmd/airlockfs
	go run ./tests/torture --bin "$(BIN)" --failing bin/airlockfs-failing --seconds "$(SECONDS)" --seed "$(SEED)"

bounds: build ## what a mount takes, at full size: ten million calls, a million files, 20,000 open files; an hour or two
	AIRLOCKFS_OPERATIONS=10000000 AIRLOCKFS_LEFT=10080 go test -count=1 -v -timeout 4h -run 'TablesAreAsBefore|WorkOfARestart' ./fusefs
	AIRLOCKFS_ITEMS=1000000 AIRLOCKFS_OPENS=20000 AIRLOCKFS_BIN=$(CURDIR)/bin/airlockfs \
		go test -count=1 -v -p 1 -parallel 1 -timeout 4h -run 'AMillionFiles|HoweverMany' ./tests -args -patience 1h

lint: ## vet and the project's conventions
	gofmt -l . | (! grep .)
	go vet ./...
	go test .

red: build ## the end-to-end suite must fail on a mount that enforces nothing
	scripts/red.sh

mutants: ## hand-made faults in the decisions and the desk: each must be caught by a test
	scripts/mutants.sh

fuzz: ## each fuzz target for FUZZTIME (10s)
	scripts/fuzz.sh

clean: ## what was built
	rm -rf bin
