/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * itimer.h: timers that send a program signals: setitimer, alarm, timer_create.
 *
 * A timer that runs is a smart timer (timer.h) on the CPU where it was set: it fires at most the setting
 * thread's latency bound late. When it has fired, its one signal waits until a thread takes it, and only then
 * a periodic timer is armed again, for the first period that has not passed; those between are its overruns.
 * So a blocked or ignored signal costs no interrupt, and a timer of no length at all slows down its own
 * program at most.
 *
 * Source: man 2 timer_create, timer_settime, timer_getoverrun, setitimer (facts of the interface).
 */
#ifndef TACET_ITIMER_H
#define TACET_ITIMER_H

#include "process/signal.h"
#include "time/timer.h"

#define PROGRAM_TIMERS 128 /* of timer_create, a process */

struct program_timer {
    struct process *process; /* NULL: not in use */
    uint64_t setting;        /* counts settings, so that a signal of an older one is known */
    uint64_t deadline_ns;    /* local time; 0: not set */
    uint64_t interval_ns;    /* 0: once */
    bool is_wall;            /* set by the time of day */
    bool silent;             /* SIGEV_NONE: nobody is told, nothing is armed */
    uint32_t tid;            /* the thread that gets the signal; 0: any of the process */
    bool armed;              /* `alarm` has not come yet, */
    unsigned cpu;            /* in this CPU's queue */
    bool ignored;            /* it has, but the program ignores the signal */
    int32_t overrun;         /* told with the last signal */
    struct smart_timer alarm;
    struct signal_entry entry;
};

struct process_timers {
    struct spinlock lock;        /* guards these; taken before the process's lock and the signals' */
    bool some_set, some_ignored; /* maybe: what a change of an action has to look at */
    bool refused;                /* one more than there are, and told so */
    struct program_timer real;   /* setitimer's ITIMER_REAL, alarm */
    struct program_timer created[PROGRAM_TIMERS];
};

/* What a timer is set to, and what is left of it: ns, 0: not set. */
struct timer_setting {
    uint64_t left_ns, interval_ns;
};

/* A new timer of the caller's process: its number, or -EAGAIN. It sends `signal` with *value, NULL: with its
 * number. */
int itimer_create(int signal, const uint64_t *value, uint32_t tid, bool silent, bool is_wall);

/* A timer by its number, NULL where there is none. Any number is fine. Another thread may delete it at any
 * time. */
struct program_timer *itimer_find(uint64_t id);
int itimer_delete(uint64_t id); /* -EINVAL */

/* Sets a timer to a local time and an interval; a deadline of 0 stops it. What was left is told. */
void itimer_set(struct program_timer *timer, uint64_t deadline_ns, uint64_t interval_ns,
                struct timer_setting *old);
struct timer_setting itimer_get(struct program_timer *timer);

/* ITIMER_REAL of the caller's process. */
struct program_timer *itimer_real(void);

/* A thread takes the signal of a timer: completes what it carries, and goes on. signal.c */
void itimer_signal_taken(struct program_timer *timer, uint64_t setting, struct signal_info *info);

/* The program may ignore a signal from now on, or no longer. signal.c */
void itimer_action_changed(struct process *process, int signal);

/* The process ends: nothing stays armed. */
void itimer_end(struct process *process);

#endif
