/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ordering.pml: protocols between the kernel's CPUs, without a lock or through one, in memory that is as weak
 * as C allows (weak_memory.pml). Each is a few lines of the code, in the code's order and with the code's
 * memory orders; the comment above it names the file. PROTOCOL chooses one. test_ordering.py has spin try
 * every order of every step. Then it takes away each barrier (WITHOUT_…) or weakens an access (…_RELAXED):
 * spin must find an error, or the barrier is useless. docs/models.md says what is checked.
 *
 * Errors are assertions that fail, and CPUs that wait for ever (no process may be stuck).
 */
#define EVENT     1
#define AUDIENCE  2
#define WALL      3
#define SEQUENCE  4
#define CROSSCALL 5
#define SPACE     6
#define KEEPER    7
#define WAITING   8
#define WANDERER  9
#define RING      10
#define TURN      11
#define KILL      12
#define TABLE     13
#define LOCK      14
#define BLOCK     15
#define FUTEX     16
#define ENDING    17

#include "weak_memory.pml"

#ifdef NO_FENCE /* without the fences that a protocol calls */
#define FENCE skip
#else
#define FENCE fence()
#endif

byte finished;
#define FINISHED(count, holds)                                \
    atomic {                                                  \
        finished++;                                           \
        if                                                    \
        :: finished == count -> assert(holds)                 \
        :: else                                               \
        fi                                                    \
    }

/* thread_block and thread_wake, as BLOCK has proven them: no wake-up is lost, and a woken thread sees what
 * the waker had seen. */
inline wake(cpu)
{
    d_step { JOIN(SENT(cpu), SEEN(me)); sent[cpu] = true }
}
#define sleep() ipi_take()

#if PROTOCOL == EVENT
/* kernel/process/event.c: event_wait, event_notify. */
#define THING    0
#define EVENTS   1
#define SLEEPERS 2

active proctype waiter()
{
    byte me = 0, before, now, is_there, was;

    load_sc(EVENTS, before);
    do
    :: load_acquire(THING, is_there);
        if
        :: is_there -> break
        :: else
        fi;
#ifdef COUNT_LATE
        load_sc(EVENTS, now);
        exchange_sc(SLEEPERS, was, was + 1);
#elif defined(WAITER_RELAXED)
        exchange(SLEEPERS, was, was + 1, true, true);
        load_acquire(EVENTS, now);
#else
        exchange_sc(SLEEPERS, was, was + 1);
        load_sc(EVENTS, now);
#endif
        if
        :: now == before -> sleep()
        :: else
        fi;
        exchange(SLEEPERS, was, was - 1, false, false);
        load_sc(EVENTS, before)
    od
}

active proctype notifier()
{
    byte me = 1, was, sleepers;

    store_release(THING, 1);
#ifdef NOTIFIER_RELAXED
    exchange(EVENTS, was, was + 1, true, true);
    load_acquire(SLEEPERS, sleepers);
#else
    exchange_sc(EVENTS, was, was + 1);
    load_sc(SLEEPERS, sleepers);
#endif
    if
    :: sleepers -> wake(0)
    :: else
    fi
}
#endif

#if PROTOCOL == AUDIENCE
/* kernel/process/event.c: event_audience_add, event_audience_notify. Two threads of a process that has not
 * waited for the object before, and another process, the first member, which changes the object. The count of
 * its process's events wakes a thread (EVENT has proven this). */
#define THING  0
#define MEMBER 1
#define EVENTS 2

proctype joiner(byte me)
{
    byte before, now, is_there, was;

    load_sc(EVENTS, before);
    do
    :: load_acquire(THING, is_there);
        if
        :: is_there -> break
        :: else
        fi;
        fence();
        exchange_zero(MEMBER, was, 1);
        if
        :: !was ->
#ifndef WITHOUT_NOTIFY
            exchange_sc(EVENTS, was, was + 1)
#else
            skip
#endif
        :: else ->
            atomic { LATEST(EVENTS) != before; skip }; /* sleeps until then */
            load_sc(EVENTS, before)
        fi
    od
}

active proctype changer()
{
    byte me = 2, was, is_member;

    store_release(THING, 1);
#ifdef WITHOUT_COUNT
    skip;
#else
    fence(); /* event_notify of the first member: notify */
#endif
    load_relaxed(MEMBER, is_member);
    if
    :: is_member -> exchange_sc(EVENTS, was, was + 1)
    :: else
    fi
}

init { atomic { run joiner(0); run joiner(1) } }
#endif

#if PROTOCOL == WALL
/* kernel/time/clock.c: deadline_wall_wait_ns, clock_wall_line_set. The timer of a thread that
 * waits by the old line is checked again (timer_wall_check). */
#define LINE  0
#define WAITS 1

active proctype sleeper()
{
    byte me = 0, line;

#ifdef NO_FENCE
    store_sc(WAITS, 1);
#else
    store_relaxed(WAITS, 1);
    FENCE;
#endif
    load_acquire(LINE, line);
    if
    :: !line -> sleep()
    :: else
    fi
}

active proctype setter()
{
    byte me = 1, somebody;

    store_release(LINE, 1);
    load_sc(WAITS, somebody);
    if
    :: somebody -> wake(0)
    :: else
    fi
}
#endif

#if PROTOCOL == SEQUENCE
/* kernel/time/clock.c, clock_page.h, and the vDSO; kernel/process/cpu_time.c: parameters that must be
 * read together. */
#define NUMBER 0
#define BASE   1
#define OFFSET 2

active proctype writer()
{
    byte me = 0, was;

#ifdef NO_FENCE
    exchange_sc(NUMBER, was, was + 1);
#else
    exchange(NUMBER, was, was + 1, false, false);
    FENCE;
#endif
    store_relaxed(BASE, 1);
    store_relaxed(OFFSET, 1);
#ifdef END_RELAXED
    exchange(NUMBER, was, was + 1, false, false);
#else
    exchange_sc(NUMBER, was, was + 1);
#endif
}

active proctype reader()
{
    byte me = 1, number, again, base, offset;

#ifdef BEGIN_RELAXED
    load_relaxed(NUMBER, number);
#else
    load_acquire(NUMBER, number);
#endif
    load_relaxed(BASE, base);
    load_relaxed(OFFSET, offset);
#ifndef WITHOUT_READER_FENCE
    fence_acquire();
#endif
    load_relaxed(NUMBER, again);
    assert(number != again || number % 2 || base == offset);
}
#endif

#if PROTOCOL == CROSSCALL
/* kernel/smp/crosscall.c: two callers, and the CPU that serves them; each caller's bit is in a word of its
 * own. The first caller's function and context are one variable. A call is pending until its bit of `done` is
 * set. */
#define CALLERS   0 /* and 1 */
#define IS_CALLED 2
#define CALL      3
byte done;

proctype caller(byte me)
{
    byte was;

    if
    :: me == 0 -> store_relaxed(CALL, 1)
    :: else
    fi;
#ifdef CALL_RELAXED
    exchange(CALLERS + me, was, 1, false, false);
    store_relaxed(IS_CALLED, 1);
#else
    exchange_sc(CALLERS + me, was, 1);
    store_sc(IS_CALLED, 1);
#endif
#ifdef IPI_WITHOUT_BARRIER
    sent[2] = true;
#else
    ipi_send(2);
#endif
    done >> me & 1
}

inline serve(who)
{
    load_relaxed(CALLERS + who, callers);
    if
    :: callers ->
        exchange(CALLERS + who, callers, 0, true, false);
        if
        :: who == 0 -> load_relaxed(CALL, callers); assert(callers)
        :: else
        fi;
        done = done | 1 << who
    :: else
    fi
}

active proctype server()
{
    byte me = 2, was, callers;
    bool has_looked;

end:
    do
    :: if
        :: ipi_take()
        :: !has_looked -> has_looked = true /* it spins; one check shows as much as many */
        fi;
        load_relaxed(IS_CALLED, was);
        if
        :: was ->
#ifndef CLEAR_LATE
            exchange_sc(IS_CALLED, was, 0);
#endif
            serve(0);
            serve(1);
#ifdef CLEAR_LATE
            exchange_sc(IS_CALLED, was, 0)
#else
            skip
#endif
        :: else
        fi
    od
}

init { atomic { run caller(0); run caller(1) } }
#endif

#if PROTOCOL == SPACE
/* arch/common/user_map.c: tlb_batch_flush while arch_space_activate runs. A shootdown makes the other CPU
 * drop what it has walked; memory is then ordered as after an interrupt. */
#define ACTIVE 0
#define ENTRY  1 /* 1: no longer present */
bool is_cached, is_dropped;

active proctype activator()
{
    byte me = 0, was, entry;

    exchange_sc(ACTIVE, was, 1);
#ifndef WITHOUT_ACTIVATE_FENCE
    fence();
#endif
    load_relaxed(ENTRY, entry);
    is_cached = !entry;
    FINISHED(2, !is_cached || is_dropped)
}

active proctype changer()
{
    byte me = 1, is_active;

    store_relaxed(ENTRY, 1);
#ifndef WITHOUT_FLUSH_FENCE
    fence();
#endif
    load_relaxed(ACTIVE, is_active);
    if
    :: is_active -> d_step { is_dropped = true; JOIN(SEEN(0), SEEN(me)) }
    :: else
    fi;
    FINISHED(2, !is_cached || is_dropped)
}
#endif

#if PROTOCOL == KEEPER
/* kernel/net/idle.c: keeper_set, and idle_end of that CPU. */
#define BUSY   0 /* it does not idle */
#define KEEPER_IS 1
bool is_left, is_noticed;

active proctype chooser()
{
    byte me = 0, busy;

    store_sc(KEEPER_IS, 1);
    FENCE;
    load_relaxed(BUSY, busy);
    is_left = !busy;
    FINISHED(2, !is_left || is_noticed)
}

active proctype leaver()
{
    byte me = 1, was, keeper;

    exchange_sc(BUSY, was, 1);
#ifdef LEAVER_RELAXED
    load_acquire(KEEPER_IS, keeper);
#else
    fence();
    load_sc(KEEPER_IS, keeper);
#endif
    is_noticed = keeper;
    FINISHED(2, !is_left || is_noticed)
}
#endif

#if PROTOCOL == WAITING
/* kernel/net/idle.c: idle_wait_begin, and idle_end of the last keeper: one CPU must look for
 * the waiter. */
#define WAITING_HERE 0
#define WAITING_ALL  1
#define NO_KEEPER    2
bool looks;

active proctype waiter()
{
    byte me = 0, was, nobody;

    exchange_sc(WAITING_HERE, was, 1);
#ifdef WAITER_RELAXED
    exchange(WAITING_ALL, was, 1, true, true);
    load_acquire(NO_KEEPER, nobody);
#else
    exchange_sc(WAITING_ALL, was, 1);
    load_sc(NO_KEEPER, nobody);
#endif
    if
    :: nobody -> looks = true
    :: else
    fi;
    FINISHED(2, looks)
}

active proctype leaver()
{
    byte me = 1, all, here;

    store_sc(NO_KEEPER, 1);
#ifdef COUNT_RELAXED
    load_relaxed(WAITING_ALL, all);
#else
    load_sc(WAITING_ALL, all);
#endif
    if
    :: all -> load_relaxed(WAITING_HERE, here); assert(here); looks = true
    :: else
    fi;
    FINISHED(2, looks)
}
#endif

#if PROTOCOL == WANDERER
/* kernel/process/schedule.c: idle, wanderer_fetch, wanderer_offer. */
#define IDLE      0
#define WANDERERS 1
#define READY     2

active proctype idler()
{
    byte me = 0, wanderers, ready;

    store_relaxed(IDLE, 1);
#ifndef WITHOUT_IDLE_FENCE
    fence();
    load_sc(WANDERERS, wanderers);
#else
    load_acquire(WANDERERS, wanderers);
#endif
    if
    :: !wanderers -> ipi_take(); load_sc(WANDERERS, wanderers)
    :: else
    fi;
    load_relaxed(READY, ready);
    assert(wanderers && ready)
}

active proctype offerer()
{
    byte me = 1, was, idle;

    store_relaxed(READY, 1);
    exchange_sc(WANDERERS, was, was + 1);
    FENCE;
    load_relaxed(IDLE, idle);
    if
    :: idle -> ipi_send(0)
    :: else
    fi
}
#endif

#if PROTOCOL == RING
/* kernel/debug/klog.h: klog_write; klog.c: event_read. A ring of two slots: the words are those of the slot
 * of events 0 and 2; the other slot is not modelled. */
#define WRITTEN 0
#define WORDS   1 /* 1 and 2 */

active proctype writer()
{
    byte me = 0;

    store_relaxed(WORDS, 1);
    store_relaxed(WORDS + 1, 1);
#ifdef END_RELAXED
    store_relaxed(WRITTEN, 1);
#else
    store_release(WRITTEN, 1);
#endif
    store_release(WRITTEN, 2);
#ifndef WITHOUT_WRITER_FENCE
    fence_release();
#endif
    store_relaxed(WORDS, 2);
    store_relaxed(WORDS + 1, 2);
    store_release(WRITTEN, 3)
}

active proctype reader()
{
    byte me = 1, written, first, second;

    load_acquire(WRITTEN, written);
    if
    :: written == 1 ->
        load_relaxed(WORDS, first);
        load_relaxed(WORDS + 1, second);
#ifndef WITHOUT_READER_FENCE
        fence_acquire();
#endif
        load_relaxed(WRITTEN, written);
        assert(written > 1 || (first == 1 && second == 1)) /* else it was overwritten */
    :: else
    fi
}
#endif

#if PROTOCOL == TURN
/* kernel/process/run_queue.c: turn_is_armed of a CPU that queues a thread, turn_expire of the timer's CPU. */
#define READY       0
#define NOT_PENDING 1
bool interrupts, sees;

active proctype placer()
{
    byte me = 0, not_pending;

    store_release(READY, 1);
#ifndef WITHOUT_PLACER_FENCE
    fence();
#endif
    load_acquire(NOT_PENDING, not_pending);
    interrupts = not_pending;
    FINISHED(2, interrupts || sees)
}

active proctype expirer()
{
    byte me = 1, ready;

    store_release(NOT_PENDING, 1);
#ifndef WITHOUT_EXPIRE_FENCE
    fence();
#endif
    load_relaxed(READY, ready);
    sees = ready;
    FINISHED(2, interrupts || sees)
}
#endif

#if PROTOCOL == KILL
/* kernel/init/job.c: job_kill, and rank_run of a rank that starts. */
#define IS_KILLED 0
#define PROCESS   1
bool ends;

active proctype killer()
{
    byte me = 0, process;

    store_sc(IS_KILLED, 1);
    FENCE;
    load_acquire(PROCESS, process);
    if
    :: process -> ends = true
    :: else
    fi;
    FINISHED(2, ends)
}

active proctype rank()
{
    byte me = 1, is_killed;

    store_release(PROCESS, 1);
#ifdef RANK_RELAXED
    load_acquire(IS_KILLED, is_killed);
#else
    load_sc(IS_KILLED, is_killed);
#endif
    if
    :: is_killed -> ends = true
    :: else
    fi;
    FINISHED(2, ends)
}
#endif

#if PROTOCOL == TABLE
/* arch/common/page_table.c: entry_create, page_split, and a CPU that walks the tables meanwhile. */
#define BELOW 0
#define ABOVE 1

active proctype maker()
{
    byte me = 0;

    store_relaxed(BELOW, 1); /* zeros, or the pages of the large page */
#ifdef ENTRY_RELAXED
    store_relaxed(ABOVE, 1);
#else
    store_release(ABOVE, 1);
#endif
}

active proctype walker()
{
    byte me = 1, above, below;

    load_acquire(ABOVE, above); /* the next load depends on it */
    load_relaxed(BELOW, below);
    assert(!above || below)
}
#endif

#if PROTOCOL == LOCK
/* kernel/smp/spinlock.h: what is changed under a lock. */
#define LOCK_IS 0
#define COUNT   1

proctype holder(byte me)
{
    byte count;

    lock(LOCK_IS);
    load_relaxed(COUNT, count);
    store_relaxed(COUNT, count + 1);
    unlock(LOCK_IS);
    FINISHED(3, LATEST(COUNT) == 3)
}

init { atomic { run holder(0); run holder(1); run holder(2) } }
#endif

#if PROTOCOL == BLOCK
/* kernel/process/sleep.c, schedule.c: thread_block, idle, thread_wake; no other thread is ready. How often
 * the CPU checks whether it still idles, other than after an IPI, does not matter. */
#define REASON   0
#define LOCK_IS  1
#define STATE    2 /* 0 runs, 1 is blocked, 2 has been notified */
#define NOT_IDLE 3

active proctype blocker()
{
    byte me = 0, reason, state, not_idle;

    load_acquire(REASON, reason);
    if
    :: !reason ->
        lock(LOCK_IS);
        load_relaxed(STATE, state);
        if
        :: state == 2 -> unlock(LOCK_IS)
        :: else ->
            store_relaxed(STATE, 1);
            unlock(LOCK_IS);
            load_acquire(NOT_IDLE, not_idle);
            if
            :: !not_idle -> ipi_take()
            :: else
            fi;
            load_acquire(NOT_IDLE, not_idle);
            load_acquire(STATE, state);
            assert(not_idle && state == 0)
        fi;
        load_relaxed(REASON, reason);
        assert(reason)
    :: else
    fi
}

active proctype waker()
{
    byte me = 1, state;

    store_relaxed(REASON, 1);
    lock(LOCK_IS);
    load_relaxed(STATE, state);
    if
    :: state == 1 ->
        store_release(STATE, 0);
#ifdef IDLE_RELAXED
        store_relaxed(NOT_IDLE, 1);
#else
        store_release(NOT_IDLE, 1);
#endif
#ifdef IPI_WITHOUT_BARRIER
        sent[0] = true
#else
        ipi_send(0)
#endif
    :: else -> store_relaxed(STATE, 2)
    fi;
    unlock(LOCK_IS)
}
#endif

#if PROTOCOL == FUTEX
/* kernel/process/futex.c: waiter_enter, futex_wake. The program's word may be stored in any way. */
#define WORD    0
#define LOCK_IS 1
#define QUEUE   2

active proctype waiter()
{
    byte me = 0, word;

#ifdef COMPARE_EARLY
    load_relaxed(WORD, word);
#endif
    lock(LOCK_IS);
#ifndef COMPARE_EARLY
    load_relaxed(WORD, word);
#endif
    if
    :: !word -> store_relaxed(QUEUE, 1)
    :: else
    fi;
    unlock(LOCK_IS);
    if
    :: !word -> sleep()
    :: else
    fi
}

active proctype waker()
{
    byte me = 1, waiters;

    store_relaxed(WORD, 1);
    lock(LOCK_IS);
    load_relaxed(QUEUE, waiters);
    if
    :: waiters -> wake(0)
    :: else
    fi;
    unlock(LOCK_IS)
}
#endif

#if PROTOCOL == ENDING
/* kernel/process/process.c, process.h: process_exit, process_exit_status. */
#define STATUS 0
#define ENDS   1

active proctype ender()
{
    byte me = 0;

    store_relaxed(STATUS, 1);
#ifdef ENDS_RELAXED
    store_relaxed(ENDS, 1);
#else
    store_release(ENDS, 1);
#endif
}

active proctype thread()
{
    byte me = 1, ends, status;

    load_relaxed(ENDS, ends);
#ifndef WITHOUT_READER_FENCE
    fence_acquire();
#endif
    load_relaxed(STATUS, status);
    assert(!ends || status)
}
#endif
