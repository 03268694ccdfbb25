# SPDX-License-Identifier: BSD-2-Clause
#
# host.mk: tests of pure C logic on the build machine, with sanitizers, and the fuzzers of every parser of
# outside bytes.
#
# Included by the top-level Makefile, or alone from the root of the tree: make -f tests/host/host.mk host-test
# A new C test: its name in HOST_TESTS and its sources in NAME_sources (the test is tests/host/test_NAME.c).
# A test whose sources stand on physical memory, privileged instructions or each CPU's variables is in
# ARENA_TESTS instead: the headers in tests/host/stub then come before the architecture's of the same name.
# One of a source of arch/ppc64 that is pure C is in PPC64_TESTS (and PPC64_FUZZERS): that architecture's
# headers come first then.
# Tests and fuzzers share their objects: a source is compiled once, by clang, with what libFuzzer needs. Where
# there is no clang, gcc compiles the tests; fuzzing needs clang with its runtime (Debian: clang,
# libclang-rt-14-dev or the one of your version).
# A new fuzzer: its name in FUZZERS and its sources in NAME_fuzz_sources (tests/fuzz/fuzz_NAME.c).

HOST_CC       ?= $(if $(shell command -v clang),clang,gcc)
FUZZ_SECONDS  ?= 5
# The time limit of each test's program, not counting the time in which others have the CPUs.
HOST_SECONDS  ?= 300
HOST_PYTHON   ?= /usr/bin/python3
HOST_BUILD    := build/host
FUZZ_BUILD    := build/fuzz

# A check may hold a text: CHECK(!"no such state").
HOST_WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wno-string-conversion -Werror
HOST_INCLUDES := -iquote kernel -iquote arch/x86_64/include -iquote tests/host -I libc/include \
                 -iquote apps/lib -iquote apps/balance -iquote . -iquote tools/caches
HOST_FUZZABLE := $(if $(findstring clang,$(HOST_CC)),-fsanitize=fuzzer-no-link)
HOST_CFLAGS   := -std=gnu11 -g -O1 $(HOST_WARNINGS) $(HOST_INCLUDES) \
                 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# What some objects need besides. Not a part of HOST_CFLAGS, so that HOST_FLAGS is the same for all.
HOST_MORE     :=
HOST_FLAGS    := $(HOST_BUILD).flags
$(HOST_FLAGS): FLAGS = $(HOST_CC) $(HOST_CFLAGS) $(HOST_FUZZABLE)

HOST_TESTS := string format multiboot2 pvh command_line address_option dhcp_option memplan elf_image cpio \
              tree watch file_lock mount acpi timer_queue vdso symbols avl screen beat_frame answer_frame \
              page_frame global_clock \
              registry lease_table welcomes commands json launch_request launch_writer pmi \
              checksum ninep ninep_mount ninep_diod launch_cpus key seal key_frame
PPC64_TESTS := device_tree
ARENA_TESTS := cpu_mask spinlock page_pool vm user_map shared_memory shared_view uart machine_check power \
               e1000 nettick beat_command log_page clock cpu_timers

string_sources :=
screen_sources := drivers/screen/screen.c kernel/lib/format.c
format_sources := kernel/lib/format.c
multiboot2_sources := arch/x86_64/boot/multiboot2.c kernel/lib/boot_info.c kernel/lib/format.c
pvh_sources := arch/x86_64/boot/pvh.c kernel/lib/boot_info.c kernel/lib/format.c
command_line_sources := kernel/lib/command_line.c kernel/lib/format.c
address_option_sources := kernel/net/address_option.c kernel/lib/format.c
dhcp_option_sources := kernel/net/dhcp_option.c $(address_option_sources)
memplan_sources := kernel/mm/memplan.c kernel/lib/format.c
elf_image_sources := kernel/lib/elf_image.c kernel/lib/format.c
cpio_sources := kernel/lib/cpio.c kernel/lib/format.c
tree_sources := $(addprefix kernel/fs/tree/,tree.c lookup.c directory.c slab.c change.c watch.c) \
                $(addprefix kernel/lib/,avl.c cpio.c format.c)
file_lock_sources := kernel/fs/file_lock.c $(tree_sources)
watch_sources := $(tree_sources)
mount_sources := kernel/fs/mount.c $(tree_sources)
ninep_sources := $(patsubst %,kernel/ninep/%.c,codec session path file mount names) kernel/lib/avl.c \
                 kernel/lib/format.c \
                 kernel/net/size.c tests/host/stop.c
ninep_mount_sources := $(ninep_sources)
ninep_diod_sources := $(ninep_sources)
ninep_link := -pthread
ninep_mount_link := -pthread
ninep_diod_link := -pthread
uart_sources := drivers/uart/uart16550.c
e1000_sources := drivers/e1000/e1000.c drivers/e1000/ring.c
acpi_sources := arch/x86_64/acpi.c kernel/lib/format.c
vdso_sources :=
symbols_sources := kernel/debug/symbols.c
timer_queue_sources := kernel/time/timer_queue.c
cpu_mask_sources :=
cpu_mask_link := -pthread
spinlock_sources :=
spinlock_link := -pthread
ARENA_TESTS += crosscall
crosscall_sources :=
crosscall_link := -pthread
avl_sources := kernel/lib/avl.c
checksum_sources := kernel/lib/checksum.c
beat_frame_sources := kernel/beat/beat_frame.c kernel/lib/siphash.c
answer_frame_sources := $(addprefix kernel/beat/,answer_frame.c beat_frame.c) kernel/lib/siphash.c
page_frame_sources := $(addprefix kernel/beat/,page_frame.c beat_frame.c answer_frame.c) kernel/lib/siphash.c
log_page_sources := $(addprefix kernel/beat/,log_page.c page_frame.c beat_frame.c) kernel/debug/klog.c \
                    kernel/lib/siphash.c kernel/lib/format.c kernel/lib/command_line.c
launch_request_sources := kernel/launch/launch_request.c $(addprefix kernel/lib/,format.c key.c siphash.c)
pmi_sources := service/lib/pmi.c service/lib/text.c kernel/lib/format.c
launch_writer_sources := service/tacetrun/launch_writer.c $(launch_request_sources)
key_sources := kernel/lib/key.c kernel/lib/siphash.c
seal_sources := kernel/lib/seal.c
key_frame_sources := $(addprefix kernel/beat/,key_frame.c answer_frame.c beat_frame.c) \
                     $(addprefix kernel/lib/,seal.c siphash.c)
launch_cpus_sources := service/lib/launch_cpus.c
registry_sources := service/conductor/registry.c
lease_table_sources := $(addprefix service/conductor/,lease_table.c lease_file.c registry.c) \
                       service/lib/text.c kernel/lib/format.c kernel/lib/siphash.c
welcomes_sources := $(addprefix service/conductor/,welcomes.c registry.c) kernel/beat/welcome.c \
                    $(beat_frame_sources)
commands_sources := service/conductor/commands.c
json_sources := service/lib/json.c
global_clock_sources := kernel/beat/global_clock.c
cpu_timers_sources :=
clock_sources := kernel/time/clock.c kernel/beat/global_clock.c
nettick_sources := $(addprefix kernel/beat/,nettick.c node_keys.c key_frame.c command.c welcome.c \
                     beat_frame.c answer_frame.c \
                     global_clock.c) \
                   $(addprefix kernel/time/,timer.c timer_queue.c clock_event.c) \
                   $(addprefix kernel/lib/,siphash.c key.c format.c command_line.c seal.c)
beat_command_sources := kernel/beat/command.c kernel/beat/welcome.c kernel/lib/siphash.c
page_pool_sources := kernel/mm/page_pool.c kernel/lib/avl.c
vm_sources := $(addprefix kernel/mm/,vm.c vm_area.c vm_backing.c vm_remap.c page_pool.c) kernel/lib/avl.c
shared_memory_sources := kernel/mm/shared_memory.c kernel/mm/user_bytes.c $(page_pool_sources)
# The test fills what is allocated with junk.
shared_memory_link := -Wl,--wrap=page_pool_allocate -Wl,--wrap=page_pool_allocate_partial
machine_check_sources := arch/x86_64/machine_check.c
power_sources := arch/x86_64/power.c
device_tree_sources := arch/ppc64/boot/device_tree.c kernel/lib/boot_info.c kernel/lib/format.c
user_map_link := -Wl,--wrap=page_pool_free
user_map_sources := arch/common/user_map.c arch/common/page_table.c arch/x86_64/space.c $(vm_sources)
shared_view_sources := kernel/mm/shared_view.c $(filter-out $(page_pool_sources),$(shared_memory_sources)) \
                       $(user_map_sources)

# The MPI library: its header is partly made, and it is compiled with fewer warnings.
MPI_LITE := apps/mpi-lite/src

HOST_TESTS += mpi_burst

mpi_burst_sources := $(MPI_LITE)/message/burst.c

# The benchmarks of apps/.
HOST_TESTS += apps_lib fwq_analysis selfish_analysis phase_distribution caches balance balance_library

apps_lib_sources := apps/lib/order.c apps/lib/parse.c apps/lib/together.c
fwq_analysis_sources := apps/fwq/analysis.c apps/lib/order.c
selfish_analysis_sources := apps/selfish/analysis.c apps/lib/order.c
phase_distribution_sources := apps/phase/distribution.c apps/lib/order.c
balance_sources := apps/balance/heuristic.c apps/balance/model.c
balance_library_sources := apps/balance/heuristic.c
caches_sources := tools/caches/cache.c

FUZZERS := multiboot2 pvh command_line elf symbols tree acpi beat_frame ninep frames launch_request pmi \
           leases admissions greeting mpi_records mpi_shared mpi_windows mpi_launcher
PPC64_FUZZERS := device_tree
FUZZERS += $(PPC64_FUZZERS)

multiboot2_fuzz_sources := $(multiboot2_sources) drivers/screen/screen.c
pvh_fuzz_sources := $(pvh_sources)
command_line_fuzz_sources := $(command_line_sources)
elf_fuzz_sources := $(elf_image_sources)
symbols_fuzz_sources := $(symbols_sources)
tree_fuzz_sources := $(tree_sources)
acpi_fuzz_sources := $(acpi_sources)
beat_frame_fuzz_sources := $(sort $(page_frame_sources) $(key_frame_sources))
device_tree_fuzz_sources := $(device_tree_sources)
pmi_fuzz_sources := $(pmi_sources)
leases_fuzz_sources := $(lease_table_sources)
admissions_fuzz_sources := $(addprefix service/conductor/,admission_file.c state_file.c) \
                           $(addprefix service/lib/,key_file.c text.c say.c) \
                           $(addprefix kernel/beat/,answer_frame.c beat_frame.c) \
                           kernel/lib/siphash.c kernel/lib/format.c
launch_request_fuzz_sources := $(launch_writer_sources) service/tacetrun/stream_line.c service/lib/text.c
greeting_fuzz_sources := service/tacetrun/greeting.c service/lib/ticket.c service/lib/text.c \
                         $(launch_request_sources)

# The network, with lwIP, which is not ours: its warnings are not, either.
ifndef LWIP
include ports/lwip/lwip.mk
endif
frames_net := address address_option binding byte_queue connection connection_loss connection_timer \
              datagram_input dhcp_option icmp_error interface loopback protocol_timers size stream \
              stream_visitor time_wait
frames_fuzz_sources := $(frames_net:%=kernel/net/%.c) $(command_line_sources) kernel/lib/avl.c \
                       kernel/lib/checksum.c tests/host/stop.c
ninep_fuzz_sources := $(ninep_sources)
mpi_shared_fuzz_sources := $(addprefix $(MPI_LITE)/,$(addprefix message/,message.c burst.c match.c \
                           peer_copy.c request.c generalized.c) base/status.c)
mpi_records_fuzz_sources := $(mpi_shared_fuzz_sources) $(MPI_LITE)/transport/tcp_begin.c
mpi_windows_fuzz_sources := $(addprefix $(MPI_LITE)/,window/rma_target.c $(addprefix type/,type_wire.c \
                            type_layout.c type_table.c op.c op_kernels.c) base/object.c)
mpi_launcher_fuzz_sources := $(addprefix $(MPI_LITE)/launch/,pmi_wire.c pmi1.c pmi2.c nodes.c)

host_folder = $(HOST_BUILD)/$(if $(filter $(1),$(ARENA_TESTS)),arena/)$(if \
              $(filter $(1),$(PPC64_TESTS)),ppc64/)
fuzz_folder = $(HOST_BUILD)/$(if $(filter $(1),$(PPC64_FUZZERS)),ppc64/)
host_objects = $(patsubst %.c,$(host_folder)%.o,tests/host/test_$(1).c $($(1)_sources))
fuzz_objects = $(patsubst %.c,$(fuzz_folder)%.o,tests/fuzz/fuzz_$(1).c $($(1)_fuzz_sources))

# The simulator's are C++: simulator/simulator.mk builds them.
C_TESTS := $(HOST_TESTS) $(ARENA_TESTS) $(PPC64_TESTS)
HOST_BINARIES := $(patsubst %,$(HOST_BUILD)/test_%,$(C_TESTS)) $(HOST_BUILD)/test_sim
FUZZ_BINARIES := $(FUZZERS:%=$(FUZZ_BUILD)/fuzz_%) $(FUZZ_BUILD)/fuzz_sim

ifndef SIM
include simulator/simulator.mk
endif

.PHONY: host-test fuzz fuzz-build

# Every binary runs, also after one has failed; the one that takes longest begins first, in parts.
HOST_LONGEST := $(HOST_BUILD)/test_sim
HOST_PARTS   := 1/4 2/4 3/4 4/4
host-test: $(HOST_BINARIES)
	@$(HOST_PYTHON) tests/host/run.py --seconds $(HOST_SECONDS) $(HOST_PARTS:%=$(HOST_LONGEST):%) \
		$(filter-out $(HOST_LONGEST),$(HOST_BINARIES))

define host_binary
$(HOST_BUILD)/test_$(1): $(call host_objects,$(1)) tests/host/host.mk
	$$(HOST_CC) $$(HOST_CFLAGS) $$(HOST_FUZZABLE) $($(1)_link) -o $$@ $$(filter %.o,$$^) -lm
endef
$(foreach test,$(C_TESTS),$(eval $(call host_binary,$(test))))

# No fuzzer has these; with what libFuzzer needs, the tests of memory would take three times as long.
$(HOST_BUILD)/arena/%.o: %.c $(HOST_FLAGS)
	@mkdir -p $(@D)
	$(HOST_CC) -iquote tests/host/stub -iquote kernel $(HOST_CFLAGS) $(HOST_MORE) \
		-MMD -MP -c -o $@ $<

$(HOST_BUILD)/ppc64/%.o: %.c $(HOST_FLAGS)
	@mkdir -p $(@D)
	$(HOST_CC) -iquote tests/host/stub -iquote arch/ppc64/include $(HOST_CFLAGS) $(HOST_FUZZABLE) \
		$(HOST_MORE) -MMD -MP -c -o $@ $<

# Sets of CPUs are Linux's alone.
$(HOST_BUILD)/test_launch_cpus: HOST_MORE := -D_GNU_SOURCE

$(HOST_BUILD)/%.o: %.c $(HOST_FLAGS)
	@mkdir -p $(@D)
	$(HOST_CC) $(HOST_CFLAGS) $(HOST_FUZZABLE) $(HOST_MORE) \
		-MMD -MP -c -o $@ $<

ifndef MPI_BUILD
include apps/mpi-lite/mpi-lite.mk
endif
mpi_objects := $(filter $(HOST_BUILD)/$(MPI_LITE)/% $(HOST_BUILD)/tests/fuzz/fuzz_mpi_%,\
               $(sort $(call host_objects,mpi_burst) \
               $(foreach fuzzer,records shared windows launcher,$(call fuzz_objects,mpi_$(fuzzer)))))
$(mpi_objects): HOST_MORE := $(MPI_INCLUDES) -Wno-sign-conversion
$(mpi_objects): | $(MPI_BUILD)/include/mpi_functions.h $(MPI_BUILD)/made/base/frames.h

define fuzz_binary
$(FUZZ_BUILD)/fuzz_$(1): $(call fuzz_objects,$(1)) tests/host/host.mk
	@mkdir -p $$(@D)
	$$(HOST_CC) $$(HOST_CFLAGS) -fsanitize=fuzzer -o $$@ $$(filter %.o,$$^)
endef
$(foreach fuzzer,$(FUZZERS),$(eval $(call fuzz_binary,$(fuzzer))))

ifndef BEARSSL
include ports/bearssl/bearssl.mk
endif
BEARSSL_HOST := $(BEARSSL_C:%.c=$(HOST_BUILD)/bearssl/%.o)
$(addprefix $(HOST_BUILD)/test_,seal key_frame nettick) $(FUZZ_BUILD)/fuzz_beat_frame: $(BEARSSL_HOST)
host_seal := $(addsuffix /kernel/lib/seal.o,$(HOST_BUILD) $(HOST_BUILD)/arena)
$(host_seal): HOST_MORE := -isystem $(BEARSSL)/inc
$(host_seal): $(BEARSSL)/stamp

$(HOST_BUILD)/bearssl/%.o: $(BEARSSL)/stamp $(HOST_FLAGS)
	@mkdir -p $(@D)
	$(HOST_CC) $(HOST_CFLAGS) $(HOST_FUZZABLE) $(BEARSSL_CFLAGS) -c -o $@ $(BEARSSL)/src/$*.c

# What includes lwIP's headers. The kernel and the MPI library are compiled without this warning.
$(FUZZ_BUILD)/fuzz_frames: $(LWIP_C:%.c=$(HOST_BUILD)/lwip/%.o)
frames_objects := $(HOST_BUILD)/tests/fuzz/fuzz_frames.o \
                  $(patsubst %,$(HOST_BUILD)/kernel/net/%.o,\
                  $(filter-out address_option dhcp_option,$(frames_net)))
$(frames_objects): HOST_MORE := $(LWIP_INCLUDES) -Wno-sign-conversion
$(frames_objects): $(LWIP)/stamp

$(HOST_BUILD)/lwip/%.o: $(LWIP)/stamp $(HOST_FLAGS) $(LWIP_HEADERS)
	@mkdir -p $(@D)
	$(HOST_CC) $(HOST_CFLAGS) $(HOST_FUZZABLE) $(LWIP_INCLUDES) $(call lwip_renamed,$*) -w -c -o $@ \
		$(LWIP)/src/$*.c

fuzz-build: $(FUZZ_BINARIES)

fuzz: fuzz-build
	@$(HOST_PYTHON) tests/fuzz/run.py --seconds $(FUZZ_SECONDS) --build $(FUZZ_BUILD) $(FUZZERS) sim

-include $(sort $(foreach test,$(C_TESTS),$(patsubst %.o,%.d,$(call host_objects,$(test)))))
-include $(sort $(foreach fuzzer,$(FUZZERS),$(patsubst %.o,%.d,$(call fuzz_objects,$(fuzzer)))))
