# SPDX-License-Identifier: BSD-2-Clause
#
# foreign.mk: builds programs that use threads through foreign runtimes and libraries: Debian's Go, Rust,
# CPython, OpenBLAS, FFTW, HDF5, SQLite, Lua and iperf3, which ports/foreign/fetch.sh unpacks into
# build/foreign/, and programs that use threads as noise tools do. All are static. Included by the top-level
# Makefile.
#
#   make foreign-go | foreign-rust | foreign-libraries | foreign-network
#
# fetches and builds the programs of one kind. If something cannot be fetched this is not an error: the
# programs are missing, and the last line of build/foreign/KIND.log says why.

FOREIGN := $(BUILD)/foreign
FOREIGN_go := go
FOREIGN_rust := rust
FOREIGN_libraries := openblas fftw hdf5 sqlite lua python python-files/usr/lib/stamp
FOREIGN_network := iperf3

FOREIGN_KINDS := go rust libraries network
.PHONY: $(FOREIGN_KINDS:%=foreign-%)
$(FOREIGN_KINDS:%=foreign-%): foreign-%:
	@mkdir -p build/foreign $(FOREIGN)
	@ports/foreign/fetch.sh build $* 2>build/foreign/$*.log || [ $$? = 3 ] || \
		{ cat build/foreign/$*.log >&2; exit 1; }
	@[ ! -f build/foreign/$*/packages ] || $(MAKE) --no-print-directory $(FOREIGN_$*:%=$(FOREIGN)/%)

FOREIGN_USR := build/foreign/libraries/usr
FOREIGN_LIB := $(FOREIGN_USR)/lib/x86_64-linux-gnu
# CPython's folder is named after its version.
FOREIGN_PYTHON = $(notdir $(wildcard $(FOREIGN_USR)/include/python3.*))
# Linker warnings are off: libraries warn of functions that a static program should not call. HDF5 can read
# over the network by libraries that have no static version; no program here does this, so their symbols stay
# unresolved.
$(FOREIGN)/openblas: FOREIGN_CFLAGS = -isystem $(FOREIGN_USR)/include/x86_64-linux-gnu/openblas-pthread
$(FOREIGN)/openblas: FOREIGN_LIBS = -L$(FOREIGN_LIB)/openblas-pthread -lopenblas -lgfortran -lquadmath
$(FOREIGN)/fftw: FOREIGN_LIBS = -lfftw3_threads -lfftw3
$(FOREIGN)/hdf5: FOREIGN_CFLAGS = -isystem $(FOREIGN_USR)/include/hdf5/serial
$(FOREIGN)/hdf5: FOREIGN_LIBS = -L$(FOREIGN_LIB)/hdf5/serial -lhdf5 -lsz -laec -lz \
	-Wl,--unresolved-symbols=ignore-all
$(FOREIGN)/sqlite: FOREIGN_LIBS = -lsqlite3
$(FOREIGN)/lua: FOREIGN_CFLAGS = -isystem $(FOREIGN_USR)/include/lua5.4
$(FOREIGN)/lua: FOREIGN_LIBS = -llua5.4
$(FOREIGN)/python: FOREIGN_CFLAGS = -isystem $(FOREIGN_USR)/include/$(FOREIGN_PYTHON)
$(FOREIGN)/python: FOREIGN_LIBS = -l$(FOREIGN_PYTHON) -lexpat -lz
$(FOREIGN)/python: FOREIGN_SOURCE = tests/foreign/python/python.c

FOREIGN_SOURCE = tests/foreign/$(@F).c
$(addprefix $(FOREIGN)/,openblas fftw hdf5 sqlite lua python): build/foreign/libraries/packages
$(addprefix $(FOREIGN)/,openblas fftw hdf5 sqlite lua python pinned handover): tests/foreign/foreign.mk \
		$(wildcard tests/foreign/*.[ch] tests/foreign/python/*.c) $(TEST_FLAGS)
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(TEST_GLIBC) $(FOREIGN_CFLAGS) -isystem $(FOREIGN_USR)/include \
		-isystem $(FOREIGN_USR)/include/x86_64-linux-gnu -fno-pie -no-pie -static $(FOREIGN_SOURCE) \
		-L$(FOREIGN_LIB) $(FOREIGN_LIBS) -lm -pthread -Wl,--no-warnings -o $@

# iperf3 is a main function and Debian's library.
FOREIGN_IPERF_USR := build/foreign/network/usr
$(FOREIGN)/iperf3: build/foreign/network/packages tests/foreign/foreign.mk tests/foreign/iperf3.c \
		$(TEST_FLAGS)
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(TEST_GLIBC) -isystem $(FOREIGN_IPERF_USR)/include -fno-pie -no-pie -static \
		tests/foreign/iperf3.c -L$(FOREIGN_IPERF_USR)/lib/x86_64-linux-gnu -liperf -lcrypto -lsctp -lm -pthread \
		-Wl,--no-warnings -o $@

# CPython's standard library as one archive, packed by the interpreter that will read it.
$(FOREIGN)/python-files/usr/lib/stamp: $(FOREIGN)/python tests/foreign/python/pack.py
	@mkdir -p $(@D)
	@echo "  TEST    $(@D)"
	$(Q)PYTHONHOME=$(FOREIGN_USR) $(FOREIGN)/python -S tests/foreign/python/pack.py \
		$(FOREIGN_USR)/lib/$(FOREIGN_PYTHON) $(@D)/$(subst .,,$(FOREIGN_PYTHON)).zip
	$(Q)touch $@

# Go, without a C library.
FOREIGN_GO = $(firstword $(wildcard $(CURDIR)/build/foreign/go/usr/lib/go-*))
$(FOREIGN)/go: build/foreign/go/packages tests/foreign/foreign.mk $(wildcard tests/foreign/go/*.go)
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)env -u GOFLAGS -u GOPATH GOROOT=$(FOREIGN_GO) GOCACHE=$(CURDIR)/build/foreign/go.cache GOENV=off \
		GO111MODULE=off GOTOOLCHAIN=local CGO_ENABLED=0 $(FOREIGN_GO)/bin/go build -trimpath -o $@ \
		$(wildcard tests/foreign/go/*.go)

FOREIGN_RUST := build/foreign/rust/usr
$(FOREIGN)/rust: build/foreign/rust/packages tests/foreign/foreign.mk tests/foreign/rust/threads.rs
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)LD_LIBRARY_PATH=$(FOREIGN_RUST)/lib/x86_64-linux-gnu $(FOREIGN_RUST)/bin/rustc \
		--sysroot $(FOREIGN_RUST) --edition 2021 -O -D warnings -C target-feature=+crt-static \
		--target x86_64-unknown-linux-gnu tests/foreign/rust/threads.rs -o $@
