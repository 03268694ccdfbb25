/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pvh.c: a hypervisor's description of the machine, parsed into struct boot_info (boot_protocol.h).
 *
 * Source: Xen "x86/HVM direct boot ABI", struct hvm_start_info: fixed fields, with physical addresses of
 * strings, of a list of modules and, from version 1 on, of a memory map of E820 types. Version 0 has no map;
 * such a start is refused. Portable C; runs once, on the boot CPU, before the loader's memory is reused. Owns
 * nothing.
 */
#include "arch/boot_protocol.h"
#include "lib/kstring.h"

#define START_BYTES        56 /* length of version 1 */
#define VERSION_WITH_MAP   1
#define MODULE_ENTRY_BYTES 32
#define MAP_ENTRIES_MAX    65536 /* more is no memory map but a wrong pointer */

/* Copies the string at `address`, cut at `room` with its NUL. Returns its length, `room` if it was cut, or
 * -EINVAL if it cannot be read. */
static int64_t copy_string(const struct physical_memory *memory, uint64_t address, char *to, size_t room)
{
    for (size_t i = 0; i < room; i++) {
        const uint8_t *byte = address > UINT64_MAX - i ? NULL : memory_at(memory, address + i, 1);

        if (!byte)
            return -EINVAL;
        to[i] = (char)*byte;
        if (!*byte)
            return (int64_t)i;
    }
    to[room - 1] = '\0';
    return (int64_t)room;
}

static int parse_command_line(const struct physical_memory *memory, uint64_t address, struct boot_info *out,
                              struct message *why)
{
    if (address == 0)
        return 0;

    int64_t length = copy_string(memory, address, out->command_line, sizeof(out->command_line));
    if (length < 0)
        return message_set(why, -EINVAL, "pvh: command line at 0x%lx (field at offset 24) cannot be read",
                           address);
    if (length == (int64_t)sizeof(out->command_line))
        return message_set(why, -EINVAL, "pvh: command line is too long; at most %zu bytes fit",
                           sizeof(out->command_line) - 1);
    return 0;
}

static int parse_module(const struct physical_memory *memory, const uint8_t *entry, unsigned index,
                        struct boot_info *out, struct message *why)
{
    char name[BOOT_MODULE_NAME_BYTES] = "";
    uint64_t base = load_le64(entry), bytes = load_le64(entry + 8), name_address = load_le64(entry + 16);

    if (name_address != 0 && copy_string(memory, name_address, name, sizeof(name)) < 0)
        return message_set(why, -EINVAL, "pvh: text of module %u at 0x%lx cannot be read", index,
                           name_address);
    if (boot_info_add_module(out, base, bytes, name, sizeof(name)) != 0)
        return message_set(why, -EINVAL, "pvh: module %u at 0x%lx wraps around with its 0x%lx bytes", index,
                           base, bytes);
    return 0;
}

static int parse_modules(const struct physical_memory *memory, const uint8_t *start, struct boot_info *out,
                         struct message *why)
{
    uint32_t count = load_le32(start + 12);
    uint64_t address = load_le64(start + 16);

    if (count == 0)
        return 0;
    if (count > BOOT_MODULES_MAX)
        return message_set(why, -EINVAL, "pvh: %u modules (field at offset 12); at most %d", count,
                           BOOT_MODULES_MAX);
    const uint8_t *entries = memory_at(memory, address, (uint64_t)count * MODULE_ENTRY_BYTES);
    if (!entries)
        return message_set(why, -EINVAL,
                           "pvh: list of %u modules at 0x%lx (field at offset 16) cannot be read", count,
                           address);
    for (unsigned i = 0; i < count; i++) {
        int error = parse_module(memory, entries + (size_t)i * MODULE_ENTRY_BYTES, i, out, why);

        if (error)
            return error;
    }
    return 0;
}

static int parse_memory_map(const struct physical_memory *memory, const uint8_t *start, struct boot_info *out,
                            struct message *why)
{
    uint64_t address = load_le64(start + 40);
    uint32_t count = load_le32(start + 48);

    if (count > MAP_ENTRIES_MAX)
        return message_set(why, -EINVAL, "pvh: memory map of %u entries (field at offset 48); at most %d",
                           count, MAP_ENTRIES_MAX);
    const uint8_t *entries = memory_at(memory, address, (uint64_t)count * MAP_ENTRY_BYTES);
    if (!entries)
        return message_set(why, -EINVAL, "pvh: memory map at 0x%lx (field at offset 40) cannot be read",
                           address);
    int error = memory_map_add(out, entries, count, MAP_ENTRY_BYTES, why);
    if (error)
        return error;
    if (out->usable_count == 0)
        return message_set(why, -EINVAL, "pvh: memory map of %u entries names no RAM", count);
    return 0;
}

int pvh_parse(uint64_t start_info_address, physical_reader *read, void *context, struct boot_info *out,
              struct message *why)
{
    const struct physical_memory memory = { read, context };

    memset(out, 0, sizeof(*out));
    out->protocol = "pvh";

    const uint8_t *start = memory_at(&memory, start_info_address, START_BYTES);
    if (!start)
        return message_set(why, -EINVAL, "pvh: start information at 0x%lx cannot be read",
                           start_info_address);
    if (load_le32(start) != PVH_START_MAGIC)
        return message_set(why, -EINVAL, "pvh: magic at offset 0 is 0x%x, not 0x%x", load_le32(start),
                           PVH_START_MAGIC);
    if (load_le32(start + 4) < VERSION_WITH_MAP)
        return message_set(why, -EINVAL, "pvh: version 0 has no memory map; version 1 or later is needed");
    out->rsdp = load_le64(start + 32);

    int error = parse_command_line(&memory, load_le64(start + 24), out, why);
    if (error)
        return error;
    error = parse_modules(&memory, start, out, why);
    if (error)
        return error;
    return parse_memory_map(&memory, start, out, why);
}
