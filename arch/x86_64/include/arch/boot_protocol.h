/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * boot_protocol.h: the two ways into the kernel, multiboot2 (GRUB: ISO, PXE) and PVH (QEMU's -kernel, other
 * hypervisors), each parsed into the same struct boot_info. Portable C, host-tested and fuzzed. Sources:
 * "Multiboot2 Specification version 2.0" §3.6; Xen "x86/HVM direct boot ABI" (PVH), struct hvm_start_info
 * versions 0 and 1.
 *
 * Physical memory is read through `physical_reader`, which returns NULL for bytes that cannot be read, so
 * that an invalid pointer is an error and not a crash.
 */
#ifndef ARCH_BOOT_PROTOCOL_H
#define ARCH_BOOT_PROTOCOL_H

#include "lib/boot_info.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "lib/format.h"
#include <stdint.h>

#define MULTIBOOT2_LOADER_MAGIC 0x36d76289u
#define PVH_START_MAGIC         0x336ec578u

/* Kernel address of physical bytes [address, address + bytes), or NULL. */
typedef const void *physical_reader(void *context, uint64_t address, uint64_t bytes);

/* A reader with its context, for the parsers that follow pointers. */
struct physical_memory {
    physical_reader *read;
    void *context;
};

static inline const uint8_t *memory_at(const struct physical_memory *memory, uint64_t address, uint64_t bytes)
{
    return memory->read(memory->context, address, bytes);
}

/* Adds `count` entries of a memory map: base, length, type, as the firmware's E820 call lays them out and
 * both protocols hand them on. Returns 0, or -EINVAL with `why` if they are too many. */
#define MAP_ENTRY_BYTES 24 /* at least */
#define MAP_TYPE_RAM    1
static inline int memory_map_add(struct boot_info *out, const uint8_t *entry, uint32_t count,
                                 uint32_t entry_bytes, struct message *why)
{
    for (; count > 0; count--, entry += entry_bytes)
        if (boot_info_add_range(out, load_le64(entry), load_le64(entry + 8),
                                load_le32(entry + 16) == MAP_TYPE_RAM) != 0)
            return message_set(why, -EINVAL, "%s: memory map has more than %d reserved ranges", out->protocol,
                               BOOT_RANGES_MAX);
    return 0;
}

/* Fills *out (zeroed first), or returns -EINVAL with `why`: which tag or field at which offset, what was
 * wrong; so does pvh_parse. A memory map must be there. Strings are copied; a command line that does not
 * fit is an error. Unknown tags and memory types are skipped (types that are not RAM count as reserved). */
int multiboot2_parse(uint64_t info_address, physical_reader *read, void *context, struct boot_info *out,
                     struct message *why);
int pvh_parse(uint64_t start_info_address, physical_reader *read, void *context, struct boot_info *out,
              struct message *why);

#endif
