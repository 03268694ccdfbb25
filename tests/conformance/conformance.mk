# SPDX-License-Identifier: BSD-2-Clause
#
# conformance.mk: all tests of this folder, and those of ARCH/, about an architecture's own instructions and
# registers, in one static program for each C library, build/ARCH/tests/conform.{musl,glibc}. A new test is a
# new file: no list names it. Included by the top-level Makefile.

CONFORM_SOURCES := $(sort $(wildcard tests/conformance/*.c tests/conformance/$(ARCH)/*.c))
CONFORM_HEADERS := $(wildcard tests/conformance/*.h)
CONFORM_PROGRAMS := $(TEST_BUILD)/conform.musl $(TEST_BUILD)/conform.glibc
# The one that `make test` runs on this architecture (tests/qemu/test_conformance.py).
CONFORM_SHORT_x86_64 := $(TEST_BUILD)/conform.musl
CONFORM_SHORT_ppc64  := $(TEST_BUILD)/conform.glibc
CONFORM_SHORT := $(CONFORM_SHORT_$(ARCH))
CONFORM_CFLAGS := $(TEST_CFLAGS) -D_GNU_SOURCE -fno-builtin -Wno-nonnull -pthread
CONFORM_FLAGS := $(BUILD)/conform.flags
$(CONFORM_FLAGS): FLAGS = $(PROGRAM_CC) $(CONFORM_CFLAGS)
CONFORM_LIST := $(BUILD)/conform.list.flags
$(CONFORM_LIST): FLAGS = $(CONFORM_SOURCES)

test-programs: $(CONFORM_SHORT)
.PHONY: conform-programs
conform-programs: $(CONFORM_PROGRAMS)

$(TEST_BUILD)/conform.musl: $(CONFORM_SOURCES:tests/conformance/%.c=$(TEST_BUILD)/conform.musl.d/%.o) \
		$(CONFORM_LIST)
	@echo "  TEST    $@"
	$(Q)TACET_BUILD=build TACET_ARCH=$(ARCH) libc/tacet-cc $(filter %.o,$^) -o $@

$(TEST_BUILD)/conform.glibc: $(CONFORM_SOURCES:tests/conformance/%.c=$(TEST_BUILD)/conform.glibc.d/%.o) \
		$(CONFORM_LIST)
	@echo "  TEST    $@"
	$(Q)$(PROGRAM_CC) -no-pie -static -pthread $(filter %.o,$^) -o $@

$(TEST_BUILD)/conform.musl.d/%.o: tests/conformance/%.c $(CONFORM_HEADERS) $(CONFORM_FLAGS) $(MUSL) \
		libc/tacet-cc
	@mkdir -p $(@D)
	$(Q)TACET_BUILD=build TACET_ARCH=$(ARCH) libc/tacet-cc $(CONFORM_CFLAGS) -c $< -o $@

$(TEST_BUILD)/conform.glibc.d/%.o: tests/conformance/%.c $(CONFORM_HEADERS) $(CONFORM_FLAGS)
	@mkdir -p $(@D)
	$(Q)$(PROGRAM_CC) $(CONFORM_CFLAGS) -fno-pie -c $< -o $@
