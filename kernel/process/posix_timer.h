/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * posix_timer.h: timers that send a program signals: setitimer, alarm, timer_create, RLIMIT_CPU.
 *
 * A timer that runs is a smart timer (timer.h) on the CPU where it was set: it fires at most the setting
 * thread's latency bound late. When it has fired, its one signal is pending until a thread takes it, and only
 * then a periodic timer is armed again, for the first period that has not passed; the periods between are its
 * overruns. So a blocked or ignored signal costs no interrupt, and a timer with a very short period slows
 * down its own program at most.
 *
 * A timer of CPU time has a deadline on the clock of a thread, or of a process: the sum of its threads. Its
 * alarm is pending for the earliest time at which it can expire: the rest divided by the number of CPUs that
 * the process uses. The alarm looks at the clock, and expires the timer or begins again with what is left.
 *
 *      a thread of the clock goes on, after a sleep or a switch     the alarm is moved forward, if necessary
 *      one blocks or leaves its CPU                                 nothing: the alarm finds more left
 *      the alarm finds that no thread of the clock runs             it is pending again when one goes on
 *
 * So it is never early, and late by less than the latency bound and CPU_TIMER_STEP_NS of real time, and the
 * rest of a system call; of a process's CPU time, that times the CPUs in use. A thread goes on by the slow
 * return path while its process has such timers set (process_signals.timed); nothing is done, or checked, in
 * a process that has none.
 *
 * Source: man 2 timer_create, timer_settime, timer_getoverrun, setitimer, getrlimit (facts of the interface).
 */
#ifndef TACET_POSIX_TIMER_H
#define TACET_POSIX_TIMER_H

#include "process/signal.h"
#include "smp/spinlock.h"
#include "time/timer.h"

#define POSIX_TIMERS_MAX  128    /* timers of timer_create per process */
#define CPU_TIMER_STEP_NS 100000 /* how long an alarm waits at least for a clock of CPU time */

/* A process's other timers: setitimer's, by Linux's numbers, and the one of RLIMIT_CPU. */
enum { TIMER_REAL, TIMER_VIRTUAL, TIMER_PROF, TIMER_LIMIT, PROCESS_TIMERS };

/* What a timer goes by; all zero: clock_now_ns. */
struct timer_clock {
    bool is_wall; /* CLOCK_REALTIME */
    bool is_cpu;  /* CPU time of the thread `tid`; 0: of the process */
    bool is_user; /* of the CPU time only the user time */
    uint32_t tid;
};

/* Set and armed; then expired, its signal pending; then armed again (periodic) or at its end. A periodic
 * timer that is set, but neither armed nor with a pending signal, is suspended: the program ignores the
 * signal. */
struct posix_timer {
    struct list_link link;   /* in the list of its clock, while a timer of CPU time is set */
    struct process *process; /* NULL: not in use */
    uint64_t setting;        /* counts settings: shows whether a signal belongs to the present one */
    uint64_t deadline_ns;    /* local time, wall time or CPU time; 0: not set */
    uint64_t interval_ns;    /* 0: once */
    struct timer_clock clock;
    bool goes_by_wall;     /* set to a time of the wall clock, which may step */
    bool is_listed;        /* `link` is in a list */
    struct thread *thread; /* while it is listed: the thread by whose clock it goes; NULL: the process's */
    unsigned running;      /* the CPUs in use for which the alarm is pending */
    uint64_t bound_ns;     /* latency bound of the thread that has set it */
    bool is_silent;        /* SIGEV_NONE: no signal, nothing is armed */
    uint32_t tid;          /* the thread that gets the signal; 0: any of the process */
    bool armed;            /* `alarm` has still to be handled */
    int32_t overrun;       /* overrun of the last signal that was taken */
    struct smart_timer alarm;
    struct signal_entry entry;
};

struct process_timers {
    struct spinlock lock; /* guards these; taken before the process's lock and the signals' */
    bool some_set;        /* one has been set so far: a change of an action must search them */
    struct list of_cpus;  /* those that are set and go by the process's CPU time; others: struct thread */
    unsigned listed;      /* timers of CPU time that are set */
    unsigned sampled;     /* the CPU whose thread got the last signal of such a timer */
    struct posix_timer all[POSIX_TIMERS_MAX + PROCESS_TIMERS];
};

/* What a timer is set to: the time left and the interval, ns; 0: not set. */
struct timer_setting {
    uint64_t left_ns, interval_ns;
};

/* Creates a timer of the caller's process. Returns its number, or -EAGAIN. It sends `signal` with *value, or
 * with its number if `value` is NULL. */
int posix_timer_create(const struct timer_clock *clock, int signal, const uint64_t *value, uint32_t tid,
                       bool is_silent);

/* Finds a timer by its number, which may be any; NULL if there is none. Another thread may delete it at any
 * time. */
struct posix_timer *posix_timer_find(uint64_t id);
int posix_timer_delete(uint64_t id); /* -EINVAL */

/* Sets a timer to a time of its clock, or, unless `is_absolute`, from now on by its clock, and an interval; a
 * time of 0 stops it. *old gets the setting before. -ESRCH if it goes by a thread that has ended. */
int posix_timer_set(struct posix_timer *timer, uint64_t ns, bool is_absolute, uint64_t interval_ns,
                    struct timer_setting *old);
struct timer_setting posix_timer_get(struct posix_timer *timer);

/* Returns one of the other timers of the caller's process. */
struct posix_timer *posix_timer_of_process(unsigned which);

/* Applies RLIMIT_CPU of the caller's process: SIGXCPU from the soft limit on, each second; SIGKILL at the
 * hard limit. */
void posix_timer_limit_set(void);

/* Brings the alarms of CPU timers in line with a thread that goes on. On its way back to the program,
 * no locks held, if its process has such timers set. */
void posix_timers_go_on(struct thread *thread);

/* Stops the timers by the clock of a thread that ends, once its process no longer has it, and resumes others
 * whose signal has ended with it. */
void posix_timers_thread_end(struct thread *thread);

/* Fills in the overrun of a timer's signal that a thread has taken; arms a periodic timer again. signal.c */
void posix_timer_signal_taken(struct posix_timer *timer, uint64_t setting, struct signal_info *info);

/* Resumes suspended timers of a signal that the program does not ignore now, but may have before.
 * signal.c */
void posix_timers_resume(struct process *process, int signal);

/* Stops all timers of a process that ends. */
void posix_timers_end(struct process *process);

#endif
