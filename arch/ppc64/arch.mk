# SPDX-License-Identifier: BSD-2-Clause
#
# arch.mk: how the kernel and programs are compiled for ppc64: by Debian's cross compiler, little-endian, the
# kernel for POWER9.

CROSS          ?= powerpc64le-linux-gnu-
KERNEL_CC      = $(CROSS)gcc
KERNEL_LD      = $(CROSS)ld
KERNEL_OBJCOPY = $(CROSS)objcopy
PROGRAM_CC     = $(CROSS)gcc
PROGRAM_CXX    = $(CROSS)g++

# Without floating point and vector registers, which belong to programs. The compiler uses no instruction that
# POWER8 lacks, so that the kernel can print there that POWER9 is needed.
ARCH_CFLAGS := -mcpu=power9 -mno-modulo -mblock-compare-inline-limit=0 \
	-mabi=elfv2 -mcmodel=medium -msoft-float -mno-altivec -mno-vsx
ARCH_ASFLAGS := -mcpu=power9 -Wa,-mregnames
# No jump tables: they would be found through a table of contents, which the vDSO does not have.
ARCH_VDSO_CFLAGS := -mcpu=power9 -mabi=elfv2 -mno-altivec -mno-vsx -fno-jump-tables -Wa,-mregnames \
	-Wl,--eh-frame-hdr
ARCH_PAGE_BYTES := 65536
ARCH_DEFINE := \#define

# Groups of ports/deps.sh that have its compiler and its QEMU, each next to one of this machine's.
ARCH_DEPS := build-ppc64 run-ppc64
