# Every target sets up .venv on its first call and needs nothing activated.
# PYTHON=...  the interpreter to use (default: python3, else the newest found)
# ARGS=...    further arguments for run and test
# LOG=...     the log that `make run` reads
LOG ?= fixtures/demo/boot.log
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run$(subst /,-,$(PYTHON))
DEV := $(VENV)/.dev$(subst /,-,$(PYTHON))

.PHONY: all install lint test format golden wheel run bench fuzz
all: lint test

install: $(DEV)
lint: $(DEV) ; $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
test: $(DEV) ; $(BIN)/python -m pytest -n auto $(ARGS)
format: $(DEV) ; $(BIN)/ruff check --fix . && $(BIN)/ruff format .
golden: $(DEV) ; -UPDATE_GOLDEN=1 $(BIN)/python -m pytest -q; git diff --stat -- fixtures
wheel: $(DEV) ; $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
run: $(RUN) ; $(BIN)/mamba-advisor analyze $(LOG) $(ARGS)
bench: $(DEV) ; $(BIN)/python tests/bench/ratio.py $(ARGS)
fuzz: $(DEV) ; $(BIN)/python tests/fuzz/run.py $(ARGS)

$(RUN) $(DEV): pyproject.toml .ci/setup
$(RUN): ; .ci/setup $(VENV) run $(PYTHON) && touch $@
$(DEV): ; .ci/setup $(VENV) dev $(PYTHON) && touch $@
