# SPDX-License-Identifier: BSD-2-Clause
#
# arch.mk: how the kernel and programs are compiled for x86_64: by the host's own compiler.

KERNEL_CC      = $(CC)
KERNEL_LD      = $(LD)
KERNEL_OBJCOPY = $(OBJCOPY)
PROGRAM_CC     = $(CC)
PROGRAM_CXX    = $(CXX)

# Without vector registers, which belong to programs.
ARCH_CFLAGS := -mcmodel=kernel -mno-red-zone -mpreferred-stack-boundary=3 -mgeneral-regs-only \
	-fcf-protection=none -fno-omit-frame-pointer -momit-leaf-frame-pointer
ARCH_VDSO_CFLAGS := -mgeneral-regs-only -fcf-protection=none
ARCH_PAGE_BYTES := 4096
ARCH_DEFINE := %define
