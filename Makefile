# Every target sets up what it needs in .venv and target/ by itself.

VENV := .venv/bin
FIRST := experiments/thesis/a.toml

.DEFAULT_GOAL := help
.PHONY: help run test lint check-protocols mutants mutants-diff soak fuzz bench bench-peers long-run reproduce docs wheel clean

help: ## show the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 28

run: ## run the thesis' first experiment with congestion control off and on, side by side
	@scripts/setup
	@$(VENV)/fabricsim run $(FIRST) --set congestion_control.algorithm=none --out runs/thesis-a-off --force >/dev/null
	@$(VENV)/fabricsim run $(FIRST) --out runs/thesis-a-on --force >/dev/null
	@$(VENV)/fabricsim compare runs/thesis-a-off runs/thesis-a-on --out runs/thesis-a.png

test: ## everything that has to hold before a change is merged
	@scripts/test

lint: ## formatting, lints, types and layers: all of `make test` but the tests
	@scripts/test lint

check-protocols: ## every schedule of small configurations of the endpoint protocols, and millions of random ones
	@cargo test --quiet --profile test-fast --package fabricsim-protocols --lib -- checks:: at_scale --include-ignored --nocapture --test-threads=2
	@cargo test --quiet --profile test-fast --package fabricsim-engine --test all -- --include-ignored transfers::

mutants: ## plant defects in the code and list those that no test notices: a day or more; SHARD=k/n takes every n-th
	@scripts/setup test
	@scripts/mutants rust
	@scripts/mutants python

mutants-diff: ## the same in the lines that changed since BASE, by default since origin/main or the last tag
	@scripts/setup test
	@scripts/mutants diff $(BASE)

soak: ## OPENSM_CASES=300 fabrics routed as OpenSM does, then experiments at random, checked in every respect, for SOAK_SECONDS=3600; SOAK_SEED=, SOAK_PAIR= or SOAK_FILE= repeats one
	@FABRICSIM_OPENSM_CASES="$(or $(OPENSM_CASES),300)" \
	  cargo test --quiet --profile test-fast --package fabricsim-subnet --test opensm --test nue --test multicast
	@SOAK_SECONDS="$(SOAK_SECONDS)" SOAK_SEED="$(SOAK_SEED)" SOAK_PAIR="$(SOAK_PAIR)" SOAK_FILE="$(abspath $(SOAK_FILE))" \
	  cargo test --quiet --profile test-fast --package fabricsim-simulation --test all -- --ignored --exact generated::soak --nocapture

fuzz: ## files of all readers, changed at random, FUZZ_CASES=20000 times 16 each; FUZZ_SEED= repeats a run, which prints it
	@seed=$(or $(FUZZ_SEED),$$(date +%s)); echo "FUZZ_SEED=$$seed"; \
	  PROPTEST_CASES="$(or $(FUZZ_CASES),20000)" PROPTEST_RNG_SEED="$$seed" \
	  cargo test --quiet --profile test-fast --package fabricsim-fuzz --test targets -- --nocapture

bench: ## speed and memory beside the peers' figures; leaves bench.json
	@scripts/setup
	@scripts/bench
	@$(VENV)/python benches/ranks.py

bench-peers: ## the same cases with Fabricsim, CAMINOS and SimGrid, in turn; installs them first; leaves bench-peers.json
	@scripts/setup
	@scripts/bench_peers

long-run: ## one run of HOPS=1e9 packet-hops: its invariants, and flat memory
	@scripts/setup
	@$(VENV)/python scripts/long_run.py --hops "$(or $(HOPS),1e9)"

reproduce: ## compare our numbers with the published ones and with the committed pages, write docs/reproduction/
	@scripts/setup
	@$(VENV)/fabricsim reproduce --controls --keep runs/reproduction --check docs/reproduction --pages docs/reproduction

docs: ## build the documentation into site/; its search works from files, too
	@scripts/setup docs
	@NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs build --strict
	@echo "documentation: site/index.html"

wheel: ## build dist/*.whl for any Linux with glibc 2.28 or later and any Python from 3.11 on, and try it in a clean environment
	@scripts/wheel

clean: ## remove what the other targets built
	rm -rf .venv target site bench.json bench-peers.json python/fabricsim/_native*.so
