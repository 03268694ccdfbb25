/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * posix_timer.h: timers that send a program signals: setitimer, alarm, timer_create.
 *
 * A timer that runs is a smart timer (timer.h) on the CPU where it was set: it fires at most the setting
 * thread's latency bound late. When it has fired, its one signal is pending until a thread takes it, and only
 * then a periodic timer is armed again, for the first period that has not passed; the periods between are its
 * overruns. So a blocked or ignored signal costs no interrupt, and a timer with a very short period slows
 * down its own program at most.
 *
 * Source: man 2 timer_create, timer_settime, timer_getoverrun, setitimer (facts of the interface).
 */
#ifndef TACET_POSIX_TIMER_H
#define TACET_POSIX_TIMER_H

#include "process/signal.h"
#include "smp/spinlock.h"
#include "time/timer.h"

#define POSIX_TIMERS_MAX 128 /* timers of timer_create per process */

/* Set and armed; then expired, its signal pending; then armed again (periodic) or at its end. A periodic
 * timer that is set, but neither armed nor with a pending signal, is suspended: the program ignores the
 * signal. */
struct posix_timer {
    struct process *process; /* NULL: not in use */
    uint64_t setting;        /* counts settings: shows whether a signal belongs to the present one */
    uint64_t deadline_ns;    /* local time, or wall time; 0: not set */
    uint64_t interval_ns;    /* 0: once */
    bool is_wall;            /* the clock is CLOCK_REALTIME */
    bool goes_by_wall;       /* set to a time of the wall clock, which may step */
    bool is_silent;          /* SIGEV_NONE: no signal, nothing is armed */
    uint32_t tid;            /* the thread that gets the signal; 0: any of the process */
    bool armed;              /* `alarm` has still to be handled */
    int32_t overrun;         /* overrun of the last signal that was taken */
    struct smart_timer alarm;
    struct signal_entry entry;
};

struct process_timers {
    struct spinlock lock; /* guards these; taken before the process's lock and the signals' */
    bool some_set;        /* one has been set so far: a change of an action must search them */
    struct posix_timer all[POSIX_TIMERS_MAX + 1]; /* the last one: setitimer's ITIMER_REAL, alarm */
};

/* What a timer is set to: the time left and the interval, ns; 0: not set. */
struct timer_setting {
    uint64_t left_ns, interval_ns;
};

/* Creates a timer of the caller's process. Returns its number, or -EAGAIN. It sends `signal` with *value, or
 * with its number if `value` is NULL. */
int posix_timer_create(int signal, const uint64_t *value, uint32_t tid, bool is_silent, bool is_wall);

/* Finds a timer by its number, which may be any; NULL if there is none. Another thread may delete it at any
 * time. */
struct posix_timer *posix_timer_find(uint64_t id);
int posix_timer_delete(uint64_t id); /* -EINVAL */

/* Sets a timer to a deadline, not DEADLINE_TAI, and an interval; a deadline of 0 stops it. *old gets the
 * setting before. */
void posix_timer_set(struct posix_timer *timer, uint64_t deadline, uint64_t interval_ns,
                     struct timer_setting *old);
struct timer_setting posix_timer_get(struct posix_timer *timer);

/* Returns ITIMER_REAL of the caller's process. */
struct posix_timer *posix_timer_real(void);

/* Fills in the overrun of a timer's signal that a thread has taken; arms a periodic timer again. signal.c */
void posix_timer_signal_taken(struct posix_timer *timer, uint64_t setting, struct signal_info *info);

/* Resumes suspended timers of a signal that the program does not ignore now, but may have before.
 * signal.c */
void posix_timers_resume(struct process *process, int signal);

/* Stops all timers of a process that ends. */
void posix_timers_end(struct process *process);

#endif
