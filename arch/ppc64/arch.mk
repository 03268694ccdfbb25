# SPDX-License-Identifier: BSD-2-Clause
#
# arch.mk: how the kernel is compiled for ppc64: by Debian's cross compiler, little-endian, for POWER9.

CROSS          ?= powerpc64le-linux-gnu-
KERNEL_CC      = $(CROSS)gcc
KERNEL_LD      = $(CROSS)ld
KERNEL_OBJCOPY = $(CROSS)objcopy

# Without floating point and vector registers, which belong to programs.
ARCH_CFLAGS := -mcpu=power9 -mabi=elfv2 -mcmodel=medium -msoft-float -mno-altivec -mno-vsx
ARCH_ASFLAGS := -mcpu=power9 -Wa,-mregnames
ARCH_PAGE_BYTES := 65536
ARCH_DEFINE := \#define
