/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * syscall.c: the table of handlers, made from syscalls.def, and the answer to calls that are not in it.
 */
#include "syscall/syscall.h"
#include "arch.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "lib/kstring.h"

/* Calls that this architecture lacks have the number -1: they go to a slot behind the table's numbers. */
#define SYSCALL_SLOT(number) ((number) < 0 ? SYSCALL_SLOTS : (number))

typedef void syscall_handler(
    void); /* called by the entry code with the arguments in registers; each has its own type */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-function-type"
#pragma GCC diagnostic ignored "-Woverride-init"
#define LOCAL(name, x86_64, ppc64, arguments, limits) \
    [SYSCALL_SLOT(ARCH_SYSCALL_NUMBER(x86_64, ppc64))] = (syscall_handler *)sys_##name,
#define STUB(name, x86_64, ppc64, arguments, reason) LOCAL(name, x86_64, ppc64, arguments, reason)
#define REFUSED(name, x86_64, ppc64, reason)

syscall_handler *const syscall_table[SYSCALL_SLOTS + 1] = {
    [0 ... SYSCALL_SLOTS] = syscall_hole,
#include "syscall/syscalls.def"
};
#undef LOCAL
#undef STUB
#undef REFUSED
#pragma GCC diagnostic pop

static const struct {
    int number;
    const char *name, *reason;
} refused[] = {
#define LOCAL(name, x86_64, ppc64, arguments, limits)
#define STUB(name, x86_64, ppc64, arguments, reason)
#define REFUSED(name, x86_64, ppc64, reason) { ARCH_SYSCALL_NUMBER(x86_64, ppc64), #name, reason },
#include "syscall/syscalls.def"
#undef LOCAL
#undef STUB
#undef REFUSED
};

/* A bit for each number that was logged already; all numbers beyond the table share one. */
static uint64_t logged[SYSCALL_SLOTS / 64 + 1];

long syscall_unknown(uint64_t number)
{
    uint64_t slot = number < SYSCALL_SLOTS ? number : SYSCALL_SLOTS;

    if (logged[slot / 64] & 1ULL << slot % 64)
        return -ENOSYS;
    logged[slot / 64] |= 1ULL << slot % 64;

    for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (refused[i].number == (int)number) {
            kernel_print("%s refused (ENOSYS): %s\n", refused[i].name, refused[i].reason);
            return -ENOSYS;
        }
    }
    kernel_print("system call %lu is not there (ENOSYS); docs/abi.md lists those that are\n", number);
    return -ENOSYS;
}

long syscall_refuse(const char *name, const char *reason)
{
    static const char *told[16];

    for (unsigned i = 0; i < sizeof(told) / sizeof(told[0]) && told[i] != reason; i++) {
        if (told[i])
            continue;
        told[i] = reason;
        kernel_print("%s refused (ENOSYS): %s\n", name, reason);
        break;
    }
    return -ENOSYS;
}
