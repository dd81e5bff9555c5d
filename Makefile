# Shorthand for people. Nothing depends on make: each line below can be typed.
.PHONY: help check test lint fuzz interop reference clients conformance bench proxies soak chaos recall docs release release-check packages website inspect

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

check: lint ## what to run before a push: lint, then all tests with the race detector
	go test -race ./...

test: ## all tests of the module
	go test ./...

lint: ## gofmt, go vet and staticcheck over every module
	scripts/lint

fuzz: ## every fuzz test for a moment
	scripts/fuzz

interop: ## foreign clients and servers against the binary; installs Node packages into a cache
	scripts/interop

reference: ## our verdicts on bundles against those of the reference CLI; installs it into a cache
	go run ./scripts/mcpbreference -check

clients: ## the programs that read what config apply writes; installs 1.6 GB of them into a cache
	scripts/clients

conformance: ## the official conformance suite; installs it into a cache
	scripts/conformance

bench: ## us, the peers and the floors side by side; see docs/performance.md
	go -C bench run ./cmd/compare

proxies: ## gateways side by side; see docs/performance.md
	go -C bench run ./cmd/proxy

soak: ## many, slow and broken clients against a server, and its end under load
	go -C bench test ./soak -v -count=1 -timeout 30m

chaos: ## kill and suspend servers at random under foreign clients for 20 minutes
	go -C bench test ./chaos -v -count=1 -timeout 30m

recall: ## how often the search of documents finds the right page
	go -C bench test ./recall -v -count=1

docs: ## regenerate the command-line reference, terminal output on pages, and client guides
	go test ./cmd/slipway -run 'TestPages|TestReference|TestGuides' -update

release: ## build and verify all files of a release from a clean git tag; see docs/releasing.md
	go -C release run . build
	go -C release run . verify

release-check: ## build every file of a release twice, compare, install and use each; needs root on Debian
	scripts/release-check --all

packages: ## npm packages and wheels, installed and used with every package manager
	scripts/packages --all
website: ## build the website and check it in a browser; installs npm packages into a cache
	scripts/website

inspect: ## every test of the page of slipway inspect in a browser; installs npm packages
	scripts/inspect --long
