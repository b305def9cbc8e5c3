# The only entry point. `make` alone prints what it can do.

SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-print-directory

# The toolchain comes through the module proxy, whatever release `go` is and
# whatever the environment says: older ones hold known vulnerabilities.
export GOTOOLCHAIN := go1.27.3
export CGO_ENABLED := 0

TOOL      := go tool -modfile=tools/go.mod
VERSION    = $(or $(V),$(shell git describe --tags --always --dirty 2>/dev/null),dev)
# Without VCS stamps: the version is given, and a clone, a tarball and a clone of
# another owner then make the same bytes.
GOBUILD    = go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)'
TARGETS   := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
PACKAGES   = $$(go list ./... | grep -v '/e2e')
GOLDENS    = $$(git grep -l --untracked 'flag.Bool("update"' -- '*_test.go' | xargs -r -n1 dirname | sed 's|^|./|' | sort -u)

.PHONY: help setup cc build run dev check fmt fmt-check vet lint arch unit fresh vuln vet-here test e2e-short e2e e2e-agents e2e-matrix faults soak load fuzz bench quality conformance gen notice cross release clean

help:
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

setup: cc ## modules, a C compiler for the race detector, git hooks
	go mod download
	git config core.hooksPath .githooks

build: ## bin/ambry, one static file, and bin/ambry-account
	$(GOBUILD) -o bin/ ./cmd/ambry ./cmd/ambry-account

run: build ## build, start, read this machine's agents (or a sample), search once
	@scripts/run.sh

dev: build ## the service in the foreground, with a throw-away home and a sample history
	@scripts/dev.sh

check: fmt-check vet lint arch unit fresh vuln ## all that must hold before a commit is pushed

fmt: ## format the Go files
	$(TOOL) gofumpt -w .

fmt-check:
	@out=$$($(TOOL) gofumpt -l .); [ -z "$$out" ] || { echo "not formatted, run make fmt:"; echo "$$out"; exit 1; }

vet: vet-here
	GOOS=windows go vet ./...
	GOOS=darwin go vet ./...

vet-here:
	go vet ./...
	go vet -tags faults ./e2e/faults

lint: ## golangci-lint; the first build of it takes minutes
	$(TOOL) golangci-lint run

arch: ## who may import whom, and the other rules of the house
	go test -count=1 .

unit: cc ## tests of all packages, with the race detector
	CGO_ENABLED=1 scripts/gotest.sh -race -shuffle=on -timeout 30m $(PACKAGES)

fresh: ## generated files are as `make gen` would write them
	@scripts/notice.sh | diff -u NOTICE - || { echo "NOTICE is stale, run make gen"; exit 1; }
	@go test -run 'ReferenceIsFresh$$' ./cmd/ambry ./internal/app

vuln: ## known vulnerabilities that our code can reach
	@scripts/vuln.sh

test: check e2e-short faults-short ## check, the short end-to-end scenarios and faults; what CI runs

e2e-short:
	scripts/gotest.sh -short -count=1 ./e2e/...

faults-short: ## as faults, but only counted; skips what cannot be done here
	scripts/gotest.sh -tags faults -count=1 -timeout 60m ./e2e/faults

e2e: ## all end-to-end scenarios, with the real binary
	scripts/gotest.sh -count=1 ./e2e/...

e2e-agents: ## the real agents, installed below build/, against a model that does not think
	@scripts/agents.sh

e2e-matrix: cc ## the Matrix channel against a real homeserver, built from its module; minutes
	@scripts/dendrite.sh

faults: ## power cuts, failing disks, damaged files, crowds; root on Linux, minutes
	go test -tags faults -count=1 -timeout 60m -v ./e2e/faults

soak: ## the same for hours
	AMBRY_FAULTS=long go test -count=1 -timeout 24h -v -run '^TestKilled' ./e2e
	AMBRY_FAULTS=long go test -tags faults -count=1 -timeout 24h -v ./e2e/faults

load: ## 500 requests a second of everything, T=1h long: what grows
	AMBRY_SOAK=$(or $(T),1h) go test -tags faults -count=1 -timeout 24h -v -run '^TestSoak$$' ./e2e/faults

fuzz: ## every fuzz target, T=30s each
	@scripts/fuzz.sh $(or $(T),30s)

bench: build ## the numbers of the product; with BASE=REF the benchmarks of both commits
	@if [ -n "$(BASE)" ]; then scripts/bench.sh $(BASE); else go run ./bench/speed; fi

quality: ## how well the memory finds; with DATA=DIR the public sets too
	go run ./bench/quality -floors $(if $(DATA),-data '$(DATA)')

conformance: build ## the official MCP suite against the bridge and its client; needs npm
	@scripts/conformance.sh

gen: notice ## reference pages, golden files, NOTICE
	go test -count=1 $(GOLDENS) -update

notice: ## NOTICE: what the binary contains, under which licences
	@mkdir -p build
	@scripts/notice.sh > build/NOTICE && mv build/NOTICE NOTICE

cross: ## dist/, the binary for six systems
	@for target in $(TARGETS); do \
		os=$${target%/*} arch=$${target#*/} exe=; [ $$os != windows ] || exe=.exe; \
		echo "dist/ambry-$$os-$$arch$$exe"; \
		GOOS=$$os GOARCH=$$arch $(GOBUILD) -o dist/ambry-$$os-$$arch$$exe ./cmd/ambry; \
	done

release: ## V=1.2.3: changelog, tag, binaries, checksums
	@scripts/release.sh '$(V)'

clean: ## remove what make made
	rm -rf bin build dist

# The race detector needs a C compiler, nothing else does.
cc:
	@scripts/cc.sh
	@scripts/keyring.sh
	@scripts/smtpd.sh
	@scripts/servers.sh
