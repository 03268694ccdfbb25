/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * boot_info.c: how the parsers of boot protocols fill the tables of struct boot_info (boot_info.h).
 *
 * Portable C, host-tested through every parser; runs once, on the boot CPU, before anything is allocated.
 * Owns nothing.
 */
#include "lib/boot_info.h"
#include "lib/errno.h"
#include "lib/kstring.h"

/* Makes the range part of `last`, if that ends where it begins. Returns whether it has. */
static bool range_extend(struct memory_range *last, uint64_t base, uint64_t bytes)
{
    uint64_t end;

    if (__builtin_add_overflow(last->base, last->bytes, &end) || end != base)
        return false;
    if (__builtin_add_overflow(end, bytes, &end))
        return false;
    last->bytes += bytes;
    return true;
}

int boot_info_add_range(struct boot_info *info, uint64_t base, uint64_t bytes, bool usable)
{
    struct memory_range *ranges = usable ? info->usable : info->reserved;
    unsigned *count = usable ? &info->usable_count : &info->reserved_count;

    if (*count > 0 && range_extend(&ranges[*count - 1], base, bytes))
        return 0;
    if (*count < BOOT_RANGES_MAX) {
        ranges[(*count)++] = (struct memory_range){ base, bytes };
        return 0;
    }
    if (!usable)
        return -E2BIG;
    info->ranges_dropped++;
    return 0;
}

int boot_info_add_module(struct boot_info *info, uint64_t base, uint64_t bytes, const char *name,
                         uint64_t name_bytes)
{
    if (info->module_count == BOOT_MODULES_MAX)
        return -E2BIG;
    if (bytes > UINT64_MAX - base)
        return -EINVAL;

    struct boot_module *module = &info->modules[info->module_count++];
    uint64_t room = name_bytes < sizeof(module->name) - 1 ? name_bytes : sizeof(module->name) - 1;
    size_t length = strnlen(name, room);
    module->range = (struct memory_range){ base, bytes };
    memcpy(module->name, name, length);
    module->name[length] = '\0';
    return 0;
}

static bool range_touches_page(const struct memory_range *range, uint64_t page)
{
    uint64_t end;

    if (__builtin_add_overflow(range->base, range->bytes, &end))
        end = UINT64_MAX;
    return range->bytes > 0 && range->base < page + BOOT_PAGE_BYTES && end > page;
}

bool boot_info_page_is_free(const struct boot_info *info, uint64_t page)
{
    bool usable = false;

    for (unsigned i = 0; i < info->usable_count; i++)
        usable |= info->usable[i].base <= page &&
                  page + BOOT_PAGE_BYTES - info->usable[i].base <= info->usable[i].bytes;
    for (unsigned i = 0; i < info->reserved_count; i++)
        usable &= !range_touches_page(&info->reserved[i], page);
    for (unsigned i = 0; i < info->module_count; i++)
        usable &= !range_touches_page(&info->modules[i].range, page);
    return usable;
}
