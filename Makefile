# The face of the build; CMake does the work in build/.  `make help` lists the targets.
BUILD  ?= build$(if $(SAN),-$(SAN))$(if $(findstring clang,$(CC)),-clang)
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
MAKEFLAGS += --no-print-directory
export CTEST_OUTPUT_ON_FAILURE = 1

all: configure ## build the program, the libraries and the tests
	@cmake --build $(BUILD) -j $(JOBS)
	@ln -sf $(BUILD)/compile_commands.json compile_commands.json

configure:
	@cmake -S . -B $(BUILD) -DGERNE_SAN=$(SAN) -DGERNE_DEV=$(if $(CI)$(DEV),ON,OFF) \
		-DCMAKE_INSTALL_PREFIX=$(PREFIX) > $(BUILD).log 2>&1 || (cat $(BUILD).log; exit 1)
	@rm -f $(BUILD).log

deps: ## install the Debian packages that are missing
	@scripts/install-deps

demo: deps all ## show what it does, on the embedded dataset
	@scripts/demo $(BUILD)/gerne

# One more test than cores: some mostly wait, for processes that they have killed or for disks.
test: deps all ## set up, build, and run the tests
	@cd $(BUILD) && ctest -j $$(($(JOBS) + 1)) -LE nightly

nightly: deps ## all tests, sanitizers, valgrind, clang, torture: bounded at 80 minutes on two cores
	@scripts/nightly

quick: all ## run the quick tests
	@cd $(BUILD) && ctest -j $(JOBS) -L quick

check: deps all ## format, include directions, static analysis, quick tests
	@scripts/check $(BUILD)
	@cd $(BUILD) && ctest -j $(JOBS) -L quick

valgrind: ## run the quick tests under valgrind's memory checker
	@$(MAKE) SAN=valgrind all
	@cd build-valgrind && ctest -j $(JOBS) -L quick -LE script

torture: all ## fail system calls, kill, cut the power (ALL=1: at every place, for hours)
	@scripts/torture $(BUILD) $(if $(ALL),0)

docs: all ## print docs/methods.md from the descriptors of the methods
	@$(BUILD)/gerne methods --markdown > docs/methods.md

bench: all ## measure speed beside PyTorch (needs python3-torch for its side)
	@scripts/bench $(BUILD)

install: all ## install under PREFIX (and DESTDIR)
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

deb: all ## pack Debian packages into dist/
	@cd $(BUILD) && cpack -B $(CURDIR)/$(BUILD)/packages > packages.log 2>&1 || (cat packages.log; exit 1)
	@mkdir -p dist && mv $(BUILD)/packages/*.deb dist && ls dist/*.deb

check-packages: deb ## install the packages in a clean root (mmdebstrap) and use them there
	@scripts/check-packages

dist: ## pack the source of the last commit into dist/, reproducibly
	@scripts/make-dist

clean: ## remove the builds
	@rm -rf build build-* compile_commands.json

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16
	@echo "SAN=address builds with ASan+UBSan, CC=clang with clang, DEV=1 makes warnings errors."

.PHONY: all configure deps demo test nightly quick check valgrind torture docs bench install deb check-packages dist clean help
