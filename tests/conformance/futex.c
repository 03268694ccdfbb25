/* SPDX-License-Identifier: BSD-2-Clause */
/* futex.c: a word that is compared, and waited for with a time. */
#include "conform.h"

CONFORM(futex)
{
    static int words[2] = { 5, 0 };
    struct timespec t = { 0, 2000000 };
    uint64_t begin;

    result("wake nobody", sys(SYS_futex, words, FUTEX_WAKE, 1));
    result("wake nobody, private", sys(SYS_futex, words, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX));
    result("wait for another value", sys(SYS_futex, words, FUTEX_WAIT, 6, NULL));
    begin = now_ns();
    result("wait for a time", sys(SYS_futex, words, FUTEX_WAIT, 5, &t));
    holds("not before it is over", now_ns() - begin >= 2000000);
    result("wait up to a time that is over", sys(SYS_futex, words, FUTEX_WAIT_BITSET, 5, &t, NULL, -1));
    result("wait by the real time",
           sys(SYS_futex, words, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 5, &t, NULL, -1));
    result("wait for no bits", sys(SYS_futex, words, FUTEX_WAIT_BITSET, 5, &t, NULL, 0));
    result("wake no bits", sys(SYS_futex, words, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0));
    result("half a word", sys(SYS_futex, (char *)words + 1, FUTEX_WAIT, 5, &t));
    result("wait at nobody's", sys(SYS_futex, 0x10000, FUTEX_WAIT, 5, &t));
    result("wait in the kernel's memory", sys(SYS_futex, KERNEL_SIDE, FUTEX_WAIT, 5, &t));
    t.tv_nsec = -1;
    result("no time at all", sys(SYS_futex, words, FUTEX_WAIT, 5, &t));
    result("a time at nobody's", sys(SYS_futex, words, FUTEX_WAIT, 5, NOWHERE));
    result("no such operation", sys(SYS_futex, words, 99, 5));
    result("FUTEX_WAIT with a bit that is none", sys(SYS_futex, words, 0x1000 | FUTEX_WAIT, words[0]));
    result("requeue nobody", sys(SYS_futex, words, FUTEX_REQUEUE, 1, 1, words + 1, 0));
    result("requeue for another value", sys(SYS_futex, words, FUTEX_CMP_REQUEUE, 1, 1, words + 1, 6));
    result("requeue for the value", sys(SYS_futex, words, FUTEX_CMP_REQUEUE, 1, 1, words + 1, 5));
    result("wake and add",
           sys(SYS_futex, words, FUTEX_WAKE_OP, 1, 1, words + 1, FUTEX_ADD_AND_WAKE_IF_ZERO(3)));
    result("the other word", words[1]);
}
