# The face of the build; CMake does the work in build/.  `make help` lists the targets.
BUILD  ?= build$(if $(SAN),-$(SAN))$(if $(filter clang%,$(CC)),-clang)
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
export CTEST_OUTPUT_ON_FAILURE = 1

all: configure ## build the program, the libraries and the tests
	@cmake --build $(BUILD) -j $(JOBS)
	@ln -sf $(BUILD)/compile_commands.json compile_commands.json

configure:
	@cmake -S . -B $(BUILD) $(if $(SAN),-DGERNE_SAN=$(SAN)) $(if $(CI)$(DEV),-DGERNE_DEV=ON) \
		-DCMAKE_INSTALL_PREFIX=$(PREFIX) > $(BUILD).log 2>&1 || (cat $(BUILD).log; exit 1)
	@rm -f $(BUILD).log

deps: ## install the Debian packages that are missing
	@scripts/install-deps

demo: deps all ## show what it does, on the embedded dataset
	@scripts/demo $(BUILD)/gerne

test: deps all ## set up, build, and run all tests
	@cd $(BUILD) && ctest -j $(JOBS)

check: deps all ## format, include directions, static analysis, quick tests
	@scripts/check $(BUILD)
	@cd $(BUILD) && ctest -j $(JOBS) -L quick

bench: all ## measure speed beside PyTorch (needs python3-torch for its side)
	@scripts/bench $(BUILD)

install: all ## install under PREFIX (and DESTDIR)
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

clean: ## remove the build
	@rm -rf $(BUILD) compile_commands.json

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12
	@echo "SAN=address builds with ASan+UBSan, CC=clang with clang, DEV=1 makes warnings errors."

.PHONY: all configure deps demo test check bench install clean help
