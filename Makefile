# Everything a fresh machine needs: Rust, gcc, make, git and a network; the rest is installed or asked for.

TARGET := $(or $(CARGO_TARGET_DIR),target)

.DEFAULT_GOAL := help
.PHONY: help chat serve test soak bench model

help: ## list what there is to make
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

# The profile `quick` optimises only what an answer waits for: all of the program would take twice as long to build.
chat: ## build for this machine and talk to the bundled model; options in ARGS="--locale en"
	@scripts/setup.sh
	env $$(scripts/cpu-flags.sh) cargo build --locked --profile quick --bin madang
	@$(TARGET)/quick/madang chat $(ARGS)

serve: ## build for this machine and serve a page and an API with the bundled model; options in ARGS="--user kim"
	@scripts/setup.sh
	env $$(scripts/cpu-flags.sh) cargo build --locked --profile quick --bin madang
	@$(TARGET)/quick/madang serve $(ARGS)

test: ## run every check and say how long each took; one of them with SUITES="lint tests"
	@scripts/setup.sh lints
	@scripts/test.sh $(SUITES)

soak: ## prove the promise for about half an hour and print figures; shorter with ARGS="--kills 200 --trials 2"; mutants with ARGS="--mutants ledger"
	@scripts/setup.sh
	@scripts/soak.sh $(ARGS)

bench: ## measure what it costs
	@scripts/setup.sh
	env $$(scripts/cpu-flags.sh) cargo bench --locked $(ARGS)

model: ## train the bundled model again (two hours on two cores); see models/README.md
	@$(MAKE) -C models model
