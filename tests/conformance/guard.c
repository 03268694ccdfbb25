/* SPDX-License-Identifier: BSD-2-Clause */
/* guard.c: a touch of memory without rights raises SIGSEGV with the address that was touched, and a handler
 * can return elsewhere. */
#include "conform.h"

#include <setjmp.h>

static sigjmp_buf back;
static siginfo_t reported;

static void note(int number, siginfo_t *info, void *context)
{
    (void)context;
    reported = *info;
    siglongjmp(back, number);
}

/* The signal that a read or a write at a place raises, or 0. */
static int touched(volatile char *place, bool write)
{
    int number = sigsetjmp(back, 1);

    if (number)
        return number;
    if (write)
        *place = 1;
    else
        (void)*place;
    return 0;
}

CONFORM(guard)
{
    struct sigaction action;
    char *place = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(&action, 0, sizeof(action));
    action.sa_sigaction = note;
    action.sa_flags = SA_SIGINFO;
    if (sys(SYS_rt_sigaction, SIGSEGV, NULL, NULL, SIGSET_BYTES) != 0 ||
        sigaction(SIGSEGV, &action, NULL) != 0) {
        holds("a handler", false);
        return;
    }
    sys(SYS_mprotect, place + PAGE, PAGE, PROT_NONE);
    sys(SYS_mprotect, place + 2 * PAGE, PAGE, PROT_READ);
    result("what is there", touched(place, true));
    result("a page without rights, read", touched(place + PAGE + 1000, false));
    result("its code", reported.si_code);
    holds("its address", reported.si_addr == place + PAGE + 1000);
    result("a read-only page, read", touched(place + 2 * PAGE + 1000, false));
    result("a read-only page, written", touched(place + 2 * PAGE + 1000, true));
    result("its code then", reported.si_code);
    sys(SYS_munmap, place + PAGE, PAGE);
    result("nobody's memory", touched(place + PAGE + 1000, false));
    result("its code there", reported.si_code);
}
