# `make` shows what there is to do. Everything here works on its own; .ci/run runs all of it.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

FUZZTIME ?= 20s
GOLANGCI_VERSION := $(shell sed -n 's/^readonly GOLANGCI_VERSION=//p' .ci/run)

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z\/-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Watch real features flow, fail, wait, die and come back, on an embedded broker
	go run ./cmd/consumer demo

.PHONY: build
build: ## Build consumer and replayer into bin/
	go build -trimpath -o bin/ ./cmd/...

.PHONY: test
test: ## Run every test; the integration suite takes the best broker that this machine has
	go test ./...

.PHONY: test/race
test/race: ## The same under the race detector
	go test -race ./...

.PHONY: test/integration
test/integration: ## The integration suite on a real Kafka (a JDK and Maven; the broker may be a Docker engine's or that of KAFKA_BROKERS)
	SWITCHBACK_TEST_BROKER=kafka go test -count=1 ./integration/...

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (20s)
	@grep -rhoE --include='*_test.go' '^func Fuzz\w+' pkg internal | awk '{ print $$2 }' | sort -u | while read -r target; do \
	  for package in $$(grep -rlE --include='*_test.go' "^func $$target\\(" pkg internal | xargs -n1 dirname | sort -u); do \
	    echo "$$target in $$package"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "./$$package"; \
	  done; \
	done

.PHONY: lint
lint: ## Check style and common mistakes (golangci-lint, the version of .ci/run)
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION) run ./...

.PHONY: rules
rules: ## Unit-test the alert rules (needs promtool, which comes with Prometheus)
	promtool check rules deploy/prometheus/rules.yaml
	promtool test rules deploy/prometheus/rules_test.yaml deploy/prometheus/rules_week_test.yaml

.PHONY: docs
docs: ## Run the commands and load the configurations that the documentation shows
	go test -count=1 ./docs/ ./deploy/ .

.PHONY: ci
ci: ## Everything, as it runs before a change is merged
	bash .ci/run
