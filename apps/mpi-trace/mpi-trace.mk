# SPDX-License-Identifier: BSD-2-Clause
#
# mpi-trace.mk: the tracer of MPI programs, once for each MPI library, by that library's mpi.h:
#
#   build/mpi-lite/VARIANT/libmpi-trace.a      next to mpi-lite: tacet-mpicc program.c -lmpi-trace
#   build/mpi-trace/mpich/libmpi-trace.so      to link with, or for LD_PRELOAD; after Debian's library
#   build/mpi-trace/openmpi/libmpi-trace.so
#
# An archive has C's part and Fortran's, which names Fortran's part of mpi-lite: programs in C link the first
# alone. The parts share names, which begin with mpi_lite_ in the archive, as the library's do.

TRACE_SOURCES := apps/mpi-trace
TRACE_BUILD   := build/mpi-trace
TRACE_C       := $(filter-out %/fortran.c,$(wildcard $(TRACE_SOURCES)/*.c)) $(TRACE_BUILD)/wrappers.c
TRACE_FORTRAN := $(TRACE_SOURCES)/fortran.c $(TRACE_BUILD)/fortran_wrappers.c
TRACE_HEADERS := $(wildcard $(TRACE_SOURCES)/*.h) apps/lib/cycles.h
TRACE_CFLAGS  := -std=gnu11 -g -I$(TRACE_SOURCES) -Iapps/lib $(WARNINGS) $(PREFIX_MAP)

$(TRACE_BUILD)/wrappers.c: TRACE_WHAT = c
$(TRACE_BUILD)/fortran_wrappers.c: TRACE_WHAT = fortran
$(TRACE_BUILD)/wrappers.c $(TRACE_BUILD)/fortran_wrappers.c: apps/mpi-lite/functions.txt \
		$(TRACE_SOURCES)/wrappers.py apps/mpi-lite/fortran.py apps/mpi-lite/bindings.py
	@mkdir -p $(@D)
	$(Q)$(PYTHON) $(TRACE_SOURCES)/wrappers.py $(TRACE_WHAT) $< > $@.part
	$(Q)mv $@.part $@

TRACE_NAMES_C := $(notdir $(TRACE_C:%.c=%.o))
TRACE_NAMES_FORTRAN := $(notdir $(TRACE_FORTRAN:%.c=%.o))

# Arguments: variant, its C library.
define trace_variant
$(MPI_BUILD)/$(1)/trace/%.o: $(TRACE_SOURCES)/%.c $(TRACE_HEADERS) $(MPI_HEADERS) $(MPI_BUILD).flags $(2)
	@mkdir -p $$(@D)
	$(Q)$(MPI_CC_$(1)) $(TRACE_CFLAGS) -DTRACE_MPI_LITE $(MPI_INCLUDES) -c -o $$@ $$<

$(MPI_BUILD)/$(1)/trace/%.o: $(TRACE_BUILD)/%.c $(TRACE_HEADERS) $(MPI_HEADERS) $(MPI_BUILD).flags $(2)
	@mkdir -p $$(@D)
	$(Q)$(MPI_CC_$(1)) $(TRACE_CFLAGS) -DTRACE_MPI_LITE $(MPI_INCLUDES) -c -o $$@ $$<

$(MPI_BUILD)/$(1)/trace/c.part: $(TRACE_NAMES_C:%=$(MPI_BUILD)/$(1)/trace/%)
$(MPI_BUILD)/$(1)/trace/fortran.part: $(TRACE_NAMES_FORTRAN:%=$(MPI_BUILD)/$(1)/trace/%)
$(MPI_BUILD)/$(1)/trace/c.part $(MPI_BUILD)/$(1)/trace/fortran.part:
	$(Q)$(MPI_TOOLS_$(1))ld -r -o $$@ $$^
	$(Q)$(MPI_TOOLS_$(1))nm -g $$@ | sed -n 's/.* \(trace[a-z_]*\)$$$$/\1 mpi_lite_\1/p' > $$@.names
	$(Q)$(MPI_TOOLS_$(1))objcopy --redefine-syms=$$@.names $$@

$(MPI_BUILD)/$(1)/libmpi-trace.a: $(MPI_BUILD)/$(1)/trace/c.part $(MPI_BUILD)/$(1)/trace/fortran.part
	@echo "  AR      $$@"
	$(Q)rm -f $$@ && $(MPI_TOOLS_$(1))ar rcs $$@ $$^
endef
$(foreach variant,glibc asan,$(eval $(call trace_variant,$(variant),)))
$(eval $(call trace_variant,$(ARCH),$(MUSL)))

# Of other libraries. Debian's Open MPI has no functions that MPI 3.0 has removed.
TRACE_FLAGS_openmpi := -DTRACE_LACKS_REMOVED
$(TRACE_BUILD)/%/libmpi-trace.so: $(TRACE_C) $(TRACE_FORTRAN) $(TRACE_HEADERS) $(TRACE_SOURCES)/exports.map
	@mkdir -p $(@D)
	@echo "  MPI     $@"
	$(Q)$(MPI_CC_$*) -O2 $(TRACE_CFLAGS) $(TRACE_FLAGS_$*) -DTRACE_SHARED -Wno-deprecated-declarations \
		$(MPI_PROGRAM_WARNINGS_$*) -fPIC -shared -Wl,--version-script=$(TRACE_SOURCES)/exports.map \
		$(TRACE_C) $(TRACE_FORTRAN) -o $@

# The tracer of this architecture's programs and of this machine's; `mpi-trace-others` needs the libraries.
.PHONY: mpi-trace mpi-trace-others
mpi: mpi-trace
mpi-trace: $(MPI_BUILD)/$(ARCH)/libmpi-trace.a $(MPI_BUILD)/glibc/libmpi-trace.a
mpi-trace-others: $(TRACE_BUILD)/mpich/libmpi-trace.so $(TRACE_BUILD)/openmpi/libmpi-trace.so

# ---- Tests: programs with every library's tracer; of others they are linked without, for LD_PRELOAD ----

define traced_program
$(TRACE_BUILD)/programs/$(1)/%: tests/mpi/trace/%.c $(2)
	@mkdir -p $$(@D)
	@echo "  MPI     $$@"
	$(Q)$(MPI_CC_$(1)) $(MPI_PROGRAM_CFLAGS) $(MPI_PROGRAM_WARNINGS_$(1)) \
		$(if $(2),-Iapps/mpi-lite/include -I$(MPI_BUILD)/include) $$^ -o $$@ -pthread
endef
$(foreach variant,glibc asan $(ARCH),$(eval $(call traced_program,$(variant),\
	$(MPI_BUILD)/$(variant)/libmpi-trace.a $(MPI_BUILD)/$(variant)/libmpi.a)))
$(eval $(call traced_program,mpich,))
$(eval $(call traced_program,openmpi,))

TRACE_PROGRAMS := $(addprefix $(TRACE_BUILD)/programs/$(ARCH)/,cost traced)
