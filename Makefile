# SPDX-License-Identifier: BSD-2-Clause
#
# Makefile: all entry points; `make help` lists them.
#
# The host's GCC compiles the kernel, without libraries and without vector registers. libc/tacet-cc compiles
# programs with musl, which ports/ fetches. All outputs go to build/. As many jobs run as there are CPUs; -j1
# runs one. Outputs that were built with other flags, or from files that are gone, are built again
# (tools/flags.mk).

ARCH   ?= x86_64
# LOCKCHECK=1 builds a kernel that checks itself: work with locks held (kernel/smp/lock_work.h), changes of
# lists and trees, use of freed memory (tests/lockcheck/).
BUILD  := build/$(ARCH)$(if $(LOCKCHECK),-lockcheck)
PYTHON ?= /usr/bin/python3
LAB    := PYTHON=$(PYTHON) tools/lab
V      ?=
Q      := $(if $(V),,@)

.DEFAULT_GOAL := kernel
.DELETE_ON_ERROR:

ifeq ($(wildcard arch/$(ARCH)/link.ld),)
$(error ARCH=$(ARCH): no such architecture; there are $(patsubst arch/%/link.ld,%,$(wildcard arch/*/link.ld)))
endif
ifneq ($(findstring :,$(CURDIR)),)
$(error $(CURDIR): the path must not contain a colon, which separates folders in PYTHONPATH)
endif
ifneq ($(shell [ "$(MAKECMDGOALS)" = help ] || \
	{ mkdir -p build && [ -w build/. ] && : >>build/deps.mk; } 2>/dev/null || echo no),)
$(error build/ cannot be written here: copy the tree to a folder of yours, or make build a link to one)
endif

# Jobs run in parallel, but these goals run in the order in which they are typed: `make clean kernel`.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
IN_ORDER := clean run report bench klog iso pxe cluster beats clock-offsets lockstep gdb test \
            test-long
ifneq ($(and $(word 2,$(MAKECMDGOALS)),$(filter $(IN_ORDER),$(MAKECMDGOALS))),)
.NOTPARALLEL:
endif

# Quotes a text as one word of the shell.
quoted = '$(subst ','\'',$(1))'

include tools/flags.mk

# The program of `make run APP=…` and `make cluster`.
APP   ?=
# The network of a run: user or bridge.
NET   :=
# Folders of this machine that a node's programs use.
MOUNT :=
# The flight log of the last `make run APP=…`. It is always kept, so that a failure need not be repeated: the
# node writes the log anyway, and sending it after the program's end takes at most about 20 ms per CPU.
KLOG  ?= build/klog.bin
# Results of runs and benchmarks.
REPORT := build/report$(if $(filter-out x86_64,$(ARCH)),-$(ARCH))

include arch/$(ARCH)/arch.mk

# ---- Debian's packages ----

# The groups of ports/deps.sh that each goal needs. They are installed before anything is built, so that every
# goal works as the first command on a fresh machine. A goal without a line needs `build`. Goals that only
# show or remove something need nothing. `make run` without APP installs QEMU and others while it compiles
# (tools/make_run.py).
needs_help :=
needs_clean :=
needs_abi := build
needs_compile_commands.json := build
needs_run := build $(if $(APP),run $(if $(MOUNT),cluster) $(if $(filter bridge,$(NET)),network))
later_run := $(if $(APP),,run draw)
needs_run-app := build run
needs_klog := $(if $(wildcard $(KLOG)),lab)
needs_report := $(if $(wildcard $(REPORT)/*-tacet.dat),lab)
needs_bench := build run lab $(if $(filter x86_64,$(ARCH)),sim boot network cluster bench)
needs_mpi-trace-others := build bench
needs_iso := build run boot
needs_pxe := build run boot
needs_cluster := build run boot network cluster
needs_beats := build run boot network cluster lab
needs_clock-offsets := build run boot network cluster lab
needs_lockstep := build run lab
needs_gdb := build run gdb
needs_sim := build sim
needs_host-test := build sim
needs_fuzz := build sim fuzz
needs_fuzz-build := build sim fuzz
needs_test-programs := build sim
needs_conform-programs := build sim
needs_fuzz-calls := build sim run
needs_fuzz-collide := build run
needs_pictures := build draw
needs_docs := build run lab
needs_format := dev
needs_test := build sim run lab boot network cluster gdb fuzz bench test build-ppc64 run-ppc64
needs_test-build := $(needs_test)
needs_test-long := $(needs_test) test-long

# The groups for a file, by its folder.
needs_of_file = build $(if $(filter build/fuzz/% build/simulator/% build/host/test_sim,$(1)),sim) \
	$(if $(filter build/fuzz/%,$(1)),fuzz) $(if $(filter $(BUILD)/tests/cplusplus%,$(1)),sim)
needs_of = $(if $(filter undefined,$(origin needs_$(1))),$(call needs_of_file,$(1)),$(needs_$(1)))
NEEDS := $(sort $(foreach goal,$(or $(MAKECMDGOALS),$(.DEFAULT_GOAL)),$(call needs_of,$(goal))))
# Other architectures have additional groups, named after those of this machine.
with_arch = $(sort $(1) $(foreach group,$(1),$(filter $(group)-$(ARCH),$(ARCH_DEPS))))
NEEDS := $(call with_arch,$(NEEDS))
# Groups that a goal installs itself; if that is impossible, it is reported at once.
LATER := $(call with_arch,$(foreach goal,$(MAKECMDGOALS),$(later_$(goal))))

# make updates an included file before any goal; this file never changes. A dry run (-n, -q, -t) installs
# nothing; nor do recursive calls of make.
ifeq ($(MAKELEVEL),0)
ifeq ($(strip $(foreach flag,n q t,$(findstring $(flag),$(filter-out --%,$(firstword -$(MAKEFLAGS)))))),)
ifneq ($(NEEDS),)
include build/deps.mk
build/deps.mk: always
	@ports/deps.sh $(NEEDS) $(if $(LATER),--later $(LATER))
endif
endif
endif

CC      = gcc
LD      = ld
NASM    = nasm
OBJCOPY = objcopy

# ---- The kernel ----

KERNEL := $(BUILD)/tacet.elf

ARCH_C     := $(filter-out arch/$(ARCH)/offsets.c, \
                $(wildcard arch/common/*.c arch/$(ARCH)/*.c arch/$(ARCH)/boot/*.c))
KERNEL_C   := $(sort $(wildcard kernel/*/*.c kernel/*/*/*.c drivers/*/*.c) $(ARCH_C))
KERNEL_ASM := $(sort $(wildcard $(addprefix arch/$(ARCH)/,*.asm *.S boot/*.asm boot/*.S)))
FONT_OBJECT := $(BUILD)/font.o
include ports/lwip/lwip.mk ports/bearssl/bearssl.mk
LWIP_OBJECTS := $(LWIP_C:%.c=$(BUILD)/lwip/%.o)
BEARSSL_OBJECTS := $(BEARSSL_C:%.c=$(BUILD)/bearssl/%.o)
# A kernel that checks itself has guards around the network's memory.
CHECK_C := $(if $(LOCKCHECK),tests/lockcheck/network_guards.c)
CHECK_LDFLAGS := $(if $(LOCKCHECK),$(addprefix --wrap=network_,allocate allocate_array free))
KERNEL_OBJECTS := $(patsubst %.c,$(BUILD)/kernel/%.o,$(KERNEL_C) $(CHECK_C)) \
                  $(KERNEL_ASM:%=$(BUILD)/kernel/%.o) $(FONT_OBJECT) $(LWIP_OBJECTS) \
                  $(BEARSSL_OBJECTS)

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion $(if $(CI),-Werror)
# Optimised for size: the less cache the kernel uses, the more is left for the program.
KERNEL_INCLUDES := -iquote kernel -iquote arch/$(ARCH)/include -iquote libc/include -iquote .
KERNEL_CFLAGS := -std=gnu11 -Oz -g -ffreestanding -fno-pic -fno-pie $(ARCH_CFLAGS) -fno-stack-protector \
	-fno-asynchronous-unwind-tables -fno-strict-aliasing $(WARNINGS) $(KERNEL_INCLUDES) \
	-ffunction-sections -fdata-sections $(if $(LOCKCHECK),-DLOCKCHECK)
# Keeps paths of this machine out of the kernel's code.
PREFIX_MAP := $(call quoted,-ffile-prefix-map=$(CURDIR)/=)
KERNEL_FLAGS := $(BUILD)/kernel.flags
$(KERNEL_FLAGS): FLAGS = $(KERNEL_CC) $(KERNEL_CFLAGS) $(LWIP_INCLUDES) $(BEARSSL_KERNEL_CFLAGS) \
	$(VDSO_CFLAGS)
$(BUILD)/kernel.list.flags: FLAGS = $(KERNEL_OBJECTS)

KERNEL_LDFLAGS := -nostdlib -static --gc-sections -z noexecstack -z max-page-size=$(ARCH_PAGE_BYTES) \
	--no-warn-rwx-segments --build-id=none $(CHECK_LDFLAGS) -T arch/$(ARCH)/link.ld

.PHONY: kernel
kernel: $(KERNEL)

$(KERNEL): $(KERNEL_OBJECTS) arch/$(ARCH)/link.ld $(BUILD)/kernel.list.flags
	@echo "  LD      $@"
	$(Q)$(KERNEL_LD) $(KERNEL_LDFLAGS) -o $@ $(KERNEL_OBJECTS)
	$(Q)$(KERNEL_OBJCOPY) --strip-all $@ $(BUILD)/tacet.stripped.elf

# The same kernel with faults that programs can trigger, for tests.
PLANTED := $(BUILD)/kernel/tests/planted/faults.o
$(BUILD)/planted.elf: $(KERNEL) $(PLANTED)
	@echo "  LD      $@"
	$(Q)$(KERNEL_LD) $(KERNEL_LDFLAGS) --wrap=sys_exit_group -o $@ $(KERNEL_OBJECTS) $(PLANTED)

$(BUILD)/kernel/%.o: %.c $(KERNEL_FLAGS)
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(KERNEL_CC) $(KERNEL_CFLAGS) $(PREFIX_MAP) -MMD -MP -c -o $@ $<

$(BUILD)/kernel/kernel/net/%.o: kernel/net/%.c $(KERNEL_FLAGS) $(LWIP)/stamp
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(KERNEL_CC) $(KERNEL_CFLAGS) $(LWIP_INCLUDES) $(PREFIX_MAP) -MMD -MP -c -o $@ $<

$(BUILD)/lwip/%.o: $(LWIP)/stamp $(KERNEL_FLAGS) $(wildcard ports/lwip/include/*.h ports/lwip/include/*/*.h)
	@mkdir -p $(@D)
	@echo "  CC      $(LWIP)/src/$*.c"
	$(Q)$(KERNEL_CC) $(KERNEL_CFLAGS) $(LWIP_INCLUDES) $(call lwip_renamed,$*) -w $(PREFIX_MAP) -MMD -MP \
		-c -o $@ $(LWIP)/src/$*.c

$(BUILD)/kernel/kernel/lib/seal.o: kernel/lib/seal.c $(KERNEL_FLAGS) $(BEARSSL)/stamp
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(KERNEL_CC) $(KERNEL_CFLAGS) -isystem $(BEARSSL)/inc $(PREFIX_MAP) -MMD -MP -c -o $@ $<

$(BUILD)/bearssl/%.o: $(BEARSSL)/stamp $(KERNEL_FLAGS) ports/bearssl/include/string.h
	@mkdir -p $(@D)
	@echo "  CC      $(BEARSSL)/src/$*.c"
	$(Q)$(KERNEL_CC) $(KERNEL_CFLAGS) $(BEARSSL_KERNEL_CFLAGS) $(PREFIX_MAP) -MMD -MP \
		-c -o $@ $(BEARSSL)/src/$*.c

$(BUILD)/kernel/%.asm.o: %.asm $(BUILD)/offsets.inc $(wildcard arch/$(ARCH)/*.inc)
	@mkdir -p $(@D)
	@echo "  NASM    $<"
	$(Q)$(NASM) -f elf64 -g -F dwarf -I $(BUILD)/ -I arch/$(ARCH)/ -o $@ $<

$(BUILD)/kernel/%.S.o: %.S $(BUILD)/offsets.inc $(wildcard arch/$(ARCH)/include/arch/*.h)
	@mkdir -p $(@D)
	@echo "  AS      $<"
	$(Q)$(KERNEL_CC) $(ARCH_ASFLAGS) -g $(PREFIX_MAP) -I $(BUILD) -iquote arch/$(ARCH)/include -c -o $@ $<

# The font of the framebuffer console, from another project.
$(BUILD)/font.c: ports/font/recipe ports/font/make.py ports/fetch.py
	@mkdir -p $(@D)
	@echo "  PORT    the console's font, not installed"
	$(Q)$(PYTHON) ports/font/make.py > $@.part || { rm -f $@.part; exit 1; }
	$(Q)mv $@.part $@

$(FONT_OBJECT): $(BUILD)/font.c $(KERNEL_FLAGS)
	$(Q)$(KERNEL_CC) $(KERNEL_CFLAGS) $(PREFIX_MAP) -MMD -MP -c -o $@ $<

# The vDSO: an ELF file of its own, inside the kernel.
VDSO_CFLAGS := -std=gnu11 -O2 -ffreestanding -fPIC -fvisibility=default $(ARCH_VDSO_CFLAGS) \
	-fno-stack-protector -fno-asynchronous-unwind-tables -fno-builtin -fno-strict-aliasing \
	$(WARNINGS) -iquote kernel -iquote arch/$(ARCH)/include
VDSO_CODE := arch/common/vdso/vdso.c $(wildcard arch/$(ARCH)/vdso/*.S)
VDSO_SOURCES := $(VDSO_CODE) arch/$(ARCH)/vdso/vdso.ld kernel/time/clock_page.h \
                $(addprefix arch/$(ARCH)/include/arch/,vdso.h vdso_machine.h)

$(BUILD)/vdso.so: $(VDSO_SOURCES) $(KERNEL_FLAGS)
	@mkdir -p $(@D)
	@echo "  VDSO    $@"
	$(Q)$(KERNEL_CC) $(VDSO_CFLAGS) -shared -nostdlib -Wl,-T,arch/$(ARCH)/vdso/vdso.ld,-soname,linux-vdso.so.1 \
		-Wl,--hash-style=both,--build-id=none \
		-Wl,-Bsymbolic,-z,defs,-z,noexecstack,-z,noseparate-code,-s -o $@ $(VDSO_CODE)

$(patsubst %,$(BUILD)/kernel/%.o,$(wildcard arch/$(ARCH)/vdso_elf.*)): $(BUILD)/vdso.so

# C constants for the assembler, from lines "->NAME $VALUE" in the compiler's output.
$(BUILD)/offsets.inc: arch/$(ARCH)/offsets.c $(KERNEL_FLAGS)
	@mkdir -p $(@D)
	$(Q)$(KERNEL_CC) $(KERNEL_CFLAGS) -MMD -MP -MF $(BUILD)/offsets.d -MT $@ -S -o $(BUILD)/offsets.s $<
	$(Q)sed -n 's/^->\([A-Z0-9_]*\) \$$*\(.*\)/$(ARCH_DEFINE) \1 \2/p' $(BUILD)/offsets.s > $@

# Dependency files are written by the compiler, so make must not look for rules to make them.
%.d: ;
-include $(KERNEL_OBJECTS:.o=.d) $(PLANTED:.o=.d) $(BUILD)/offsets.d

# ---- Programs ----

MUSL := $(BUILD)/musl/stamp
NOISE_APPS := ftq fwq selfish phase
CREW_APPS := stream dgemm
APPS := $(addprefix $(BUILD)/apps/,$(NOISE_APPS) $(CREW_APPS) balance barrier cost daemon offsets policy)

APP_CFLAGS := -std=gnu11 -O2 $(WARNINGS) -Iapps/lib
APP_SOURCES = $(wildcard apps/$(@F)/*.c) $(APP_LIBRARY)
$(NOISE_APPS:%=$(BUILD)/apps/%): APP_LIBRARY := $(wildcard apps/lib/*.c)
$(CREW_APPS:%=$(BUILD)/apps/%): APP_LIBRARY := $(addprefix apps/lib/,crew.c affinity.c memory.c parse.c)
$(BUILD)/apps/barrier: APP_LIBRARY := $(addprefix apps/lib/,calibrate.c memory.c order.c parse.c)
$(BUILD)/apps/balance: APP_LIBRARY := $(addprefix apps/lib/,affinity.c parse.c)
$(BUILD)/apps/cost: APP_LIBRARY := $(addprefix apps/lib/,affinity.c order.c parse.c)
$(BUILD)/apps/daemon $(BUILD)/apps/offsets: APP_LIBRARY := apps/lib/parse.c

.PHONY: apps
apps: $(APPS)

$(BUILD)/apps.flags: FLAGS = $(CC) $(APP_CFLAGS) $(wildcard apps/*/*.[ch])
$(APPS): $(MUSL) libc/tacet-cc libc/include/tacet.h $(wildcard apps/*/*.[ch]) $(BUILD)/apps.flags
	@mkdir -p $(@D)
	@echo "  APP     $@"
	$(Q)TACET_BUILD=build TACET_ARCH=$(ARCH) libc/tacet-cc $(APP_CFLAGS) -Iapps/$(@F) $(APP_SOURCES) -pthread \
		-o $@

$(MUSL): ports/musl$(filter-out -x86_64,-$(ARCH))/recipe ports/musl/fetch.sh libc/openmp.c
	@echo "  PORT    musl"
	$(Q)ports/musl/fetch.sh build $(ARCH)
	@touch $@

# ---- Neighbours: a real Linux, and a QEMU that can run it with two CPUs under a deterministic clock ----

# This architecture's neighbours: the kernel of `stock`, and a busybox for another architecture than this
# machine's.
LINUX_KERNEL_x86_64 := build/linux/version
LINUX_KERNEL_ppc64  := build/linux-ppc64/version build/ppc64/busybox
LINUX_KERNEL        := $(LINUX_KERNEL_$(ARCH))

.PHONY: linux
linux: $(LINUX_KERNEL)

build/linux/version: ports/linux/fetch.sh ports/apt.sh
	@echo "  PORT    Debian's Linux kernel, unpacked in some seconds, not installed"
	$(Q)ports/linux/fetch.sh build stock
	@touch $@

build/linux-ppc64/version: ports/linux/fetch.sh ports/linux-ppc64/recipe
	@echo "  PORT    Debian's Linux kernel for POWER, unpacked in some seconds, not installed"
	$(Q)ports/linux/fetch.sh build ppc64
	@touch $@

build/ppc64/busybox: ports/busybox-ppc64/fetch.sh ports/busybox-ppc64/recipe
	@echo "  PORT    Debian's busybox for POWER, not installed"
	$(Q)ports/busybox-ppc64/fetch.sh build
	@touch $@

# Optional: without this kernel the comparison reports it as absent.
.PHONY: linux-rt
linux-rt:
	$(Q)ports/linux/fetch.sh build rt || [ $$? = 3 ]

.PHONY: qemu10 qemu10-x86_64 qemu10-ppc64
qemu10: qemu10-$(ARCH)
qemu10-x86_64 qemu10-ppc64: qemu10-%:
	$(Q)ports/qemu/fetch.sh build $* || [ $$? = 3 ]

# A plugin of QEMU 10 that counts cache misses (tools/caches), for `tools/lab reproduce tsafrir-fig6`.
CACHES_CFLAGS := -std=gnu11 -O2 $(WARNINGS) -fPIC -shared -fvisibility=hidden
build/caches.flags: FLAGS = $(CC) $(CACHES_CFLAGS)

.PHONY: caches
caches: build/caches.so
build/caches.so: $(wildcard tools/caches/*.[ch]) build/caches.flags
	@echo "  PLUGIN  $@"
	$(Q)$(CC) $(CACHES_CFLAGS) -o $@ $(filter %.c,$^)

# A plugin that counts the instructions of each visit to the kernel (tools/visits).
.PHONY: visits
visits: build/visits.so
build/visits.so: tools/visits/plugin.c tools/caches/qemu_plugin.h build/caches.flags
	@echo "  PLUGIN  $@"
	$(Q)$(CC) $(CACHES_CFLAGS) -o $@ $(filter %.c,$^)

# ---- Running ----

# Further variables of `make run APP=…`. ARGS and ENV are split into words as a shell does:
# ARGS='echo "two words"' ENV='A=1 B="2 3"'.
ARGS  ?=
ENV   :=
STDIN :=
FILES :=
# NET=user: QEMU's own network, with the card NIC; FORWARD='8080:80 …' forwards ports of this host to it.
# NET=bridge: in tools/with-network. Without NET the node has no card.
# MOUNT=dir, MOUNT='dir:/place …': folders of this host that programs read and write, at /mnt or their places.
NIC     :=
FORWARD :=
NETWORK_OPTIONS = $(if $(NET),--network $(call quoted,$(NET))) $(if $(NIC),--nic $(call quoted,$(NIC))) \
                  $(addprefix --forward ,$(FORWARD)) $(foreach dir,$(MOUNT),--mount $(call quoted,$(dir)))

COMPARE_OPTIONS :=

.PHONY: run run-app report bench gdb iso klog
run:
	@$(if $(APP),,[ -z $(call quoted,$(ARGS)$(ENV)$(STDIN)$(FILES)$(NET)$(MOUNT)$(RUN_OPTIONS)) ] || \
		{ echo "make run: ARGS, ENV, STDIN, FILES, NET, MOUNT, RUN_OPTIONS need a program: APP=prog" >&2; exit 2; })
	@$(if $(APP),$(MAKE) --no-print-directory run-app,$(PYTHON) tools/make_run.py --make $(call quoted,$(MAKE)) \
		--arch $(ARCH) --out $(REPORT) $(if $(V),--verbose) -- $(COMPARE_OPTIONS))

run-app: $(KERNEL)
	@tools/run --arch $(ARCH) $(if $(findstring --linux,$(RUN_OPTIONS)),,--klog $(KLOG)) \
		$(if $(ENV),--env-words=$(call quoted,$(ENV))) $(if $(STDIN),--stdin $(call quoted,$(STDIN))) \
		$(if $(FILES),--files $(call quoted,$(FILES))) $(NETWORK_OPTIONS) $(RUN_OPTIONS) -- \
		$(call quoted,$(APP)) $(ARGS)

klog:
	@test -e $(KLOG) || \
		{ echo "make klog: there is no flight log in $(KLOG); make run APP=prog keeps one there" >&2; exit 1; }
	@$(LAB) klog $(KLOG) $(KLOG_OPTIONS)

# One page with the results of `make run` and `make bench`. REPORT_OPTIONS: see `tools/lab report -h`.
report:
	@ls $(REPORT)/*-tacet.dat >/dev/null 2>&1 || \
		{ echo "make report: nothing is measured yet; make run or make bench does" >&2; exit 1; }
	@$(LAB) report --runs $(REPORT) -o $(REPORT)/report.html $(REPORT_OPTIONS)

# On every architecture, `make bench` measures the noise, the costs and the silent hour; only on x86_64 it
# measures networks, wake-ups of several CPUs, the tuned Linux, and programs on this host.
bench:
	@$(MAKE) --no-print-directory $(if $(filter x86_64,$(ARCH)),bench-ready,bench-common)

.PHONY: bench-common
bench-common: $(KERNEL) $(APPS) $(LINUX_KERNEL) qemu10
	@$(LAB) compare --arch $(ARCH) --out $(REPORT) --samples 10000
	@$(LAB) bench --arch $(ARCH) --out $(REPORT)
	@$(LAB) silence --arch $(ARCH) --out $(REPORT) --shift 6
	@echo "make bench ARCH=$(ARCH): programs, cores, network, phases, simulator and lockstep are x86_64's only"

.PHONY: bench-ready
bench-ready: $(KERNEL) $(APPS) $(LINUX_KERNEL) linux-rt qemu10 lockstep-parts build/simulator/sim \
		foreign-network $(TEST_BUILD)/plain_card.musl $(TEST_BUILD)/file_rates.musl \
		$(TEST_BUILD)/jobs.musl mpi service
	@$(LAB) compare --out build/report --samples 10000
	@$(LAB) bench --out build/report
	@$(LAB) bench-programs --out build/report
	@$(LAB) bench-cores --out build/report
	@$(LAB) bench-network --out build/report
	@$(LAB) bench-deaths --out build/report
	@$(LAB) bench-mpi --out build/report
	@$(LAB) bench-mpi-nodes --out build/report
	@$(LAB) compare-phases --out build/report
	@$(LAB) silence --out build/report --shift 4
	@$(LAB) bench-simulator --out build/report
	@$(LAB) bench-lockstep --out build/report

# The program that iso and gdb start without APP: FTQ for one second.
DEFAULT_APP  := $(BUILD)/apps/ftq
DEFAULT_ARGS := -n 1000 -o /tmp/ftq
PROGRAM_WORDS = $(call quoted,$(or $(APP),$(DEFAULT_APP)))
ARGUMENT_WORDS = $(or $(ARGS),$(if $(APP),,$(DEFAULT_ARGS)))

# An ISO image for BIOS and UEFI machines: the kernel, GRUB, and one program; or the programs in FILES (split
# into words as a shell does), all with the same ARGS, in a menu whose first entry starts after TIMEOUT
# seconds. PORT and SPEED: the serial port that GRUB and the kernel use.
ISO     := build/tacet.iso
PORT    :=
SPEED   :=
TIMEOUT :=
ISO_OPTIONS = $(if $(PORT),--port $(call quoted,$(PORT))) $(if $(SPEED),--speed $(call quoted,$(SPEED))) \
              $(if $(TIMEOUT),--timeout $(call quoted,$(TIMEOUT)))
iso:
	@$(if $(and $(APP),$(FILES)),\
		echo "make iso: APP names one program and FILES several; give one of the two" >&2; exit 2)
	@$(MAKE) --no-print-directory -s $(KERNEL) $(APPS)
	@boot/make-iso $(ISO_OPTIONS) $(call quoted,$(ISO)) $(KERNEL) \
		$(if $(FILES),$(FILES) -- $(ARGS),$(PROGRAM_WORDS) -- $(ARGUMENT_WORDS))

# A folder from which nodes boot over the network (docs/pxe.md): GRUB for BIOS and UEFI, the kernel and one
# program. OPTIONS: kernel options, split into words as a shell does. NODES: a file with settings of single
# nodes. NETWORK and INTERFACE: the service node's network; SERVER: its address there. HTTP=yes: nodes get
# large files by HTTP if they can. PROXY=yes: another server gives the addresses. PORT and SPEED: as above.
PXE       := build/pxe
NODES     :=
OPTIONS   :=
NETWORK   :=
INTERFACE :=
SERVER    :=
HTTP      :=
PROXY     :=
PXE_OPTIONS = $(if $(NODES),--nodes $(call quoted,$(NODES))) \
	$(if $(NETWORK),--network $(call quoted,$(NETWORK))) \
	$(if $(INTERFACE),--interface $(call quoted,$(INTERFACE))) \
	$(if $(SERVER),--server $(call quoted,$(SERVER))) $(if $(HTTP),--http) $(if $(PROXY),--proxy) \
	$(if $(PORT),--port $(call quoted,$(PORT))) $(if $(SPEED),--speed $(call quoted,$(SPEED)))
.PHONY: pxe
pxe:
	@$(MAKE) --no-print-directory -s $(KERNEL) $(APPS)
	@TACET_OPTIONS=$(call quoted,$(OPTIONS)) boot/make-pxe $(PXE_OPTIONS) $(call quoted,$(PXE)) \
		$(BUILD)/tacet.stripped.elf $(PROGRAM_WORDS) -- $(ARGUMENT_WORDS)

# A cluster in QEMU (docs/cluster.md): NODES nodes, LINUX further ones with Linux, RATE beats a second. The
# nodes run APP, and the exit status is the highest of theirs; without APP a shell is started.
# CLUSTER_OPTIONS: see tools/cluster --help.
LINUX           :=
RATE            :=
CLUSTER_OPTIONS :=
.PHONY: cluster beats
cluster:
	@$(MAKE) --no-print-directory -s $(KERNEL) service $(if $(filter-out 0,$(LINUX)),$(LINUX_KERNEL))
	@tools/cluster --nodes $(call quoted,$(or $(NODES),4)) $(if $(LINUX),--linux $(call quoted,$(LINUX))) \
		$(if $(RATE),--rate $(call quoted,$(RATE))) \
		$(if $(APP),--app $(call quoted,$(APP)) --args=$(call quoted,$(ARGS)) --wait) $(CLUSTER_OPTIONS)

# FTQ on four nodes under beats, compared with Linux at its tick [Betti09 Fig. 3]. BEATS_OPTIONS: see
# `tools/lab beats -h`.
BEATS_OPTIONS :=
beats:
	@$(MAKE) --no-print-directory -s $(KERNEL) $(APPS) $(LINUX_KERNEL) service qemu10
	@$(LAB) beats --out build/report $(BEATS_OPTIONS)

# The differences between the clocks of four nodes under beats, in a cluster and on one virtual clock.
# CLOCK_OFFSETS_OPTIONS: see `tools/lab clock-offsets -h`.
CLOCK_OFFSETS_OPTIONS :=
.PHONY: clock-offsets
clock-offsets:
	@$(MAKE) --no-print-directory -s $(KERNEL) $(APPS) service qemu10 lockstep-parts
	@$(LAB) clock-offsets --out build/report $(CLOCK_OFFSETS_OPTIONS)

# Nodes in QEMU on one virtual clock (docs/lockstep.md): NODES nodes that run APP, RATE beats a second.
# Without APP, FTQ under beats at several rates. LOCKSTEP_OPTIONS: see tools/lockstep-run --help, and without
# APP `tools/lab lockstep -h`.
LOCKSTEP_OPTIONS :=
.PHONY: lockstep
lockstep:
	@$(MAKE) --no-print-directory -s $(KERNEL) $(APPS) qemu10 lockstep-parts
	@$(if $(APP),tools/lockstep-run $(if $(NODES),--nodes $(call quoted,$(NODES))) \
		$(if $(RATE),--beats $(call quoted,$(RATE))) $(LOCKSTEP_OPTIONS) -- $(call quoted,$(APP)) $(ARGS),\
		$(LAB) lockstep --out build/report $(if $(NODES),--nodes $(call quoted,$(NODES))) \
		$(LOCKSTEP_OPTIONS))

# GDB_OPTIONS: see tools/gdb --help. GDB_COMMANDS=FILE: run the commands in this file and end.
gdb:
	@$(MAKE) --no-print-directory -s $(KERNEL) $(if $(APP),,$(APPS))
	@tools/gdb $(GDB_OPTIONS) -- $(PROGRAM_WORDS) $(ARGUMENT_WORDS)

# ---- Tests ----

include simulator/simulator.mk
include kit/kit.mk
include service/service.mk
include tools/lockstep/lockstep.mk
include apps/mpi-lite/mpi-lite.mk
include apps/mpi-trace/mpi-trace.mk
include tests/host/host.mk
include tests/programs/programs.mk
include tests/foreign/foreign.mk
include tests/conformance/conformance.mk
include tests/suites/suites.mk

# Random system calls. The test suite runs this for seconds; by hand, run it for an hour. CALL_FUZZ_OPTIONS:
# see tests/fuzz/calls.py --help.
MINUTES ?= 1
.PHONY: fuzz-calls
fuzz-calls: $(KERNEL) test-programs
	@$(PYTHON) tests/fuzz/calls.py --minutes $(MINUTES) $(CALL_FUZZ_OPTIONS)

# Threads that collide: see tests/fuzz/collide.py --help. For a run of an hour use the kernel that checks
# itself: COLLIDE_OPTIONS='--kernel build/x86_64-lockcheck/tacet.elf', built with LOCKCHECK=1.
.PHONY: fuzz-collide
fuzz-collide: $(KERNEL) $(TEST_BUILD)/collide.glibc
	@$(PYTHON) tests/fuzz/collide.py --arch $(ARCH) --minutes $(MINUTES) $(COLLIDE_OPTIONS)

# Goals and files that `make test` needs, for both architectures, and those that only `make test-long` needs.
# tests/making.py builds a missing one when a test needs it; build/test-built/ARCH names those that are up to
# date.
TEST_GOALS := kernel apps test-programs
TEST_GOALS_x86_64 := mpi mpi-programs service lockstep-parts visits caches kit sim linux qemu10 \
	suite-lmdb suite-libuv suite-hwloc
TEST_GOALS_ppc64 := linux qemu10
# Files that tests ask for by name.
TEST_FILES := $(KERNEL) $(BUILD)/planted.elf $(APPS) $(TEST_PROGRAMS) $(TRACE_PROGRAMS) $(CONFORM_SHORT) \
	$(LINUX_KERNEL)
TEST_FILES_x86_64 := $(MPI_LITE_PROGRAMS) $(MPI_BUILD)/glibc/libmpi.a $(MPI_BUILD)/include/mpi_functions.h \
	$(TRACE_BUILD)/programs/asan/traced \
	$(SERVICE_PROGRAMS) $(SIM) $(SIM_TEST) build/caches.so build/visits.so $(MPI_BENCHES) $(LINUX_KERNEL_ppc64)
LONG_GOALS_x86_64 := mpich fuzz-build mpi-programs-of-others mpi-trace-others $(SQLITE) $(CURL) \
	$(FOREIGN_KINDS:%=foreign-%) $(MPI_LONG_PROGRAMS) suite-go
LONG_GOALS_ppc64 := mpi-programs

.PHONY: test-build test-build-arch test-long-build test-long-build-arch
test-build test-long-build: %:
	$(Q)$(MAKE) --no-print-directory ARCH=x86_64 $*-arch
	$(Q)$(MAKE) --no-print-directory ARCH=ppc64 $*-arch

test-build-arch: $(TEST_GOALS) $(TEST_GOALS_$(ARCH)) $(TEST_FILES) $(TEST_FILES_$(ARCH))
	@mkdir -p build/test-built
	@printf '%s\n' $^ >build/test-built/$(ARCH)

test-long-build-arch: $(LONG_GOALS_$(ARCH)) $(CONFORM_PROGRAMS)
	$(Q)$(MAKE) --no-print-directory LOCKCHECK=1 kernel

.PHONY: test test-long
test:
	@$(PYTHON) tests/run.py

# Tests that take hours. LONG_OPTIONS: see tests/run.py --help.
test-long:
	@$(PYTHON) tests/run.py --long $(LONG_OPTIONS)

# ---- Development ----

.PHONY: help clean format abi compile_commands.json
help:
	@echo "make run                         compare FTQ on Tacet and on Linux; report in build/report/"
	@echo "                                 (ARCH=ppc64: on POWER, in build/report-ppc64/; so does bench)"
	@echo "make run APP=prog ARGS='...'     one program on a Tacet node (RUN_OPTIONS: see tools/run --help)"
	@echo "         ENV='A=1 B=2' STDIN=file FILES=folder   environment, input, files in / (docs/porting.md)"
	@echo "         NET=user NIC=e1000 FORWARD=8080:80   a network card (default: none), forwarded ports"
	@echo "         MOUNT=dir or 'dir:/place …'     folders that programs read and write (default place: /mnt)"
	@echo "make klog                        flight log of the last make run APP=… (tools/lab klog -h)"
	@echo "make test                        all tests (test-build: only compiles what they need)"
	@echo "make test-long                   tests that take hours: fuzzing, matrices, silence (LONG_OPTIONS)"
	@echo "make report                      one HTML page with results of run and bench (docs/lab/README.md)"
	@echo "make bench                       noise and costs compared with Linux, one silent hour; ten minutes"
	@echo "make iso [APP=prog ARGS='...']   build/tacet.iso for BIOS and UEFI machines"
	@echo "         FILES='a b' TIMEOUT=5   with a menu of programs; PORT=com2 SPEED=57600: serial console"
	@echo "make pxe [APP=prog ARGS='...']   build/pxe: nodes boot from it over the network (docs/pxe.md)"
	@echo "         NODES=file OPTIONS='...' NETWORK=10.1.0.0/16 INTERFACE=eth1 SERVER=10.1.0.1 HTTP=yes"
	@echo "make cluster NODES=4 RATE=10     nodes and their conductor in QEMU, and a shell (docs/cluster.md)"
	@echo "         LINUX=2                 further nodes with Linux, which run jobs (docs/jobs.md)"
	@echo "         APP=prog ARGS='...'     the nodes run it; CLUSTER_OPTIONS: see tools/cluster --help"
	@echo "make beats                       FTQ on four nodes under heartbeats; build/beats.png"
	@echo "make clock-offsets               differences of the nodes' clocks; build/clock-offsets.png"
	@echo "make lockstep [APP=prog ...]     NODES nodes on one virtual clock; without APP, FTQ under beats"
	@echo "make gdb [APP=prog ARGS='...']   gdb on a node in QEMU, stopped before its first instruction"
	@echo "make kernel | apps               only build: build/$(ARCH)/tacet.elf, build/$(ARCH)/apps/"
	@echo "make kit                         build/tacet-noise-kit.tar.xz: measures your own Linux nodes"
	@echo "make mpi                         the MPI library and tacet-mpirun, its launcher (docs/mpi.md)"
	@echo "make mpi-trace-others            the tracer of programs of MPICH and Open MPI (docs/mpi.md)"
	@echo "make mpich                       MPICH from Debian's source, static, for nodes (docs/mpi.md)"
	@echo "make service                     build/service/: the conductor of docs/nettick.md, for this Linux"
	@echo "make visits                      build/visits.so: costs of visits to the kernel (docs/nettick.md)"
	@echo "make caches                      build/caches.so: cache models for QEMU (docs/lab/reproduce.md)"
	@echo "make sim                         build/simulator/sim, the LogGOPS simulator (docs/lab/loggops.md)"
	@echo "make host-test | fuzz            tests of pure C on this machine; fuzzers (FUZZ_SECONDS=5 each)"
	@echo "make fuzz-calls MINUTES=60       random system calls by one rank; another one watches"
	@echo "make fuzz-collide MINUTES=60     threads that collide on few objects (COLLIDE_OPTIONS)"
	@echo "make abi                         docs/abi.md from kernel/syscall/syscalls.def"
	@echo "make docs                        update the tables of docs/costs.md and docs/lab/reproduce.md"
	@echo "make pictures                    draw docs/pictures/ from the sources (docs/README.md)"
	@echo "make compile_commands.json       make it for clangd and clang-tidy"
	@echo "make format | clean              clang-format on all C; remove build/"
	@echo "Variables: V=1 shows commands, CI=1 turns warnings into errors, TACET_CACHE names the download"
	@echo "           cache, LOCKCHECK=1 builds a kernel that checks itself: locks, lists, freed memory."

abi: docs/abi.md
docs/abi.md: kernel/syscall/syscalls.def tools/abi.py
	$(Q)$(PYTHON) tools/abi.py kernel/syscall/syscalls.def > $@.part || { rm -f $@.part; exit 1; }
	$(Q)mv $@.part $@

# Updates the tables of docs/costs.md and docs/lab/reproduce.md; eight minutes. EXPERIMENTS="NAME..." or all
# chooses those of reproduce.md; by default the measured ones, which a change of the kernel can move.
.PHONY: docs
docs: kernel apps qemu10 sim caches build/linux/version
	$(Q)$(PYTHON) tests/documents/refresh_costs.py
	$(Q)$(PYTHON) tests/documents/refresh_reproduce.py $(EXPERIMENTS)

# The drawings of README.md and docs/. FTQ's uses the data in docs/pictures/; MEASURED=build/report first
# replaces them by the results of the last `make run`.
.PHONY: pictures
pictures:
	@$(PYTHON) -m tools.drawings $(if $(MEASURED),--measured $(MEASURED))

compile_commands.json:
	$(Q)$(MAKE) --no-print-directory -nB V=1 kernel | $(PYTHON) tools/compile_commands.py > $@.part
	$(Q)mv $@.part $@

# Does not use git, so that it works in a tree from an archive, too.
format:
	$(Q)find $(sort $(wildcard */)) -path 'build/*' -prune -o -name '*.[ch]' -print0 | \
		xargs -0 clang-format-14 -i

clean:
	rm -rf build compile_commands.json
