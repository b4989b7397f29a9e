# The commands of the README. Each installs what it needs and this machine lacks (Debian's packages,
# by apt) and says so; CMake presets do the work (cmake --list-presets).
.DEFAULT_GOAL := build
.PHONY: configure build demo test wheel docs format lint hooks clean help

PRESET ?= release
BUILD := build/$(PRESET)
DEPS := tools/dev/install_deps.sh
PYTHON := /usr/bin/python3

configure:
	@$(DEPS) build
	@mkdir -p build
	@cmake --preset $(PRESET) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }

build: configure ## build everything; binaries in build/release/bin
	@cmake --build --preset $(PRESET)

demo: configure ## build the tool and the compiler, and classify a handwritten digit
	@cmake --build --preset $(PRESET) --target gantry gantry-compiler
	@BUILD=$(BUILD) examples/digits/demo.sh

test: build ## run every test; the last line is the sum
	@$(DEPS) build test
	@$(PYTHON) tools/dev/run_tests.py --build-dir $(BUILD)

wheel: build ## pack the Python package with its libraries; the last line is the file
	@$(PYTHON) tools/dev/make_wheel.py --build-dir $(BUILD)

docs: configure ## make the references in build/release/docs, and the Python files made of ops and headers
	@cmake --build --preset $(PRESET) --target docs gantry-compiler
	@$(PYTHON) tools/dev/generate_python.py --build-dir $(BUILD)

format: ## format all C, C++ in place
	@$(DEPS) dev
	@git ls-files '*.h' '*.c' '*.cpp' | xargs -r clang-format-22 -i

lint: ## check format, layers and clang-tidy's list
	@$(DEPS) build dev
	@git ls-files '*.h' '*.c' '*.cpp' | xargs -r clang-format-22 --dry-run -Werror
	@$(PYTHON) tools/dev/check_layers.py
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev
	@run-clang-tidy-22 -quiet -p build/dev '^$(CURDIR)/(lib|tools)/'

hooks: ## use the repository's git hooks in this clone
	@git config core.hooksPath .githooks

clean: ## remove the build folders
	@rm -rf build

help: ## this list
	@awk -F':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
