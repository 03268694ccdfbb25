# SPDX-License-Identifier: BSD-2-Clause
#
# programs.mk: the programs that the whole-system tests run on a node. They are plain Linux programs: each is
# linked statically, at a fixed place and as static-PIE, against musl (by libc/tacet-cc) and against the build
# machine's own glibc. Included by the top-level Makefile.
#
# A new program: tests/programs/NAME.c, and its name in the list of its kind.

TEST_BUILD := $(BUILD)/tests

# With both C libraries, both ways: NAME.musl, NAME.musl-pie, NAME.glibc, NAME.glibc-pie.
TEST_LIBC_PROGRAMS := arguments auxiliary runtime memory clocks vector signals signal_threads itimers \
	threads vdso proc inherit crowd
# With musl alone: what they try is the kernel's doing, whatever the library.
TEST_MUSL_PROGRAMS := status streams jobs huge forbidden counters hostile mappings wait big witness \
	ranks sleeps corners signal_frames signal_ranks signal_races interrupted abuse \
	wakes spaces supply churn files events event_files shared_files shared_maps growing together \
	refusals service serial directories neighbours random_neighbours sharing profiled avx512 \
	many network lease messages inet sockets transfer plain_card file_rates idle_connection \
	network_alternate frames beats ping_pong balance_ranks litmus socket_races multicast visited \
	groups users nodes descriptors
# Without any library: they look at the very first instruction.
TEST_BARE_PROGRAMS := entry

# What an architecture lacks, and why. POWER: Debian's glibc for it has no start file for static-PIE
# (rcrt1.o); avx512 tries x86's vector registers.
TEST_LACKS_ppc64 := %.glibc-pie $(TEST_BUILD)/avx512.%

TEST_LIBC_KINDS := musl musl-pie glibc glibc-pie
TEST_PROGRAMS := $(filter-out $(TEST_LACKS_$(ARCH)), \
	$(foreach kind,$(TEST_LIBC_KINDS),$(TEST_LIBC_PROGRAMS:%=$(TEST_BUILD)/%.$(kind))) \
	$(TEST_MUSL_PROGRAMS:%=$(TEST_BUILD)/%.musl) $(TEST_BARE_PROGRAMS:%=$(TEST_BUILD)/%.bare) \
	$(TEST_BUILD)/forbidden.glibc $(TEST_BUILD)/messages.glibc $(TEST_BUILD)/call_fuzz.musl-pie \
	$(foreach program,openmp places interfaces names, \
		$(TEST_BUILD)/$(program).musl $(TEST_BUILD)/$(program).glibc) \
	$(TEST_BUILD)/nested.glibc $(TEST_BUILD)/ipc_ranks.glibc \
	$(TEST_BUILD)/cplusplus.glibc $(TEST_BUILD)/collide.glibc)

# A variable that nobody gave a value has the same one everywhere: what a program finds there would depend on
# the machine that built it, on the kernel, and on what was called before.
TEST_CFLAGS := -std=gnu11 -O2 -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion $(if $(CI),-Werror) \
	-ftrivial-auto-var-init=pattern -I libc/include -I .
TEST_FLAGS := $(BUILD)/tests.flags
$(TEST_FLAGS): FLAGS = $(PROGRAM_CC) $(TEST_CFLAGS)
TEST_HEADERS := $(wildcard tests/programs/*.h) kernel/syscall/syscalls.def libc/include/tacet.h $(TEST_FLAGS)
TEST_GLIBC := $(PROGRAM_CC) $(TEST_CFLAGS) -Wl,-z,relro,-z,now
TEST_MUSL := TACET_BUILD=build TACET_ARCH=$(ARCH) libc/tacet-cc $(TEST_CFLAGS) -Wl,-z,relro,-z,now

# Static glibc warns of each name that it looks up.
$(TEST_BUILD)/names.glibc: TEST_GLIBC += -Wl,--no-warnings

.PHONY: test-programs
test-programs: $(TEST_PROGRAMS)

$(TEST_BUILD)/%.musl: tests/programs/%.c $(TEST_HEADERS) $(MUSL) libc/tacet-cc
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(TEST_MUSL) $< -o $@

# Its nested functions ask for an executable stack anyway; the linker warns if it is not told.
$(TEST_BUILD)/nested.glibc: TEST_GLIBC += -Wl,-z,execstack

$(TEST_BUILD)/balance_ranks.musl: $(wildcard apps/balance/*.[ch])

$(TEST_BUILD)/%.musl-pie: tests/programs/%.c $(TEST_HEADERS) $(MUSL) libc/tacet-cc
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(TEST_MUSL) -fPIE -static-pie $< -o $@

$(TEST_BUILD)/%.glibc: tests/programs/%.c $(TEST_HEADERS)
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(TEST_GLIBC) -fno-pie -no-pie -static $< -lm -pthread -o $@

$(TEST_BUILD)/%.glibc-pie: tests/programs/%.c $(TEST_HEADERS)
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(TEST_GLIBC) -fPIE -static-pie $< -lm -pthread -o $@

$(TEST_BUILD)/%.bare: tests/programs/%.c $(TEST_HEADERS)
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(PROGRAM_CC) $(TEST_CFLAGS) -ftrivial-auto-var-init=uninitialized -ffreestanding -fno-pie -no-pie \
		-fno-stack-protector -nostdlib -static $< -o $@

# Programs with a runtime of the compiler's own: OpenMP, also with musl, and C++.
OPENMP := openmp places
$(OPENMP:%=$(TEST_BUILD)/%.musl): $(TEST_BUILD)/%.musl: tests/programs/%.c $(MUSL) libc/tacet-cc $(TEST_FLAGS)
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(TEST_MUSL) -fopenmp $< -o $@

# libgomp looks for plugins of accelerators with dlopen, which a static program has not: the linker would warn
# of it each time.
$(OPENMP:%=$(TEST_BUILD)/%.glibc): $(TEST_BUILD)/%.glibc: tests/programs/%.c $(TEST_FLAGS)
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(TEST_GLIBC) -fopenmp -fno-pie -no-pie -static -Wl,--no-warnings $< -o $@

$(TEST_BUILD)/cplusplus.glibc: tests/programs/cplusplus.cpp $(TEST_FLAGS)
	@mkdir -p $(@D)
	@echo "  TEST    $@"
	$(Q)$(PROGRAM_CXX) -std=c++20 -O2 -Wall -Wextra $(if $(CI),-Werror) -fno-pie -no-pie -static $< \
		-pthread -o $@

# The shell of SQLite, in both kinds; not a part of test-programs, because it takes a minute.
SQLITE := $(BUILD)/sqlite/stamp
$(SQLITE): ports/sqlite/recipe ports/sqlite/build.sh $(MUSL)
	@echo "  PORT    sqlite, which takes about a minute"
	$(Q)ports/sqlite/build.sh build $(ARCH)
	@touch $@

# curl, likewise.
CURL := $(BUILD)/curl/curl
$(CURL): ports/curl/recipe ports/curl/build.sh libc/tacet-cc $(MUSL)
	@echo "  PORT    curl, which takes about a minute"
	$(Q)ports/curl/build.sh build $(ARCH) && touch $@
