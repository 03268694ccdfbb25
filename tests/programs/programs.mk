# SPDX-License-Identifier: BSD-2-Clause
#
# programs.mk: the programs that the whole-system tests run on a node. They are plain Linux programs: each is linked statically, at a fixed place and as
# static-PIE, against musl (by libc/tacet-cc) and against the build machine's own glibc. Included by the top-level Makefile.
#
# A new program: tests/programs/NAME.c, and its name in the list of its kind.

TEST_BUILD := $(BUILD)/tests

# With both C libraries, both ways: NAME.musl, NAME.musl-pie, NAME.glibc, NAME.glibc-pie.
TEST_LIBC_PROGRAMS := arguments auxiliary runtime memory clocks vector signals signal_threads itimers
# With musl alone: what they try is the kernel's doing, whatever the library.
TEST_MUSL_PROGRAMS := status streams forbidden counters hostile mappings wait big witness ranks sleeps corners signal_frames signal_ranks
# Without any library: they look at the very first instruction.
TEST_BARE_PROGRAMS := entry

TEST_PROGRAMS := $(foreach kind,musl musl-pie glibc glibc-pie,$(TEST_LIBC_PROGRAMS:%=$(TEST_BUILD)/%.$(kind))) \
	$(TEST_MUSL_PROGRAMS:%=$(TEST_BUILD)/%.musl) $(TEST_BARE_PROGRAMS:%=$(TEST_BUILD)/%.bare) $(TEST_BUILD)/forbidden.glibc

TEST_CFLAGS := -std=gnu11 -O2 -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion $(if $(CI),-Werror) -I libc/include -I .
TEST_HEADERS := $(wildcard tests/programs/*.h) kernel/syscalls.def libc/include/tacet.h
TEST_GLIBC := $(CC) $(TEST_CFLAGS) -Wl,-z,relro,-z,now
TEST_MUSL := TACET_BUILD=build TACET_ARCH=$(ARCH) libc/tacet-cc $(TEST_CFLAGS) -Wl,-z,relro,-z,now

.PHONY: test-programs
test-programs: $(TEST_PROGRAMS)

$(TEST_BUILD)/%.musl: tests/programs/%.c $(TEST_HEADERS) $(MUSL) libc/tacet-cc
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(TEST_MUSL) $< -o $@

$(TEST_BUILD)/%.musl-pie: tests/programs/%.c $(TEST_HEADERS) $(MUSL) libc/tacet-cc
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(TEST_MUSL) -fPIE -static-pie $< -o $@

$(TEST_BUILD)/%.glibc: tests/programs/%.c $(TEST_HEADERS)
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(TEST_GLIBC) -fno-pie -no-pie -static $< -lm -o $@

$(TEST_BUILD)/%.glibc-pie: tests/programs/%.c $(TEST_HEADERS)
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(TEST_GLIBC) -fPIE -static-pie $< -lm -o $@

$(TEST_BUILD)/%.bare: tests/programs/%.c $(TEST_HEADERS)
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(CC) $(TEST_CFLAGS) -ffreestanding -fno-pie -no-pie -fno-stack-protector -nostdlib -static $< -o $@
