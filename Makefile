# What a person and CI call. Every target may be called again: it does only what is still to do.
.DEFAULT_GOAL := help
.PHONY: help setup packages python lab down paper demo test test-unit check bench docs lock clean
SHELL := /bin/sh
BIN := .venv/bin

# No option may write an index, a folder or a host of the machine that runs it into the lock.
PIN := CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe \
	--strip-extras --no-build-isolation --no-emit-options --no-emit-index-url --no-emit-find-links \
	--no-emit-trusted-host

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | awk -F '|' '{printf "%-18s%s\n", $$1, $$2}'

setup: packages python ## Set up everything: Debian packages (as root), .venv, Pulumi
	@$(BIN)/python -m tools.pulumi_cli

packages:
	@tools/host-packages

python: packages
	@python=$$(tools/find-python) && "$$python" -m tools.venv

# The question whether a lab can run here comes before anything is changed; it is asked in Python.
lab: ## Bring up the lab: one head and 8 GPU nodes, accepted (root)
	@command -v python3 > /dev/null || tools/host-packages
	@python3 muster/lab/privileges.py
	@$(MAKE) --no-print-directory setup
	@$(BIN)/muster up lab --yes

down: ## Take the lab down, leaving nothing
	@$(BIN)/muster down lab

paper: setup ## Show an AWS stack from nothing to destroyed, in a simulated AWS on this machine
	@$(BIN)/python -m tools.paper_demo

demo: python ## Burn in a fleet of 512 nodes that exists as numbers, and find what is wrong with it
	@$(BIN)/muster simulate --nodes 512 --fault slow-node:17=-8% --fault leaf:2=-20% || test $$? = 1

test: setup ## Run every test; those that need root say so and are skipped without
	@$(BIN)/pytest $(ARGS)

test-unit: python ## Run the tests that need no root and no network
	@$(BIN)/pytest tests/unit tests/golden $(ARGS)

check: python ## Lint, formatting, types, YAML, Ansible, shell, and the rules of the repository
	@tools/check

bench: setup ## Measure the lab: image, nodes, converge, acceptance (root, many minutes)
	@$(BIN)/python benchmarks/lab.py $(ARGS)

docs: python ## Build the documentation into site/
	@$(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

lock: python ## Pin every dependency, with hashes (ARGS=--upgrade: newest)
	$(PIN) $(ARGS) --output-file requirements.lock pyproject.toml
	$(PIN) $(ARGS) --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml
	$(BIN)/pytest -q tests/unit/test_tidy.py -k lock

clean: ## Remove caches and the virtual environment; labs and their results stay
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .ansible site muster.egg-info
