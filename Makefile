# Two commands do everything: `make up` and `make test`. `make help` lists the rest.
STACK ?= dev
ENV ?=
PORT ?= 8000
PYTHON ?= python3
UV ?= uv
FORCE ?=
# There while envfleet's own container engine runs; names the .envfleet that has its data.
ENGINE := /run/envfleet/before.json
ENVFLEET := .venv/bin/envfleet

.PHONY: help up down preview repair ps logs connect doctor images env test test-unit test-engine test-e2e lint bench docs requirements clean

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{gsub("[$$][$$]", "$$"); printf "  make %-12s %s\n", $$1, $$2}'

up: .venv ## Bring a stack up (STACK=dev): tools, engine, images, cluster, fleet
	@$(ENVFLEET) up --stack $(STACK)

preview: .venv ## Show what `make up` would change
	@$(ENVFLEET) preview --stack $(STACK)

down: .venv ## Destroy a stack and stop what envfleet started
	@$(ENVFLEET) down --stack $(STACK)

repair: .venv ## Replace what is gone or can't come back: evicted, deleted, on a lost node
	@$(ENVFLEET) repair --stack $(STACK)

ps: .venv ## List the environments of a stack
	@$(ENVFLEET) ps --stack $(STACK)

logs: .venv ## Print what one environment wrote: make logs ENV=name
	@$(if $(ENV),,$(error say which environment: make logs ENV=NAME (`make ps` lists them)))
	@$(ENVFLEET) logs $(ENV) --stack $(STACK)

connect: .venv ## Reach one environment from this machine: make connect ENV=name [PORT=8000]
	@$(if $(ENV),,$(error say which environment: make connect ENV=NAME (`make ps` lists them)))
	@$(ENVFLEET) connect $(ENV) --stack $(STACK) --port $(PORT)

doctor: .venv ## Say what this machine has and lacks
	@$(ENVFLEET) doctor

images: .venv ## Build or pull the images
	@$(ENVFLEET) images

env: .venv ## Print the environment for plain Pulumi commands: eval "$$(make -s env)"
	@$(ENVFLEET) env

test: lint test-unit test-engine test-e2e ## Everything below

lint: .venv-dev ## Format, lint and type checks
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy

test-unit: .venv-dev ## Tests without an engine (seconds)
	@.venv/bin/pytest --numprocesses=auto tests/unit

test-engine: .venv-dev ## The real Pulumi engine against a control plane without nodes
	@.venv/bin/pytest tests/engine

test-e2e: .venv-dev ## A real kind cluster with real pods
	@.venv/bin/pytest tests/e2e

bench: .venv-dev ## Measure `up` beside helm, kubectl and plain Pulumi, and kill it 20 times (about 30 minutes)
	@ENVFLEET_KILLS=20 .venv/bin/pytest tests/engine/test_killed_fleet.py
	@.venv/bin/python -m tests.bench

docs: .venv ## Write the configuration reference anew from the types
	@.venv/bin/python docs/generate.py

requirements: ## Pin dependencies anew from pyproject.toml
	@set -e; alone="$(UV) pip compile --quiet --upgrade --generate-hashes --python-version 3.11 --universal \
	  --no-emit-index-url --no-header"; compile="$$alone pyproject.toml"; \
	$$alone --group checkov -o requirements-checkov.txt; \
	$$compile -o requirements.txt; \
	$$compile -c requirements.txt --extra aws --group dev -o requirements-dev.txt; \
	for cloud in aws gcp azure; do $$compile -c requirements.txt --extra $$cloud -o requirements-$$cloud.txt; done

clean: ## Remove tools, images and caches of this clone (run `make down` first)
	@fail() { echo "error: $$1" >&2; exit 1; }; \
	for state in .envfleet/state/.pulumi/stacks/envfleet/*.json; do \
	  [ -e "$$state" ] && [ "$(FORCE)" != 1 ] || continue; \
	  fail "a stack is up: \`make down STACK=$$(basename $$state .json)\` first (FORCE=1 would forget its cluster)"; \
	done; \
	if grep -qsF '"$(CURDIR)/.envfleet"' $(ENGINE); then \
	  fail "the container engine has its data here: \`make down\` first, in each clone whose containers it still has"; \
	fi; \
	rm -rf .envfleet .venv

# Both do nothing, in milliseconds, when nothing changed.
.PHONY: .venv .venv-dev
.venv:
	@$(PYTHON) toolchain/bootstrap.py requirements.txt
.venv-dev:
	@$(PYTHON) toolchain/bootstrap.py requirements-dev.txt
