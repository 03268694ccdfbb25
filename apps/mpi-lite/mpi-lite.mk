# SPDX-License-Identifier: BSD-2-Clause
#
# mpi-lite.mk: the MPI library, once for each C library and architecture, and for the tests with sanitizers:
#
#   build/mpi-lite/x86_64/libmpi.a, build/mpi-lite/ppc64/libmpi.a   static programs against musl (tacet-mpicc)
#   build/mpi-lite/glibc/libmpi.a                                   this machine's programs
#   build/mpi-lite/asan/libmpi.a, build/mpi-lite/tsan/libmpi.a      the same, under sanitizers
#
# All objects are linked into two, in which only MPI's own names and the predefined objects are global, so
# that a program's names do not collide with the library's. The second object has Fortran's names: programs in
# C do not link it.

MPI_BUILD   := build/mpi-lite
MPI_SOURCES := apps/mpi-lite/src
MPI_C       := $(sort $(wildcard $(MPI_SOURCES)/*/*.c))
MPI_FORTRAN := $(patsubst $(MPI_SOURCES)/%.c,%,$(filter $(MPI_SOURCES)/fortran/fortran_%,$(MPI_C))) \
               fortran/fortran_wrappers
MPI_NAMES   := $(filter-out $(MPI_FORTRAN),$(MPI_C:$(MPI_SOURCES)/%.c=%)) init/missing fortran/predefined
MPI_MADE    := fortran/fortran_wrappers init/missing fortran/predefined
MPI_HEADERS := $(wildcard $(MPI_SOURCES)/*/*.h) apps/mpi-lite/include/mpi.h \
               libc/include/tacet.h $(MPI_BUILD)/include/mpi_functions.h $(MPI_BUILD)/made/base/frames.h
MPI_INCLUDES := -Iapps/mpi-lite/include -I$(MPI_BUILD)/include -I$(MPI_SOURCES) -I$(MPI_BUILD)/made \
               -Ilibc/include
MPI_CFLAGS  := -std=gnu11 -g -fvisibility=hidden -fno-strict-aliasing $(WARNINGS) $(MPI_INCLUDES) \
               $(PREFIX_MAP)

# Small structures by ordinary stores: `rep stos` takes longer to begin than the rest of a short message.
MPI_INLINE := -mmemset-strategy=vector_loop:512:noalign,libcall:-1:noalign \
              -mmemcpy-strategy=vector_loop:512:noalign,libcall:-1:noalign

MPI_CC_glibc  := $(CC) -O2 $(MPI_INLINE)
# Not optimized: the sanitizers find as much, and it compiles in less than half the time.
MPI_CC_asan   := $(CC) -O0 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# The thread sanitizer does not support fences; ours order accesses of several processes, which it does not
# watch.
MPI_CC_tsan   := $(CC) -O1 -fsanitize=thread -Wno-tsan
MPI_CC_x86_64 := TACET_BUILD=build TACET_ARCH=x86_64 libc/tacet-cc -O2 $(MPI_INLINE)
MPI_CC_ppc64  := TACET_BUILD=build TACET_ARCH=ppc64 libc/tacet-cc -O2
MPI_TOOLS_ppc64 := powerpc64le-linux-gnu-
MPI_VARIANTS  := glibc asan tsan $(ARCH)

# The folder of the tree has no effect on what is made.
$(MPI_BUILD).flags: FLAGS = $(foreach variant,glibc asan tsan,$(MPI_CC_$(variant))) \
                            $(subst $(PREFIX_MAP),,$(MPI_CFLAGS)) $(MPI_NAMES) $(MPI_FORTRAN)

$(MPI_BUILD)/include/mpi_functions.h: apps/mpi-lite/functions.txt apps/mpi-lite/bindings.py
	@mkdir -p $(@D)
	$(Q)$(PYTHON) apps/mpi-lite/bindings.py header $< > $@

$(MPI_BUILD)/made/base/frames.h: apps/mpi-lite/functions.txt apps/mpi-lite/bindings.py
	@mkdir -p $(@D)
	$(Q)$(PYTHON) apps/mpi-lite/bindings.py frames $< > $@

$(MPI_BUILD)/made/init/missing.c: apps/mpi-lite/functions.txt apps/mpi-lite/bindings.py
	@mkdir -p $(@D)
	$(Q)$(PYTHON) apps/mpi-lite/bindings.py missing $< > $@

# Fortran's names in C, its constants, and the source of its module.
MPI_FORTRAN_LISTS := apps/mpi-lite/functions.txt apps/mpi-lite/include/mpi.h
MPI_FORTRAN_FILES := $(addprefix $(MPI_BUILD)/,made/fortran/fortran_wrappers.c made/fortran/predefined.c \
                     include/mpif.h include/mpi.f90 every.f)
$(MPI_BUILD)/made/fortran/fortran_wrappers.c: MPI_FORTRAN_WHAT = wrappers
$(MPI_BUILD)/made/fortran/predefined.c: MPI_FORTRAN_WHAT = predefined
$(MPI_BUILD)/include/mpif.h: MPI_FORTRAN_WHAT = mpif.h
$(MPI_BUILD)/include/mpi.f90: MPI_FORTRAN_WHAT = module
$(MPI_BUILD)/every.f: MPI_FORTRAN_WHAT = every
$(MPI_FORTRAN_FILES): $(MPI_FORTRAN_LISTS) apps/mpi-lite/fortran.py apps/mpi-lite/bindings.py
	@mkdir -p $(@D)
	$(Q)$(PYTHON) apps/mpi-lite/fortran.py $(MPI_FORTRAN_WHAT) $(MPI_FORTRAN_LISTS) > $@.part
	$(Q)mv $@.part $@

# One variant: its objects, the two objects linked from them, the archive.
define mpi_variant
$(MPI_BUILD)/$(1)/%.o: $(MPI_SOURCES)/%.c $(MPI_HEADERS) $(MPI_BUILD).flags $(2)
	@mkdir -p $$(@D)
	@echo "  MPI     $$@"
	$(Q)$(MPI_CC_$(1)) $(MPI_CFLAGS) -c -o $$@ $$<

$(addprefix $(MPI_BUILD)/$(1)/,$(MPI_MADE:%=%.o)): $(MPI_BUILD)/$(1)/%.o: \
		$(MPI_BUILD)/made/%.c $(MPI_HEADERS) $(MPI_BUILD).flags $(2)
	@mkdir -p $$(@D)
	$(Q)$(MPI_CC_$(1)) $(MPI_CFLAGS) -c -o $$@ $$<

$(MPI_BUILD)/$(1)/whole.o: $(MPI_NAMES:%=$(MPI_BUILD)/$(1)/%.o)
$(MPI_BUILD)/$(1)/fortran.o: $(MPI_FORTRAN:%=$(MPI_BUILD)/$(1)/%.o)
$(MPI_BUILD)/$(1)/whole.o $(MPI_BUILD)/$(1)/fortran.o:
	$(Q)$(MPI_TOOLS_$(1))ld -r -o $$@ $$^
	$(Q)$(MPI_TOOLS_$(1))objcopy --localize-hidden $$@

$(MPI_BUILD)/$(1)/libmpi.a: $(MPI_BUILD)/$(1)/whole.o $(MPI_BUILD)/$(1)/fortran.o
	@echo "  AR      $$@"
	$(Q)rm -f $$@ && $(MPI_TOOLS_$(1))ar rcs $$@ $$^
endef
$(foreach variant,glibc asan tsan,$(eval $(call mpi_variant,$(variant),)))
$(eval $(call mpi_variant,$(ARCH),$(MUSL)))

# Benchmarks, for nodes and for this machine: build/x86_64/mpi/pingpong runs on both.
MPI_BENCHES := $(addprefix $(BUILD)/mpi/,collbench pingpong loggops ep is halo cg)
$(MPI_BENCHES): $(BUILD)/mpi/%: apps/mpi-bench/%.c $(wildcard apps/mpi-bench/*.[ch]) apps/lib/parse.c \
                apps/lib/order.c $(MPI_BUILD)/$(ARCH)/libmpi.a $(MPI_BUILD).flags
	@mkdir -p $(@D)
	@echo "  MPI     $@"
	$(Q)TACET_BUILD=build TACET_ARCH=$(ARCH) apps/mpi-lite/tacet-mpicc -std=gnu11 -O2 $(WARNINGS) -Iapps/lib \
		$(PREFIX_MAP) $< apps/mpi-bench/common.c apps/lib/parse.c apps/lib/order.c -o $@ -lm

# The library of this architecture's programs, that of this machine's, the benchmarks, and the launcher.
.PHONY: mpi
mpi: $(MPI_BUILD)/$(ARCH)/libmpi.a $(MPI_BUILD)/glibc/libmpi.a $(MPI_FORTRAN_FILES) $(MPI_BENCHES) \
     $(SERVICE_BUILD)/tacet-mpirun

# ---- Tests: ordinary MPI programs, each linked with every variant, and with Debian's MPICH and Open MPI ----

MPI_PROGRAM_NAMES := $(basename $(notdir $(wildcard tests/mpi/programs/*.c)))
MPI_PROGRAM_CFLAGS := -std=gnu11 -O1 -g $(WARNINGS) $(PREFIX_MAP)
# MPICH's header declares array parameters, for which its MPI_STATUSES_IGNORE is no valid argument.
MPI_CC_mpich := mpicc.mpich
MPI_PROGRAM_WARNINGS_mpich := -Wno-stringop-overflow -Wno-stringop-overread
# The programs also call functions of MPI-1. Each compiler is named with its library: mpicc may be either.
MPI_CC_openmpi := mpicc.openmpi
# Debian's Open MPI has no functions that MPI 3.0 has removed.
MPI_PROGRAMS_LACK_openmpi := $(MPI_BUILD)/programs/openmpi/removed
MPI_PROGRAM_WARNINGS_openmpi := -Wno-deprecated-declarations -Wno-stringop-overflow -Wno-stringop-overread

# MPICH from its source, for static programs of this machine's gcc and glibc: foreign programs for nodes.
MPICH := build/x86_64/mpich/lib/libmpi.a
$(MPICH): ports/mpich/recipe ports/mpich/build.sh
	@echo "  PORT    MPICH, which takes minutes; see build/x86_64/mpich.work/log"
	$(Q)ports/mpich/build.sh build
	@touch $@
.PHONY: mpich
mpich: $(MPICH)
MPI_CC_mpich-static := $(CC) -fno-pie -no-pie -static
MPI_PROGRAM_WARNINGS_mpich-static := -Wno-stringop-overflow -Wno-stringop-overread -Wl,--no-warnings
MPI_PROGRAM_INCLUDES_mpich-static := -Ibuild/x86_64/mpich/include

# Arguments: variant, its library, the folder of the sources. Programs for Tacet alone are in tests/mpi/tacet,
# programs that fail on purpose in tests/mpi/bad.
define mpi_programs
$(MPI_BUILD)/programs/$(1)/%: tests/mpi/$(3)/%.c $(wildcard tests/mpi/programs/*.h) $(2) $(MPI_BUILD).flags
	@mkdir -p $$(@D)
	@echo "  MPI     $$@"
	$(Q)$(MPI_CC_$(1)) $(MPI_PROGRAM_CFLAGS) $(MPI_PROGRAM_WARNINGS_$(1)) \
		$(or $(MPI_PROGRAM_INCLUDES_$(1)),$(if $(2),-Iapps/mpi-lite/include -I$(MPI_BUILD)/include)) \
		$$< $(2) -o $$@ -pthread -lm
endef
$(foreach variant,$(MPI_VARIANTS),\
	$(eval $(call mpi_programs,$(variant),$(MPI_BUILD)/$(variant)/libmpi.a,programs)))
$(eval $(call mpi_programs,mpich,,programs))
$(eval $(call mpi_programs,openmpi,,programs))
$(eval $(call mpi_programs,mpich-static,$(MPICH),programs))
$(eval $(call mpi_programs,mpich-static,$(MPICH),tacet))
$(eval $(call mpi_programs,$(ARCH),$(MPI_BUILD)/$(ARCH)/libmpi.a,tacet))
$(foreach variant,glibc $(ARCH),\
	$(eval $(call mpi_programs,$(variant),$(MPI_BUILD)/$(variant)/libmpi.a,bad)))

# Programs in Fortran, each with a part in C: static ones for nodes (glibc), with sanitizers, and with MPICH.
MPI_FORTRAN_PROGRAMS := $(wildcard tests/mpi/fortran/*.f tests/mpi/fortran/*.f90)
MPI_FORTRAN_NAMES := $(notdir $(basename $(MPI_FORTRAN_PROGRAMS)))
MPI_FC_glibc := TACET_BUILD=build apps/mpi-lite/tacet-mpif90
MPI_FC_asan  := TACET_MPI_LIBC=glibc TACET_BUILD=build apps/mpi-lite/tacet-mpif90 \
                -fsanitize=address,undefined \
                -fno-sanitize-recover=all -L$(MPI_BUILD)/asan
MPI_FC_mpich := mpif90.mpich

# Arguments: variant, its library. gfortran's warnings about types that differ between calls are disabled.
define mpi_fortran_programs
$(MPI_BUILD)/fortran-programs/$(1)/support.o: tests/mpi/fortran/support.c $(2) $(MPI_BUILD).flags
	@mkdir -p $$(@D)
	$(Q)$(MPI_CC_$(1)) $(MPI_PROGRAM_CFLAGS) $(MPI_PROGRAM_WARNINGS_$(1)) \
		$(if $(2),-Iapps/mpi-lite/include -I$(MPI_BUILD)/include) -c $$< -o $$@

$(MPI_FORTRAN_NAMES:%=$(MPI_BUILD)/fortran-programs/$(1)/%): $(MPI_BUILD)/fortran-programs/$(1)/%: \
		$(MPI_BUILD)/fortran-programs/$(1)/support.o $(MPI_FORTRAN_PROGRAMS) $(MPI_FORTRAN_FILES) \
		apps/mpi-lite/tacet-mpicc $(2)
	@echo "  MPI     $$@"
	$(Q)mkdir -p $$@.modules
	$(Q)$(MPI_FC_$(1)) -O1 -g -w -J$$@.modules $$(filter %/$$*.f %/$$*.f90,$(MPI_FORTRAN_PROGRAMS)) \
		$$(firstword $$^) -o $$@
endef
$(foreach variant,glibc asan,\
	$(eval $(call mpi_fortran_programs,$(variant),$(MPI_BUILD)/$(variant)/libmpi.a)))
$(eval $(call mpi_fortran_programs,mpich,))

# Programs linked with this library, with the MPIs that it is compared with, and with the thread sanitizer.
# Programs for this machine belong to x86_64.
MPI_LITE_PROGRAMS := $(MPI_PROGRAM_NAMES:%=$(MPI_BUILD)/programs/$(ARCH)/%) \
    $(MPI_BUILD)/programs/$(ARCH)/ends \
    $(patsubst tests/mpi/tacet/%.c,$(MPI_BUILD)/programs/$(ARCH)/%,$(wildcard tests/mpi/tacet/*.c))
ifeq ($(ARCH),x86_64)
MPI_LITE_PROGRAMS += $(MPI_PROGRAM_NAMES:%=$(MPI_BUILD)/programs/asan/%) \
    $(addprefix $(MPI_BUILD)/programs/glibc/,collectives ends) \
    $(foreach variant,glibc asan,$(MPI_FORTRAN_NAMES:%=$(MPI_BUILD)/fortran-programs/$(variant)/%))
endif
MPI_PROGRAMS_OF_OTHERS := $(foreach variant,mpich openmpi,$(filter-out $(MPI_PROGRAMS_LACK_$(variant)),\
    $(MPI_PROGRAM_NAMES:%=$(MPI_BUILD)/programs/$(variant)/%))) \
    $(MPI_FORTRAN_NAMES:%=$(MPI_BUILD)/fortran-programs/mpich/%)
MPI_LONG_PROGRAMS := $(MPI_BUILD)/programs/tsan/threads

.PHONY: mpi-programs mpi-programs-of-others
mpi-programs: $(MPI_LITE_PROGRAMS)
mpi-programs-of-others: $(MPI_PROGRAMS_OF_OTHERS)
