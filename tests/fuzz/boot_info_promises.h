/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * boot_info_promises.h: what must hold for a struct boot_info from any boot protocol.
 */
#ifndef TACET_BOOT_INFO_PROMISES_H
#define TACET_BOOT_INFO_PROMISES_H

#include "lib/boot_info.h"
#include "fuzz.h"

static inline void promise_boot_info(const struct boot_info *info)
{
    PROMISE(memchr(info->command_line, 0, sizeof(info->command_line)));
    PROMISE(info->usable_count > 0 && info->usable_count <= BOOT_RANGES_MAX);
    PROMISE(info->reserved_count <= BOOT_RANGES_MAX);
    PROMISE(info->ranges_dropped == 0 || info->usable_count == BOOT_RANGES_MAX);
    PROMISE(info->module_count <= BOOT_MODULES_MAX);
    for (unsigned i = 0; i < info->module_count; i++) {
        const struct boot_module *module = &info->modules[i];

        PROMISE(module->range.bytes <= UINT64_MAX - module->range.base);
        PROMISE(memchr(module->name, 0, sizeof(module->name)));
    }
    PROMISE(info->text_screen.address == 0 || (info->text_screen.columns > 0 && info->text_screen.rows > 0));
}

#endif
