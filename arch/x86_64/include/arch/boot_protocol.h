/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * boot_protocol.h: the two ways into the kernel, multiboot2 (GRUB: ISO, PXE) and PVH (QEMU's -kernel, other
 * hypervisors), each parsed into the same struct boot_info. Pure C, host-tested and fuzzed. Sources:
 * "Multiboot2 Specification version 2.0" §3.6; Xen "x86/HVM direct boot ABI" (PVH), struct hvm_start_info
 * versions 0 and 1.
 *
 * Physical memory is read through `physical_reader`, which returns NULL for bytes that cannot be read, so
 * that an invalid pointer is an error and not a crash.
 */
#ifndef ARCH_BOOT_PROTOCOL_H
#define ARCH_BOOT_PROTOCOL_H

#include "lib/boot_info.h"
#include "lib/format.h"
#include <stdint.h>

#define MULTIBOOT2_LOADER_MAGIC 0x36d76289u
#define PVH_START_MAGIC         0x336ec578u

/* Kernel address of physical bytes [address, address + bytes), or NULL. */
typedef const void *physical_reader(void *context, uint64_t address, uint64_t bytes);

/* Both fill *out (zeroed first) or return -EINVAL with `why`: which tag or field at which offset, what was
 * wrong. A memory map must be there. Strings are copied; a command line that does not fit is an error.
 * Unknown tags and memory types are skipped (types that are not RAM count as reserved). */
int multiboot2_parse(uint64_t info_address, physical_reader *read, void *context, struct boot_info *out,
                     struct message *why);
int pvh_parse(uint64_t start_info_address, physical_reader *read, void *context, struct boot_info *out,
              struct message *why);

#endif
