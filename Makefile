# `make help` lists all targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export PATH := $(PATH):/usr/local/go/bin

.PHONY: help
help: ## list all targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

BIN ?= bin
PREFIX ?= /usr/local

.PHONY: build
build: ## build bin/podctl as it is released, and print its size
	@hack/build $(BIN)

.PHONY: image
image: ## build bin/podctl-image.tar, an OCI archive of podctl's container image, without Docker and without a registry
	@GOOS=linux hack/build $(BIN)/image
	go -C test run ./podctlimage $(abspath $(BIN))/podctl-image.tar '$(NAME)' $(abspath $(BIN))/image/podctl

.PHONY: release
release: ## make dist/ of the commit: archives, .deb, .rpm, the container image, an SBOM, a krew manifest, checksums; twice the same bytes
	@hack/release

.PHONY: install
install: build ## install podctl, also as a plugin of kubectl, its man pages and completions below PREFIX (/usr/local), in DESTDIR
	install -D -m 755 $(BIN)/podctl $(DESTDIR)$(PREFIX)/bin/podctl
	ln -sf podctl $(DESTDIR)$(PREFIX)/bin/kubectl-podctl
	ln -sf podctl $(DESTDIR)$(PREFIX)/bin/kubectl_complete-podctl
	$(BIN)/podctl __man $(DESTDIR)$(PREFIX)/share/man
	mkdir -p $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(BIN)/podctl completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/podctl
	$(BIN)/podctl completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_podctl
	$(BIN)/podctl completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/podctl.fish

.PHONY: demo
demo: build ## run a pod to completion, on a private containerd if there is no runtime; simulated without root or on another system
	@hack/demo

.PHONY: unit
unit: ## run the tests that need neither root nor a runtime
	@hack/test unit

.PHONY: test
test: ## run the units and a smoke of live tests (hack/smoke) on the distribution's containerd, which is installed
	@hack/test

.PHONY: live
live: ## run every live test on every kind of runtime, or PODCTL_LIVE_RUNTIMES="containerd crio", which are built once; chaos for DURATION (10m)
	@hack/test live

.PHONY: vm
vm: ## run the units that read the host, and a smoke of live tests (hack/vm-tests), in a virtual machine with systemd, cgroup v2, AppArmor
	@hack/vm-test || { status=$$?; [[ $$status == 3 && ! "$$CI" ]] || exit $$status; }

.PHONY: vm-live
vm-live: ## run a PIECE of the live tests whose answer depends on the host in a virtual machine; without PIECE, list the pieces
	@hack/vm-test $(or $(PIECE),pieces)

.PHONY: race
race: ## run the tests that need no runtime with the race detector
	@hack/test race

.PHONY: fleet
fleet: ## run examples/fleet in a real cluster of one node, on RUNTIME (containerd, crio): etcd, control plane and kubelet v1.37.2, built once
	@hack/cluster run $(or $(RUNTIME),containerd) go -C test test ./fleet -run '^TestCluster' -count=1 -v

.PHONY: conformance
conformance: ## run Kubernetes' own node tests with podctl and with the kubelet as the node, all or those that ONLY (a regular expression) matches, and write docs/conformance.md
	@hack/conformance run podctl $(or $(RUNTIME),containerd) '$(ONLY)'
	@hack/conformance run kubelet $(or $(RUNTIME),containerd) '$(ONLY)'
	@hack/conformance page

.PHONY: critest
critest: build ## run Kubernetes' critest against podctl sim, and write docs/critest.md (two minutes, needs root)
	@hack/critest $(BIN)/podctl

.PHONY: conform
conform: build ## check pods on private runtimes by podctl conform, and write docs/conform.md
	@hack/conform

.PHONY: bench
bench: build ## measure podctl against the bare CRI calls and crictl, its PLEG and its preemption against the kubelet's, kubectl podctl on 1,000 nodes, and idle pods
	go test -run '^$$' -bench Plan ./internal/preempt
	go -C test run ./fleetbench -podctl $(CURDIR)/bin/podctl
	@hack/with-runtime containerd bash -c 'go -C test run ./bench -podctl $(CURDIR)/bin/podctl -r "$$CONTAINER_RUNTIME_ENDPOINT" $(BENCHFLAGS)'

.PHONY: scale
scale: build ## measure an agent with 10, 100, 1,000, 2,500 and 5,000 pods of the simulated runtime, which needs no root
	@go -C test run ./bench -podctl $(CURDIR)/bin/podctl -only scale $(BENCHFLAGS)

.PHONY: dead
dead: build ## measure commands on a simulated runtime with 20,000 dead containers, which needs no root
	@go -C test run ./bench -podctl $(CURDIR)/bin/podctl -only dead $(BENCHFLAGS)

.PHONY: chaos
chaos: ## break everything around an agent of 30 churning pods for DURATION (10m); prints its SEED, which repeats a run
	@PODCTL_LIVE=required go -C test test ./e2e -run '^TestChaos$$' -count=1 -v -timeout 0 -args -chaos.for=$(or $(DURATION),10m) -chaos.seed=$(or $(SEED),0)

.PHONY: seeds
seeds: ## play N (500) new random histories of a node, or the one of SEED or in the file HISTORY: docs/seeds.md
	go test ./internal/node -run '^TestSeeds$$' -count=1 -v -timeout 0 -args $(if $(SEED),-seed $(SEED),$(if $(HISTORY),-history $(abspath $(HISTORY)),-seeds $(or $(N),500) -seeds.first $(or $(FIRST),$(shell date +%s)) -seeds.found 10))

.PHONY: twin
twin: ## give N (40) random pods of SEED (1) to a kubelet and to podctl for FOR (2m), or ONLY some, and compare every call: docs/twin.md
	@PODCTL_LIVE=required go -C test test ./twin -run '^TestTwin$$' -count=1 -v -timeout 0 -args -twin.seed=$(or $(SEED),1) -twin.n=$(or $(N),40) -twin.for=$(or $(FOR),2m) -twin.only=$(ONLY) $(TWINFLAGS)

.PHONY: mutants
mutants: ## break podctl on purpose, in each of the ways of test/mutants, count the seeds that it takes to see that, and write docs/seeds.md
	go -C test run ./mutants

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@hack/fuzz

.PHONY: lint
lint: ## run the pinned golangci-lint (built once, takes minutes)
	@hack/lint

.PHONY: verify
verify: ## check format, vet, builds for all platforms, lint, go.mod, generated docs, the import table, links, licences, scripts, spelling
	@hack/verify

.PHONY: docs
docs: ## generate the generated pages of docs/
	go generate ./...
	go -C test generate ./monitoring

.PHONY: runtime-up
runtime-up: ## start a private containerd for development; prints its endpoint (KIND=crio for another: hack/runtime lists them)
	@hack/runtime up $(KIND)

.PHONY: runtime-down
runtime-down: ## remove every private runtime, with its pods
	@hack/runtime down --all

.PHONY: clean
clean: ## remove bin and dist (make runtime-down removes runtimes)
	rm -rf bin dist
