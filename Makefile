# `make` lists the targets.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

GOLANGCI_VERSION := $(shell sed -n 's/^readonly GOLANGCI_VERSION=//p' .ci/lib.sh)

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z\/-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Watch real features flow, fail, wait, die and come back, on an embedded broker
	go run ./cmd/consumer demo

.PHONY: build
build: ## Build consumer and replayer into bin/
	go build -trimpath -o bin/ ./cmd/...

.PHONY: check
check: ## Before each commit: build, lint and test what changed since main, and what imports it
	bash .ci/check

.PHONY: gate
gate: ## Before a merge: everything that a change has to pass, on real Kafka and PostGIS (20 minutes)
	bash .ci/run

.PHONY: nightly
nightly: ## Every test at its full size (hours); bash .ci/nightly --only NAME runs a part
	bash .ci/nightly

.PHONY: test
test: ## Run the fast tests, which need only Go
	go test ./...
	@echo "Not run: proofs on a real Kafka, SQL on PostGIS unless one is installed, and the race detector. make gate runs them, make nightly the full sizes."

.PHONY: test/integration
test/integration: ## Run the proofs on a real Kafka (needs a JDK and Maven, or a Docker engine, or KAFKA_BROKERS)
	SWITCHBACK_TEST_TIER=proofs SWITCHBACK_TEST_BROKER=kafka go test -count=1 -p 1 -timeout=60m ./integration/...

.PHONY: site
site: ## Build the documentation as a site with search into bin/site (needs Python)
	bash .ci/site bin/site

.PHONY: release
release: ## Build archives, bills of materials, checksums and the image of VERSION into bin/release
	bash .ci/release

.PHONY: sizes
sizes: ## Print how many lines of code and words of documentation there are
	bash .ci/sizes

.PHONY: fuzz
fuzz: ## Run every fuzz target for a minute, or for FUZZ_TIME
	bash .ci/nightly --only fuzz --fresh

.PHONY: lint
lint: ## Check style and common mistakes (golangci-lint, the version of .ci/lib.sh)
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION) run ./...

.PHONY: rules
rules: ## Unit-test the alert rules (needs promtool, which comes with Prometheus)
	promtool check rules deploy/prometheus/rules.yaml
	promtool test rules deploy/prometheus/rules_test.yaml deploy/prometheus/rules_week_test.yaml
