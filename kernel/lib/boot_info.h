/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * boot_info.h: the description of the machine that the kernel is started with.
 *
 * Every boot protocol (multiboot2 and PVH on x86_64, Open Firmware's device tree on ppc64) is parsed into
 * this one structure by its architecture, and the rest of the kernel sees nothing else. Everything in it is a
 * copy: after parsing, the boot loader's own structures may be overwritten. Addresses are physical.
 */
#ifndef TACET_BOOT_INFO_H
#define TACET_BOOT_INFO_H

#include <stdbool.h>
#include <stdint.h>

#define BOOT_RANGES_MAX         256 /* entries of the memory map that are kept */
#define BOOT_MODULES_MAX        8
#define BOOT_COMMAND_LINE_BYTES 4096 /* with its NUL */
#define BOOT_MODULE_NAME_BYTES  128

/* Physical bytes [base, base + bytes). Firmware may hand in anything: zero length, overlaps, a sum that
 * wraps. */
struct memory_range {
    uint64_t base;
    uint64_t bytes;
};

/* Which memory is near which CPU (NUMA): the domain of a range, by the firmware's numbers. */
struct numa_range {
    struct memory_range range;
    uint32_t domain;
};

#define NUMA_DOMAIN_NONE UINT32_MAX /* unknown, for memory or a CPU */

struct boot_module {
    struct memory_range range;
    char name[BOOT_MODULE_NAME_BYTES]; /* the text given with the module, cut at the size; "" if there is
                                          none */
};

/* Where a colour stands in a pixel: `bits` from bit `position` on. */
struct boot_colour {
    uint8_t position, bits;
};

/* As the loader describes it; nothing is checked. */
struct boot_framebuffer {
    enum { FRAMEBUFFER_NONE, FRAMEBUFFER_INDEXED, FRAMEBUFFER_DIRECT, FRAMEBUFFER_UNKNOWN } kind;
    uint64_t address;
    uint32_t pitch; /* bytes from a row to the next one */
    uint32_t width, height;
    uint8_t bits; /* bits of a pixel, which has whole bytes, the lowest one first */
    struct boot_colour red, green, blue;
};

struct boot_info {
    const char *protocol; /* "multiboot2", "pvh", … for the log */
    char command_line[BOOT_COMMAND_LINE_BYTES];

    struct memory_range usable[BOOT_RANGES_MAX]; /* free RAM by the firmware's memory map */
    unsigned usable_count;
    struct memory_range reserved[BOOT_RANGES_MAX]; /* not free; takes precedence where both overlap */
    unsigned reserved_count;
    unsigned ranges_dropped; /* usable ones beyond BOOT_RANGES_MAX; reported, never silently lost */

    struct boot_module modules[BOOT_MODULES_MAX];
    unsigned module_count;

    uint64_t rsdp; /* ACPI's root pointer, which multiboot2 copies into its own structure; 0 if unknown */
    bool efi;      /* started by UEFI firmware: no BIOS data area, no VGA text */

    struct {
        uint64_t address; /* 0: no text screen known */
        uint32_t columns, rows;
    } text_screen;
    struct boot_framebuffer framebuffer; /* then there is no text screen */
};

/* Adds one entry of the firmware's memory map. If it touches the entry before it, the two are merged. Returns
 * 0, or -E2BIG for a reserved range beyond BOOT_RANGES_MAX: without it, memory that is not RAM could be
 * allocated. For the parsers of boot protocols, as the next one; any context, no allocation. */
int boot_info_add_range(struct boot_info *info, uint64_t base, uint64_t bytes, bool usable);

/* Adds a module; `name` of at most `name_bytes` bytes ends at its first NUL and is cut at the field's size.
 * Returns 0, -E2BIG for one beyond BOOT_MODULES_MAX, -EINVAL for a range that wraps. */
int boot_info_add_module(struct boot_info *info, uint64_t base, uint64_t bytes, const char *name,
                         uint64_t name_bytes);

/* Returns whether the page at `page` is usable memory, wholly, and no module lies in it. For start-up code of
 * further CPUs, which needs a page below 1 MiB. */
#define BOOT_PAGE_BYTES 4096ULL
bool boot_info_page_is_free(const struct boot_info *info, uint64_t page);

#endif
