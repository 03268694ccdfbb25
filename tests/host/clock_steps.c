/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock_steps.c: a machine whose clocks are set, or which is suspended, for one program: loaded before the C
 * library (LD_PRELOAD), it moves what its clocks say by what a file says, which both map (CLOCK_STEPS names
 * it). What the machine's own kernel does, waits and time stamps of packets, stays.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

/* tests/host/test_conductor_clock.py writes it. */
struct steps {
    volatile int64_t wall_ns; /* by which CLOCK_REALTIME and CLOCK_TAI have been set */
    volatile int64_t boot_ns; /* for which the machine was suspended */
    volatile int64_t tai_s;   /* by which TAI is ahead of UTC */
};

static struct steps *steps;

__attribute__((constructor)) static void begin(void)
{
    int file = open(getenv("CLOCK_STEPS"), O_RDONLY);

    steps = mmap(NULL, sizeof(*steps), PROT_READ, MAP_SHARED, file, 0);
    if (steps == MAP_FAILED)
        abort();
    close(file);
}

static struct timespec moved(struct timespec time, int64_t ns)
{
    const int64_t sum = time.tv_sec * NS_PER_S + time.tv_nsec + ns;

    return (struct timespec){ sum / NS_PER_S, sum % NS_PER_S };
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    const int64_t wall_ns = steps->wall_ns + steps->boot_ns;

    if (syscall(SYS_clock_gettime, clock == CLOCK_TAI ? CLOCK_REALTIME : clock, time) != 0)
        return -1;
    if (clock == CLOCK_TAI)
        *time = moved(*time, wall_ns + steps->tai_s * NS_PER_S);
    else if (clock == CLOCK_REALTIME)
        *time = moved(*time, wall_ns);
    else if (clock == CLOCK_BOOTTIME)
        *time = moved(*time, steps->boot_ns);
    return 0;
}

int adjtimex(struct timex *state)
{
    const int result = (int)syscall(SYS_adjtimex, state);

    state->tai = (int)steps->tai_s;
    return result;
}

int timerfd_settime(int file, int flags, const struct itimerspec *when, struct itimerspec *before)
{
    struct itimerspec own = *when;

    if (own.it_value.tv_sec || own.it_value.tv_nsec)
        own.it_value = moved(own.it_value, -steps->boot_ns);
    return (int)syscall(SYS_timerfd_settime, file, flags, &own, before);
}
