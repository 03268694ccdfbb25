# SPDX-License-Identifier: BSD-2-Clause
#
# Makefile: every entry point. `make help` lists them.
#
# The kernel is compiled by the host's GCC without libraries and without vector registers; programs by
# libc/tacet-cc against musl, which ports/ fetches. All outputs go to build/. It builds with as
# many jobs as there are CPUs; -j1 takes one. What was made with other flags, or from files that are gone, is
# made again (tools/flags.mk).

ARCH   ?= x86_64
# LOCKCHECK=1 builds a kernel that checks itself: what is done with locks held (kernel/smp/lock_work.h), lists
# and trees that change, memory that was freed (tests/lockcheck/).
BUILD  := build/$(ARCH)$(if $(LOCKCHECK),-lockcheck)
PYTHON ?= /usr/bin/python3
LAB    := PYTHON=$(PYTHON) tools/lab
V      ?=
Q      := $(if $(V),,@)

.DEFAULT_GOAL := kernel
.DELETE_ON_ERROR:

ifeq ($(wildcard arch/$(ARCH)/link.ld),)
$(error ARCH=$(ARCH): there is $(patsubst %/link.ld,%,$(wildcard arch/*/link.ld)) only)
endif
ifneq ($(findstring :,$(CURDIR)),)
$(error $(CURDIR): a colon in the path does not work, as in PYTHONPATH it begins another folder)
endif
ifneq ($(shell [ "$(MAKECMDGOALS)" = help ] || \
	{ mkdir -p build && [ -w build/. ] && : >>build/deps.mk; } 2>/dev/null || echo no),)
$(error build/ cannot be written here: copy the tree to a folder of yours, or make build a link to one)
endif

# Jobs side by side, but not goals that follow each other as they are typed: `make clean kernel`.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
IN_ORDER := clean run report bench klog iso pxe cluster beats clock-offsets lockstep gdb test \
            test-long
ifneq ($(and $(word 2,$(MAKECMDGOALS)),$(filter $(IN_ORDER),$(MAKECMDGOALS))),)
.NOTPARALLEL:
endif

# A text as one word of the shell's.
quoted = '$(subst ','\'',$(1))'

include tools/flags.mk

# What `make run APP=…` and `make cluster` take.
APP   ?=
# QEMU's network of a run: user or bridge.
NET   :=
# Folders of this machine for a node's programs.
MOUNT :=
# The flight log of the last `make run APP=…`. Always kept: the log is written anyway, and sending it, after
# the program has ended, takes at most some 20 ms a CPU; what has gone wrong once need not be provoked again.
KLOG  ?= build/klog.bin
# What runs and benchmarks leave.
REPORT := build/report$(if $(filter-out x86_64,$(ARCH)),-$(ARCH))

include arch/$(ARCH)/arch.mk

# ---- Debian's packages ----

# Each goal's groups of ports/deps.sh: they are installed before anything is made, so that every goal works as
# the first command on a bare machine. A goal without a line needs `build`. What only shows or removes
# something needs nothing. `make run` without APP installs what runs nodes while it compiles
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

# A file's: by its folder.
needs_of_file = build $(if $(filter build/fuzz/% build/simulator/% build/host/test_sim,$(1)),sim) \
	$(if $(filter build/fuzz/%,$(1)),fuzz) $(if $(filter $(BUILD)/tests/cplusplus%,$(1)),sim)
needs_of = $(if $(filter undefined,$(origin needs_$(1))),$(call needs_of_file,$(1)),$(needs_$(1)))
NEEDS := $(sort $(foreach goal,$(or $(MAKECMDGOALS),$(.DEFAULT_GOAL)),$(call needs_of,$(goal))))
# Another architecture has groups of its own, each next to one of this machine's.
with_arch = $(sort $(1) $(foreach group,$(1),$(filter $(group)-$(ARCH),$(ARCH_DEPS))))
NEEDS := $(call with_arch,$(NEEDS))
# What a goal installs itself: named at once if that is impossible.
LATER := $(call with_arch,$(foreach goal,$(MAKECMDGOALS),$(later_$(goal))))

# make itself remakes a file that it includes before it looks at any goal; this one never changes. A call that
# only says what it would do (-n, -q, -t) installs nothing; nor do the calls of make's own children.
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
include ports/lwip/lwip.mk
LWIP_OBJECTS := $(LWIP_C:%.c=$(BUILD)/lwip/%.o)
# A kernel that checks itself has guards around the network's memory.
CHECK_C := $(if $(LOCKCHECK),tests/lockcheck/network_guards.c)
CHECK_LDFLAGS := $(if $(LOCKCHECK),$(addprefix --wrap=network_,allocate allocate_array free))
KERNEL_OBJECTS := $(patsubst %.c,$(BUILD)/kernel/%.o,$(KERNEL_C) $(CHECK_C)) \
                  $(KERNEL_ASM:%=$(BUILD)/kernel/%.o) $(FONT_OBJECT) $(LWIP_OBJECTS)

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion $(if $(CI),-Werror)
# For size: what the kernel leaves in the caches is taken from the program.
KERNEL_INCLUDES := -iquote kernel -iquote arch/$(ARCH)/include -iquote libc/include -iquote .
KERNEL_CFLAGS := -std=gnu11 -Oz -g -ffreestanding -fno-pic -fno-pie $(ARCH_CFLAGS) -fno-stack-protector \
	-fno-asynchronous-unwind-tables -fno-strict-aliasing $(WARNINGS) $(KERNEL_INCLUDES) \
	-ffunction-sections -fdata-sections $(if $(LOCKCHECK),-DLOCKCHECK)
# No path of this machine gets into the kernel's code.
PREFIX_MAP := $(call quoted,-ffile-prefix-map=$(CURDIR)/=)
KERNEL_FLAGS := $(BUILD)/kernel.flags
$(KERNEL_FLAGS): FLAGS = $(KERNEL_CC) $(KERNEL_CFLAGS) $(LWIP_INCLUDES) $(VDSO_CFLAGS)
$(BUILD)/kernel.list.flags: FLAGS = $(KERNEL_OBJECTS)

KERNEL_LDFLAGS := -nostdlib -static --gc-sections -z noexecstack -z max-page-size=$(ARCH_PAGE_BYTES) \
	--no-warn-rwx-segments --build-id=none $(CHECK_LDFLAGS) -T arch/$(ARCH)/link.ld

.PHONY: kernel
kernel: $(KERNEL)

$(KERNEL): $(KERNEL_OBJECTS) arch/$(ARCH)/link.ld $(BUILD)/kernel.list.flags
	@echo "  LD      $@"
	$(Q)$(KERNEL_LD) $(KERNEL_LDFLAGS) -o $@ $(KERNEL_OBJECTS)
	$(Q)$(KERNEL_OBJCOPY) --strip-all $@ $(BUILD)/tacet.stripped.elf

# The same kernel with faults that programs can order, for tests.
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

$(BUILD)/kernel/%.asm.o: %.asm $(BUILD)/offsets.inc $(wildcard arch/$(ARCH)/*.inc)
	@mkdir -p $(@D)
	@echo "  NASM    $<"
	$(Q)$(NASM) -f elf64 -g -F dwarf -I $(BUILD)/ -I arch/$(ARCH)/ -o $@ $<

$(BUILD)/kernel/%.S.o: %.S $(BUILD)/offsets.inc $(wildcard arch/$(ARCH)/include/arch/*.h)
	@mkdir -p $(@D)
	@echo "  AS      $<"
	$(Q)$(KERNEL_CC) $(ARCH_ASFLAGS) -g $(PREFIX_MAP) -I $(BUILD) -iquote arch/$(ARCH)/include -c -o $@ $<

# The letters of the framebuffer console, which are not ours.
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

# Constants of C for the assembler: lines "->NAME $VALUE" in the compiler's output.
$(BUILD)/offsets.inc: arch/$(ARCH)/offsets.c $(KERNEL_FLAGS)
	@mkdir -p $(@D)
	$(Q)$(KERNEL_CC) $(KERNEL_CFLAGS) -MMD -MP -MF $(BUILD)/offsets.d -MT $@ -S -o $(BUILD)/offsets.s $<
	$(Q)sed -n 's/^->\([A-Z0-9_]*\) \$$*\(.*\)/$(ARCH_DEFINE) \1 \2/p' $(BUILD)/offsets.s > $@

# What a compiler has written is not to be made.
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

# What of the neighbours this architecture has: the kernel of `stock`, and besides it busybox as a program of
# the architecture's own.
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

# Without it the comparison says that it is absent.
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

# One that counts the instructions of each visit to the kernel (tools/visits).
.PHONY: visits
visits: build/visits.so
build/visits.so: tools/visits/plugin.c tools/caches/qemu_plugin.h build/caches.flags
	@echo "  PLUGIN  $@"
	$(Q)$(CC) $(CACHES_CFLAGS) -o $@ $(filter %.c,$^)

# ---- Running ----

# What `make run APP=…` takes besides. ARGS and ENV are words as a shell splits them:
# ARGS='echo "two words"' ENV='A=1 B="2 3"'.
ARGS  ?=
ENV   :=
STDIN :=
FILES :=
# NET=user: QEMU's own network, with the card NIC and the ports of this host that lead to the node's, words
# such as 8080:80. NET=bridge: in tools/with-network. Without NET the node has no card.
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

# One page on what `make run` and `make bench` have left. REPORT_OPTIONS: `tools/lab report -h`.
report:
	@ls $(REPORT)/*-tacet.dat >/dev/null 2>&1 || \
		{ echo "make report: nothing is measured yet; make run or make bench does" >&2; exit 1; }
	@$(LAB) report --runs $(REPORT) -o $(REPORT)/report.html $(REPORT_OPTIONS)

# Of what `make bench` measures, every architecture has the noise, the costs and the silent hour; networks,
# several CPUs' wake-ups, the tuned Linux and whatever runs on this host are x86_64's.
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
		foreign-network $(TEST_BUILD)/plain_card.musl $(TEST_BUILD)/file_rates.musl mpi service
	@$(LAB) compare --out build/report --samples 10000
	@$(LAB) bench --out build/report
	@$(LAB) bench-programs --out build/report
	@$(LAB) bench-cores --out build/report
	@$(LAB) bench-network --out build/report
	@$(LAB) bench-mpi --out build/report
	@$(LAB) bench-mpi-nodes --out build/report
	@$(LAB) compare-phases --out build/report
	@$(LAB) silence --out build/report --shift 4
	@$(LAB) bench-simulator --out build/report
	@$(LAB) bench-lockstep --out build/report

# What iso and gdb start without APP: FTQ for a second.
DEFAULT_APP  := $(BUILD)/apps/ftq
DEFAULT_ARGS := -n 1000 -o /tmp/ftq
PROGRAM_WORDS = $(call quoted,$(or $(APP),$(DEFAULT_APP)))
ARGUMENT_WORDS = $(or $(ARGS),$(if $(APP),,$(DEFAULT_ARGS)))

# An ISO image for BIOS and UEFI machines: the kernel, GRUB, and one program, or those that FILES names
# (words as a shell splits them), which get the same ARGS: a menu, whose first entry starts after TIMEOUT
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
# program. OPTIONS: kernel options, words as a shell splits them. NODES names a file of what single nodes have
# besides, NETWORK and INTERFACE the service node's network, SERVER its address there; HTTP=yes: nodes get the
# large files by HTTP where they can; PROXY=yes: another server gives the addresses. PORT and SPEED as above.
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

# A cluster in QEMU (docs/cluster.md): NODES nodes, LINUX further ones with Linux, RATE beats a second. They
# run APP, and the status is the worst of theirs; without APP there is a shell. CLUSTER_OPTIONS: see
# tools/cluster --help.
LINUX           :=
RATE            :=
CLUSTER_OPTIONS :=
.PHONY: cluster beats
cluster:
	@$(MAKE) --no-print-directory -s $(KERNEL) service $(if $(filter-out 0,$(LINUX)),$(LINUX_KERNEL))
	@tools/cluster --nodes $(call quoted,$(or $(NODES),4)) $(if $(LINUX),--linux $(call quoted,$(LINUX))) \
		$(if $(RATE),--rate $(call quoted,$(RATE))) \
		$(if $(APP),--app $(call quoted,$(APP)) --args=$(call quoted,$(ARGS)) --wait) $(CLUSTER_OPTIONS)

# FTQ on four nodes under beats, beside Linux at its tick [Betti09 Fig. 3]. BEATS_OPTIONS: see
# `tools/lab beats -h`.
BEATS_OPTIONS :=
beats:
	@$(MAKE) --no-print-directory -s $(KERNEL) $(APPS) $(LINUX_KERNEL) service qemu10
	@$(LAB) beats --out build/report $(BEATS_OPTIONS)

# How far the clocks of four nodes are apart under beats, in a cluster and on one virtual clock.
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
include tests/host/host.mk
include tests/programs/programs.mk
include tests/foreign/foreign.mk
include tests/conformance/conformance.mk

# System calls at random; the test suite does so for seconds, a person for an hour. CALL_FUZZ_OPTIONS: see
# tests/fuzz/calls.py --help.
MINUTES ?= 1
.PHONY: fuzz-calls
fuzz-calls: $(KERNEL) test-programs
	@$(PYTHON) tests/fuzz/calls.py --minutes $(MINUTES) $(CALL_FUZZ_OPTIONS)

# Threads that collide: see tests/fuzz/collide.py --help. An hour wants the kernel that checks itself:
# COLLIDE_OPTIONS='--kernel build/x86_64-lockcheck/tacet.elf', which LOCKCHECK=1 makes.
.PHONY: fuzz-collide
fuzz-collide: $(KERNEL) $(TEST_BUILD)/collide.glibc
	@$(PYTHON) tests/fuzz/collide.py --arch $(ARCH) --minutes $(MINUTES) $(COLLIDE_OPTIONS)

# What the tests of `make test` need, of both architectures, and what only those of `make test-long` need.
# tests/making.py makes whatever is missing in these lists when a test needs it; build/test-built/ARCH names
# what is not to be looked at again.
TEST_GOALS := kernel apps test-programs
TEST_GOALS_x86_64 := mpi mpi-programs service lockstep-parts visits caches kit sim linux qemu10
TEST_GOALS_ppc64 := linux qemu10
# Files that tests ask for by name.
TEST_FILES := $(KERNEL) $(BUILD)/planted.elf $(APPS) $(TEST_PROGRAMS) $(CONFORM_SHORT) $(LINUX_KERNEL)
TEST_FILES_x86_64 := $(MPI_LITE_PROGRAMS) $(MPI_BUILD)/glibc/libmpi.a $(MPI_BUILD)/include/mpi_functions.h \
	$(SERVICE_PROGRAMS) $(SIM) $(SIM_TEST) build/caches.so build/visits.so $(MPI_BENCHES) $(LINUX_KERNEL_ppc64)
LONG_GOALS_x86_64 := mpich fuzz-build mpi-programs-of-others $(SQLITE) $(CURL) $(FOREIGN_KINDS:%=foreign-%) \
	$(MPI_LONG_PROGRAMS)
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

# What takes hours. LONG_OPTIONS: see tests/run.py --help.
test-long:
	@$(PYTHON) tests/run.py --long $(LONG_OPTIONS)

# ---- Development ----

.PHONY: help clean format abi compile_commands.json
help:
	@echo "make run                         FTQ on Tacet and on Linux, side by side; report in build/report/"
	@echo "                                 (ARCH=ppc64: on POWER, in build/report-ppc64/; so does bench)"
	@echo "make run APP=prog ARGS='...'     one program on a Tacet node (RUN_OPTIONS: see tools/run --help)"
	@echo "         ENV='A=1 B=2' STDIN=file FILES=folder   environment, input, files in / (docs/porting.md)"
	@echo "         NET=user NIC=e1000 FORWARD=8080:80   a network card (default: none), ports that lead to it"
	@echo "         MOUNT=dir or 'dir:/place …'     folders that programs read and write (default place: /mnt)"
	@echo "make klog                        flight log of the last make run APP=… (tools/lab klog -h)"
	@echo "make test                        all tests (test-build: only compiles what they need)"
	@echo "make test-long                   what takes hours: fuzzing, matrices, silence (LONG_OPTIONS)"
	@echo "make report                      one HTML page on what run and bench have left (docs/lab/README.md)"
	@echo "make bench                       noise and costs beside Linux; one silent hour; about ten minutes"
	@echo "make iso [APP=prog ARGS='...']   build/tacet.iso for BIOS and UEFI machines"
	@echo "         FILES='a b' TIMEOUT=5   with a menu of programs; PORT=com2 SPEED=57600: serial console"
	@echo "make pxe [APP=prog ARGS='...']   build/pxe, from which nodes boot over the network (docs/pxe.md)"
	@echo "         NODES=file OPTIONS='...' NETWORK=10.1.0.0/16 INTERFACE=eth1 SERVER=10.1.0.1 HTTP=yes"
	@echo "make cluster NODES=4 RATE=10     nodes and their conductor in QEMU, and a shell (docs/cluster.md)"
	@echo "         LINUX=2                 further nodes with Linux, which run jobs (docs/jobs.md)"
	@echo "         APP=prog ARGS='...'     the nodes run it; CLUSTER_OPTIONS: see tools/cluster --help"
	@echo "make beats                       FTQ on four nodes under heartbeats; build/beats.png"
	@echo "make clock-offsets               how far nodes' clocks are apart; build/clock-offsets.png"
	@echo "make lockstep [APP=prog ...]     NODES nodes on one virtual clock; without APP, FTQ under beats"
	@echo "make gdb [APP=prog ARGS='...']   QEMU stopped before the first instruction, gdb on the kernel"
	@echo "make kernel | apps               only build: build/$(ARCH)/tacet.elf, build/$(ARCH)/apps/"
	@echo "make kit                         build/tacet-noise-kit.tar.xz: measures your own Linux nodes"
	@echo "make mpi                         the MPI library and tacet-mpirun, its launcher (docs/mpi.md)"
	@echo "make mpich                       MPICH from Debian's source, static, for nodes (docs/mpi.md)"
	@echo "make service                     build/service/: the conductor of docs/nettick.md, for this Linux"
	@echo "make visits                      build/visits.so, costs of visits to the kernel (docs/nettick.md)"
	@echo "make caches                      build/caches.so, cache models for QEMU (docs/lab/reproduce.md)"
	@echo "make sim                         build/simulator/sim, the LogGOPS simulator (docs/lab/loggops.md)"
	@echo "make host-test | fuzz            tests of pure C on this machine; fuzzers (FUZZ_SECONDS=5 each)"
	@echo "make fuzz-calls MINUTES=60       system calls at random, one rank fuzzing, one watching"
	@echo "make fuzz-collide MINUTES=60     threads that collide on few objects (COLLIDE_OPTIONS)"
	@echo "make abi                         docs/abi.md from kernel/syscall/syscalls.def"
	@echo "make docs                        the tables of docs/costs.md and docs/lab/reproduce.md"
	@echo "make pictures                    docs/pictures/ from the sources (docs/README.md)"
	@echo "make compile_commands.json       for clangd and clang-tidy"
	@echo "make format | clean              clang-format on all C; remove build/"
	@echo "Variables: V=1 shows commands, CI=1 makes warnings errors, TACET_CACHE names the download cache,"
	@echo "           LOCKCHECK=1 with kernel builds one that checks itself: locks, lists, freed memory."

abi: docs/abi.md
docs/abi.md: kernel/syscall/syscalls.def tools/abi.py
	$(Q)$(PYTHON) tools/abi.py kernel/syscall/syscalls.def > $@.part || { rm -f $@.part; exit 1; }
	$(Q)mv $@.part $@

# The tables of docs/costs.md and docs/lab/reproduce.md; twelve minutes. EXPERIMENTS="NAME..." or all: those of
# reproduce.md that are run; by default the measured ones, which a change of the kernel can move.
.PHONY: docs
docs: kernel apps qemu10 sim caches build/linux/version
	$(Q)$(PYTHON) tests/documents/refresh_costs.py
	$(Q)$(PYTHON) tests/documents/refresh_reproduce.py $(EXPERIMENTS)

# The drawings of README.md and docs/. FTQ's is of the data kept in docs/pictures/; MEASURED=build/report
# first replaces these by what the last `make run` has left.
.PHONY: pictures
pictures:
	@$(PYTHON) -m tools.drawings $(if $(MEASURED),--measured $(MEASURED))

compile_commands.json:
	$(Q)$(MAKE) --no-print-directory -nB V=1 kernel | $(PYTHON) tools/compile_commands.py > $@.part
	$(Q)mv $@.part $@

# Without git too, as in a tree from an archive.
format:
	$(Q)find $(sort $(wildcard */)) -path 'build/*' -prune -o -name '*.[ch]' -print0 | \
		xargs -0 clang-format-14 -i

clean:
	rm -rf build compile_commands.json
