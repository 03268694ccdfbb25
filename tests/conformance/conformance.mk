# SPDX-License-Identifier: BSD-2-Clause
#
# conformance.mk: all tests of this folder in one static program for each C library,
# build/ARCH/tests/conform.{musl,glibc}. A new test is a new file here: no list
# names it. Included by the top-level Makefile.

CONFORM_SOURCES := $(sort $(wildcard tests/conformance/*.c))
CONFORM_PROGRAMS := $(TEST_BUILD)/conform.musl $(TEST_BUILD)/conform.glibc
CONFORM_CFLAGS := $(TEST_CFLAGS) -D_GNU_SOURCE -fno-builtin -Wno-nonnull -pthread

test-programs: $(CONFORM_PROGRAMS)

$(TEST_BUILD)/conform.musl: $(CONFORM_SOURCES:tests/conformance/%.c=$(TEST_BUILD)/conform.musl.d/%.o)
	@echo "  TEST    $@"
	$(Q)TACET_BUILD=build TACET_ARCH=$(ARCH) libc/tacet-cc $^ -o $@

$(TEST_BUILD)/conform.glibc: $(CONFORM_SOURCES:tests/conformance/%.c=$(TEST_BUILD)/conform.glibc.d/%.o)
	@echo "  TEST    $@"
	$(Q)$(CC) -no-pie -static -pthread $^ -o $@

$(TEST_BUILD)/conform.musl.d/%.o: tests/conformance/%.c tests/conformance/conform.h $(MUSL) libc/tacet-cc
	@mkdir -p $(@D)
	$(Q)TACET_BUILD=build TACET_ARCH=$(ARCH) libc/tacet-cc $(CONFORM_CFLAGS) -c $< -o $@

$(TEST_BUILD)/conform.glibc.d/%.o: tests/conformance/%.c tests/conformance/conform.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(CONFORM_CFLAGS) -fno-pie -c $< -o $@
