# SPDX-License-Identifier: BSD-2-Clause
#
# Makefile: every entry point. `make help` lists them.
#
# The kernel is compiled by the host's GCC without libraries and without vector registers; programs by libc/tacet-cc against musl, which
# ports/ fetches and builds. All outputs go to build/.

ARCH   ?= x86_64
BUILD  := build/$(ARCH)
PYTHON ?= /usr/bin/python3
V      ?=
Q      := $(if $(V),,@)

.DEFAULT_GOAL := kernel
.DELETE_ON_ERROR:

CC      = gcc
LD      = ld
NASM    = nasm
OBJCOPY = objcopy

# ---- The kernel ----

KERNEL := $(BUILD)/tacet.elf

KERNEL_C   := $(sort $(wildcard kernel/*.c drivers/*/*.c) $(filter-out arch/$(ARCH)/offsets.c,$(wildcard arch/$(ARCH)/*.c arch/$(ARCH)/boot/*.c)))
KERNEL_ASM := $(sort $(wildcard arch/$(ARCH)/*.asm arch/$(ARCH)/boot/*.asm))
KERNEL_OBJECTS := $(KERNEL_C:%.c=$(BUILD)/kernel/%.o) $(KERNEL_ASM:%.asm=$(BUILD)/kernel/%.asm.o)

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion $(if $(CI),-Werror)
KERNEL_CFLAGS := -std=gnu11 -O2 -g -ffreestanding -fno-pic -fno-pie -mcmodel=kernel -mno-red-zone -mgeneral-regs-only \
	-fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables -fno-omit-frame-pointer -momit-leaf-frame-pointer \
	-fno-strict-aliasing -ffile-prefix-map=$(CURDIR)/= $(WARNINGS) -iquote kernel/include -iquote arch/$(ARCH)/include -iquote kernel -iquote libc/include

.PHONY: kernel
kernel: $(KERNEL)

$(KERNEL): $(KERNEL_OBJECTS) arch/$(ARCH)/link.ld
	@echo "  LD      $@"
	$(Q)$(LD) -nostdlib -static -z noexecstack -z max-page-size=4096 --no-warn-rwx-segments --build-id=none -T arch/$(ARCH)/link.ld -o $@ $(KERNEL_OBJECTS)
	$(Q)$(OBJCOPY) --strip-all $@ $(BUILD)/tacet.stripped.elf

$(BUILD)/kernel/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(KERNEL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/kernel/%.asm.o: %.asm $(BUILD)/offsets.inc
	@mkdir -p $(@D)
	@echo "  NASM    $<"
	$(Q)$(NASM) -f elf64 -g -F dwarf -I $(BUILD)/ -o $@ $<

# Constants of C for the assembler: lines "->NAME $VALUE" in the compiler's output.
$(BUILD)/offsets.inc: arch/$(ARCH)/offsets.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(KERNEL_CFLAGS) -MMD -MP -MF $(BUILD)/offsets.d -MT $@ -S -o $(BUILD)/offsets.s $<
	$(Q)sed -n 's/^->\([A-Z0-9_]*\) \$$\(.*\)/%define \1 \2/p' $(BUILD)/offsets.s > $@

-include $(KERNEL_OBJECTS:.o=.d) $(BUILD)/offsets.d
