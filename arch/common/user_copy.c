/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_copy.c: the range checks before an architecture's copies (user_copy.asm, user_copy.S). A range that
 * passes is in the program's half; whether it is mapped, and with which rights, the hardware checks during
 * the copy.
 *
 * Interrupts are off, so long copies go in pieces, between which the crosscalls of other CPUs are served.
 */
#include "arch.h"
#include "lib/errno.h"
#include "smp/crosscall.h"
#include "smp/lock_work.h"

long user_copy(void *to, const void *from, uint64_t bytes);
long user_zero(void *to, uint64_t bytes);
long user_copy_string(char *to, const char *from, uint64_t bytes);
void memory_zero(void *memory, uint64_t bytes);
long user_load_word(uint32_t *to, const uint32_t *from);
long user_swap_word(uint32_t *at, uint32_t *expected, uint32_t desired);

static bool range_is_user(uint64_t address, uint64_t bytes)
{
    return address <= ARCH_USER_LIMIT && bytes <= ARCH_USER_LIMIT - address;
}

/* Copies in pieces. Out of line, so that short copies are short. */
static __attribute__((noinline)) int copy_long(char *to, const char *from, uint64_t bytes)
{
    for (; bytes > ARCH_PIECE; bytes -= ARCH_PIECE, to += ARCH_PIECE, from += ARCH_PIECE) {
        if (user_copy(to, from, ARCH_PIECE))
            return -EFAULT;
        crosscall_serve();
    }
    return (int)user_copy(to, from, bytes);
}

static inline int copy(void *to, const void *from, uint64_t bytes)
{
    lock_work_add(bytes);
    return bytes > ARCH_PIECE ? copy_long(to, from, bytes) : (int)user_copy(to, from, bytes);
}

int user_read(void *to, uint64_t from, uint64_t bytes)
{
    return range_is_user(from, bytes) ? copy(to, (const void *)from, bytes) : -EFAULT;
}

int user_write(uint64_t to, const void *from, uint64_t bytes)
{
    return range_is_user(to, bytes) ? copy((void *)to, from, bytes) : -EFAULT;
}

int user_clear(uint64_t to, uint64_t bytes)
{
    if (!range_is_user(to, bytes))
        return -EFAULT;
    lock_work_add(bytes);
    for (; bytes > ARCH_PIECE; bytes -= ARCH_PIECE, to += ARCH_PIECE) {
        if (user_zero((void *)to, ARCH_PIECE))
            return -EFAULT;
        crosscall_serve();
    }
    return (int)user_zero((void *)to, bytes);
}

void arch_zero(void *memory, uint64_t bytes)
{
    lock_work_add(bytes);
    for (; bytes > ARCH_PIECE; bytes -= ARCH_PIECE, memory = (char *)memory + ARCH_PIECE) {
        memory_zero(memory, ARCH_PIECE);
        crosscall_serve();
    }
    memory_zero(memory, bytes);
}

int64_t user_read_string(char *to, uint64_t from, uint64_t bytes)
{
    uint64_t room;
    long length;

    if (from >= ARCH_USER_LIMIT)
        return -EFAULT;
    room = ARCH_USER_LIMIT - from < bytes ? ARCH_USER_LIMIT - from : bytes;
    length = user_copy_string(to, (const char *)from, room);
    if (length < 0)
        return length;
    if ((uint64_t)length == room)
        return room < bytes ? -EFAULT : -ENAMETOOLONG;
    return length;
}

int user_read_word(uint32_t *to, uint64_t from)
{
    return range_is_user(from, sizeof(*to)) ? (int)user_load_word(to, (const uint32_t *)from) : -EFAULT;
}

int user_exchange_word(uint64_t at, uint32_t *expected, uint32_t desired)
{
    return range_is_user(at, sizeof(desired)) ? (int)user_swap_word((uint32_t *)at, expected, desired)
                                              : -EFAULT;
}
