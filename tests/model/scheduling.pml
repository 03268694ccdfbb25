/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scheduling.pml: which threads run, wait and wake: kernel/process/schedule.c, sleep.c, futex.c, and the ends
 * of threads and processes (thread.c, process.c), for 3 threads on the 2 CPUs of a rank. The names are those
 * of the code. test_models.py has spin try every order of every step. docs/models.md says what is checked,
 * what is left out, and how to run spin by hand.
 *
 * A thread is a process of Promela, and so is a CPU's own stack (thread_idle). `on` is the CPU on which each
 * of them executes. One that is on no CPU waits in arch_switch until its registers are loaded.
 *
 * What a lock guards is one step, because no other CPU sees its parts. The exceptions are data that is read
 * without the lock: the bits of idle CPUs, whether a queue is empty, a thread's state, its affinity. Memory
 * is sequentially consistent. If the code may choose freely (the idle CPU, the thread of a queue), the model
 * tries all choices.
 *
 * -DPROGRAM=… chooses what the threads do. All programs end, so a lost wake-up leads to a state in which no
 * process can go on and some thread has not ended. One more -D, such as WITHOUT_NOTIFIED, puts one fault into
 * the protocol: spin must find it. test_models.py lists them.
 */

/* ---- Programs ---- */

#define PROGRAM_WAKE   1 /* two threads wait for a futex, one with a time limit; one wakes them */
#define PROGRAM_SIGNAL 2 /* one waits for a signal, one computes until it gets one; one sends both */
#define PROGRAM_END    3 /* one ends the process; the others wait, compute, yield, or end */
#define PROGRAM_MOVE   4 /* one sets affinities of all, and ends the process; the others wait or compute */
#ifndef PROGRAM
#define PROGRAM PROGRAM_WAKE
#endif

#define OP_EXIT       0
#define OP_WAIT       1 /* futex_wait; a wake-up or a signal comes */
#define OP_WAIT_LIMIT 2 /* the same, with a time limit */
#define OP_WAKE       3 /* changes the word, and futex_wake for all */
#define OP_COMPUTE    4 /* makes no call until a signal or the end of the process comes */
#define OP_YIELD      5
#define OP_SIGNAL     6 /* signals to the other two */
#define OP_EXIT_GROUP 7
#define OP_MOVE       8 /* sched_setaffinity, of any thread */

/* Chooses a thread's next call; `count` is the number of its calls so far. */
inline operation_choose()
{
    atomic {
        if
#if PROGRAM == PROGRAM_WAKE
        :: count == 0 && t == 0 -> operation = OP_WAIT_LIMIT
        :: count == 0 && t == 1 -> operation = OP_WAIT
        :: count == 0 && t == 1 -> operation = OP_YIELD; count--
        :: count == 0 && t == 2 -> operation = OP_WAKE
#elif PROGRAM == PROGRAM_SIGNAL
        :: count == 0 && t == 0 -> operation = OP_WAIT
        :: count == 0 && t == 1 -> operation = OP_COMPUTE
        :: count == 0 && t == 1 -> operation = OP_YIELD; count--
        :: count == 0 && t == 2 -> operation = OP_SIGNAL
#elif PROGRAM == PROGRAM_END
        :: count == 0 && t == 0 -> operation = OP_WAIT
        :: count == 0 && t == 0 -> operation = OP_EXIT
        :: count == 0 && t == 1 -> operation = OP_COMPUTE
        :: count == 0 && t == 1 -> operation = OP_YIELD; count--
        :: count == 0 && t == 1 -> operation = OP_WAIT
        :: count == 0 && t == 2 -> operation = OP_EXIT_GROUP
#else
        :: count == 0 && t == 0 -> operation = OP_WAIT
        :: count == 0 && t == 1 -> operation = OP_COMPUTE
        :: count == 0 && t == 1 -> operation = OP_YIELD; count--
        :: count == 0 && t == 2 -> operation = OP_MOVE
        :: count == 1 && t == 2 -> operation = OP_EXIT_GROUP
#endif
        :: else -> operation = OP_EXIT
        fi;
        count++
    }
}

/* ---- State ---- */

#define CPUS        2
#define OUTSIDE     2 /* "CPU" outside the rank: a timer's interrupt, another rank */
#define THREADS     3
#define NOBODY      7
#define NOWHERE     7
#define STACK(cpu)  (THREADS + (cpu)) /* a CPU's own stack, in `on` and `saved` */
#define BIT(number) (1 << (number))
#define OTHER(cpu)  (1 - (cpu))

#define THREAD_NEW     0
#define THREAD_READY   1
#define THREAD_RUNNING 2
#define THREAD_BLOCKED 3

/* struct group and struct queue */
bit group_lock;
byte idle;
byte queue[CPUS]; /* of ready threads, a bit each: `ready` is whether it is 0 */
byte current[CPUS];
byte left[CPUS];
bit turn[CPUS]; /* its timer is pending */
bit turn_is_over[CPUS];

/* struct thread */
byte state[THREADS];
bit notified[THREADS];
byte cpu[THREADS];
byte affinity[THREADS];
bit pending[THREADS]; /* a signal */

/* struct process; its lock, and that of its signals */
bit process_lock;
bool ending;
byte thread_count = THREADS;
byte first, link_next[THREADS];
byte listed = 7; /* only in the model: the threads in the list */

/* futex.c: one queue */
bit futex_lock;
bit word;
byte waiters;
bit woken[THREADS];
bit waiter_there[THREADS]; /* only in the model: its memory is a struct waiter now */

bit timer_pending;

/* The machine */
bit ipi[CPUS];
bit halted[CPUS];
bit user[CPUS]; /* runs the program of `current` */
byte on[THREADS + CPUS];
bit saved[THREADS + CPUS];

/* ---- Invariants while the lock is free; checked after each change of their parts ---- */

#define IDLES(c)     (idle & BIT(c))
#define IS_QUEUED(t) ((queue[0] | queue[1]) & BIT(t))
/* A CPU that halts, and has no interrupt pending, has its idle bit set. */
#define HALTS_KNOWN(c) (!halted[c] || ipi[c] || IDLES(c))
/* A CPU whose idle bit is set has an empty queue. */
#define IDLES_EMPTY(c) (!IDLES(c) || queue[c] == 0)
/* A thread that runs its program, with no interrupt pending, may run on this CPU. */
#define MAY_BE_HERE(c) (!user[c] || ipi[c] || (affinity[current[c]] & BIT(c)))
/* Nor does a thread wait in its queue that may run on an idle CPU. */
#define NOBODY_WAITS(c, t) (!user[c] || ipi[c] || !(queue[c] & BIT(t)) || !(affinity[t] & idle))
/* A thread is on at most one CPU or in at most one queue, not both. */
#define ONE_PLACE(t)                                                                 \
    ((current[0] == (t)) + (current[1] == (t)) + ((queue[0] & BIT(t)) != 0) + ((queue[1] & BIT(t)) != 0) <= 1)

inline consistent_check()
{
    assert(HALTS_KNOWN(0) && HALTS_KNOWN(1));
    assert(IDLES_EMPTY(0) && IDLES_EMPTY(1));
    assert(MAY_BE_HERE(0) && MAY_BE_HERE(1));
    assert(NOBODY_WAITS(0, 0) && NOBODY_WAITS(0, 1) && NOBODY_WAITS(0, 2));
    assert(NOBODY_WAITS(1, 0) && NOBODY_WAITS(1, 1) && NOBODY_WAITS(1, 2));
    assert(ONE_PLACE(0) && ONE_PLACE(1) && ONE_PLACE(2))
}

/* ---- Locks ---- */

#define spin_lock(lock)   atomic { lock == 0 -> lock = 1 }
#define spin_unlock(lock) lock = 0

inline group_unlock()
{
    d_step {
        group_lock = 0;
        consistent_check()
    }
}

/* ---- Queues; under the group's lock. `here` is the CPU that executes this ---- */

inline ready_add(q, thread)
{
    assert(!IS_QUEUED(thread));
    queue[q] = queue[q] | BIT(thread);
    cpu[thread] = q;
    state[thread] = THREAD_READY
}

inline ready_remove(thread)
{
    assert(queue[cpu[thread]] & BIT(thread));
    queue[cpu[thread]] = queue[cpu[thread]] & ~BIT(thread)
}

#define TAKES(thread) (queue[here] & BIT(thread))
#define PULLS(thread) (queue[here] == 0 && (queue[OTHER(here)] & BIT(thread)) && (affinity[thread] & BIT(here)))

inline next_take()
{
    atomic {
        if
        :: TAKES(0) || PULLS(0) -> next = 0; ready_remove(0)
        :: TAKES(1) || PULLS(1) -> next = 1; ready_remove(1)
        :: TAKES(2) || PULLS(2) -> next = 2; ready_remove(2)
        :: else -> next = NOBODY
        fi
    }
}

/* Threads of one rank of priority, which all rotate. */
inline turn_update(c)
{
    d_step {
        if
        :: queue[c] != 0 && current[c] != NOBODY && !turn[c] -> turn[c] = 1; turn_is_over[c] = 0
        :: queue[c] == 0 || current[c] == NOBODY -> turn[c] = 0; turn_is_over[c] = 0
        :: else
        fi
    }
}

/* ---- Idling ---- */

inline idle_begin()
{
    atomic {
        next = 0;
        turn_update(here);
        idle = idle | BIT(here);
        group_unlock()
    }
}

inline idle_end(c)
{
#ifdef IPI_EARLY
    if :: c != here -> ipi[c] = 1 :: else fi;
    idle = idle & ~BIT(c)
#else
    idle = idle & ~BIT(c);
    if :: c != here -> ipi[c] = 1 :: else fi
#endif
}

#ifdef WITHOUT_IDLE_BIT
#define IDLE_ENDS (queue[here] != 0 || (current[here] != NOBODY && state[current[here]] == THREAD_RUNNING))
#else
#define IDLE_ENDS (!IDLES(here))
#endif

/* Idles once; the caller loops. A halted CPU takes an IPI that was sent before or after its last check. */
inline halt()
{
    d_step {
        halted[here] = 1;
        if :: group_lock == 0 -> consistent_check() :: else fi
    };
end_halted:
    atomic { ipi[here] -> ipi[here] = 0; halted[here] = 0 }
}

/* ---- Placing ---- */

inline cpu_interrupt(c)
{
    if
    :: c == here -> slow = true /* arch_request_slow_return */
    :: else -> ipi[c] = 1
    fi
}

/* In two steps: stores what the CPU is to find, then notifies it. */
#define TELL_NOBODY    0
#define TELL_IDLE      1
#define TELL_INTERRUPT 2

inline place(thread)
{
    if
    :: idle & affinity[thread] & BIT(0) -> to = 0; tell = TELL_IDLE
    :: idle & affinity[thread] & BIT(1) -> to = 1; tell = TELL_IDLE
    :: !(idle & affinity[thread]) && (affinity[thread] & BIT(0)) -> to = 0
    :: !(idle & affinity[thread]) && (affinity[thread] & BIT(1)) -> to = 1
    fi;
    ready_add(to, thread);
    if
    :: tell != TELL_IDLE && current[to] != NOBODY && !turn[to] -> tell = TELL_INTERRUPT
    :: else
    fi
}

inline place_tell()
{
    if
    :: tell == TELL_IDLE -> idle_end(to)
    :: tell == TELL_INTERRUPT -> cpu_interrupt(to)
    :: else
    fi;
    atomic { to = 0; tell = TELL_NOBODY }
}

/* ---- Switching ---- */

/* Gives the CPU of `leaver` to `next`. Once next's registers are loaded, nothing of the leaver is touched. */
inline arch_switch(leaver, saves)
{
    saved[leaver] = saves;
    to = (next == NOBODY -> STACK(here) : next);
    assert(saved[to] && on[to] == NOWHERE); /* its registers have been saved; it is on one CPU */
    saved[to] = (to >= THREADS);            /* a CPU's own stack begins at its top each time */
    on[leaver] = NOWHERE;
    on[to] = here;
    to = 0;
    next = 0;
    here = 0
}

inline current_set()
{
    current[here] = next;
    if
    :: next != NOBODY ->
        state[next] = THREAD_RUNNING;
        cpu[next] = here
    :: else
    fi
}

inline switch_begin(leaver, saves)
{
#ifdef UNLOCK_EARLY
    atomic { current_set(); turn_update(here); group_unlock() };
    atomic { arch_switch(leaver, saves) }
#else
    atomic { current_set(); arch_switch(leaver, saves) }
#endif
}

/* Runs first on a stack that has got a CPU. A thread that has ended is no longer on its own stack: its memory
 * may be another thread's from here on. */
inline switch_end(stack)
{
    atomic {
        on[stack] != NOWHERE ->
        here = on[stack];
        gone = left[here];
        left[here] = NOBODY;
#ifndef UNLOCK_EARLY
        turn_update(here);
        group_unlock()
#endif
    };
    if
    :: gone != NOBODY -> /* thread_release */
        atomic {
            spin_lock(process_lock);
            assert(on[gone] == NOWHERE);
            link_next[gone] = NOBODY; /* the end of threads_free */
            spin_unlock(process_lock);
            gone = 0
        }
    :: else -> gone = 0
    fi
}

/* Switches from thread `t` to another; returns on t's next CPU. */
inline switch_to()
{
    switch_begin(t, 1);
    switch_end(t)
}

proctype thread_idle(byte c)
{
    byte here = c, next, to, gone;

end_begin:
    switch_end(STACK(c));
    do
    ::  atomic { spin_lock(group_lock); next_take() };
        if
        :: next != NOBODY -> break
        :: else -> idle_begin()
        fi;
        do
        :: IDLE_ENDS -> break
        :: else -> halt()
        od
    od;
    switch_begin(STACK(c), 1);
    goto end_begin
}

/* ---- Blocking and waking ---- */

inline thread_block()
{
    atomic {
        spin_lock(group_lock);
        if
#ifndef WITHOUT_NOTIFIED
        :: notified[t] -> notified[t] = 0; group_unlock(); goto unblocked
#endif
        :: else -> state[t] = THREAD_BLOCKED; next_take()
        fi
    };
    do
    :: next != NOBODY -> switch_to(); goto unblocked
    :: else ->
        idle_begin();
        do
        :: IDLE_ENDS -> break
        :: else -> halt()
        od;
        if :: state[t] == THREAD_RUNNING -> break :: else fi;
        atomic {
            spin_lock(group_lock);
            if
            :: state[t] == THREAD_RUNNING -> group_unlock(); break
            :: else -> next_take()
            fi
        }
    od;
    slow = slow || queue[here] != 0;
unblocked:
    skip
}

/* thread_wake; with `interrupts`, thread_interrupt. */
inline thread_wake(thread, interrupts)
{
    atomic {
        spin_lock(group_lock);
        if
        :: state[thread] == THREAD_BLOCKED && current[cpu[thread]] != thread -> place(thread)
        :: state[thread] == THREAD_BLOCKED && current[cpu[thread]] == thread ->
            state[thread] = THREAD_RUNNING;
            to = cpu[thread];
            tell = TELL_IDLE
        :: else ->
            notified[thread] = 1;
            if
            :: interrupts && state[thread] == THREAD_RUNNING && cpu[thread] != here ->
                to = cpu[thread];
                tell = TELL_INTERRUPT
            :: else
            fi
        fi
    };
    place_tell();
    group_unlock()
}

proctype timer()
{
    byte here = OUTSIDE, to, tell;
    bool slow;

end_timer:
    atomic { timer_pending -> timer_pending = 0 };
    thread_wake(0, false);
    goto end_timer
}

/* ---- A thread ---- */

#define MUST_MOVE(t)        (!(affinity[t] & BIT(here)))
#define HAS_PENDING_WORK(t) (ending || pending[t] || MUST_MOVE(t))
#define IS_DUE(t)           (queue[here] != 0 || MUST_MOVE(t))

inline thread_return_check()
{
    slow = slow || HAS_PENDING_WORK(t) || IS_DUE(t)
}

inline thread_sleep(is_limited)
{
    timer_pending = is_limited;
    do
    :: woken[t] || (is_limited && !timer_pending) || HAS_PENDING_WORK(t) -> break
    :: else -> thread_block()
    od;
    if :: is_limited -> timer_pending = 0 :: else fi;
    thread_return_check()
}

inline futex_wait(is_limited)
{
    waiter_there[t] = 1;
#ifdef WITHOUT_COMPARE
    if :: word == 0 :: else -> goto waited fi;
#endif
    atomic {
        spin_lock(futex_lock);
        if
#ifndef WITHOUT_COMPARE
        :: word != 0 -> spin_unlock(futex_lock); goto waited
#endif
        :: else -> waiters = waiters | BIT(t); spin_unlock(futex_lock)
        fi
    };
    thread_sleep(is_limited);
    if
    :: !woken[t] ->
        atomic { /* waiter_withdraw */
            spin_lock(futex_lock);
            waiters = waiters & ~BIT(t);
            spin_unlock(futex_lock)
        }
    :: else
    fi;
waited:
    atomic { waiter_there[t] = 0; woken[t] = 0 }
}

inline futex_wake()
{
    spin_lock(futex_lock);
    do
    :: waiters != 0 ->
        atomic {
            if
            :: waiters & BIT(0) -> other = 0
            :: waiters & BIT(1) -> other = 1
            :: waiters & BIT(2) -> other = 2
            fi;
            assert(waiter_there[other]);
            waiters = waiters & ~BIT(other)
        };
#ifdef WAKE_EARLY
        thread_wake(other, false);
        assert(waiter_there[other]);
        woken[other] = 1
#else
        atomic { assert(waiter_there[other]); woken[other] = 1 };
#ifdef THREAD_READ_LATE
        assert(waiter_there[other]); /* waiter->thread */
#endif
        thread_wake(other, false)
#endif
    :: else -> break
    od;
    spin_unlock(futex_lock);
    other = 0
}

/* Under the process's lock; `thread` has not ended. */
inline signal_send(thread)
{
    spin_lock(process_lock);
    if
    :: listed & BIT(thread) ->
        pending[thread] = 1;
        if :: thread != t -> thread_wake(thread, true) :: else fi
    :: else
    fi;
    spin_unlock(process_lock)
}

inline process_exit()
{
    spin_lock(process_lock);
    ending = true;
#ifdef NOTIFY_UNLOCKED
    spin_unlock(process_lock);
#endif
    other = first;
    do
    :: other != NOBODY ->
        if :: other != t -> thread_wake(other, true) :: else fi;
        other = link_next[other]
    :: else -> break
    od;
    other = 0;
#ifndef NOTIFY_UNLOCKED
    spin_unlock(process_lock);
#endif
}

#ifdef MOVE_ONLY_AWAY
#define PLACES_ANEW(cpus, thread) (!(cpus & BIT(cpu[thread])))
#else
#define PLACES_ANEW(cpus, thread) true
#endif

inline schedule_affinity_set(thread, cpus)
{
    atomic {
        spin_lock(group_lock);
        affinity[thread] = cpus;
        if
        :: state[thread] == THREAD_READY && PLACES_ANEW(cpus, thread) ->
            ready_remove(thread);
            place(thread)
        :: state[thread] == THREAD_RUNNING && !(cpus & BIT(cpu[thread])) ->
            to = cpu[thread];
            tell = TELL_INTERRUPT
        :: else
        fi
    };
    place_tell();
    group_unlock()
}

#define SPREADS(thread) ((queue[here] & BIT(thread)) && (affinity[thread] & idle))

inline spread()
{
    do
    :: SPREADS(0) -> atomic { ready_remove(0); place(0) }; place_tell()
    :: SPREADS(1) -> atomic { ready_remove(1); place(1) }; place_tell()
    :: SPREADS(2) -> atomic { ready_remove(2); place(2) }; place_tell()
    :: else -> break
    od
}

/* Lets others of this CPU go before thread `t`: places it on an idle CPU, or at the end of this queue. */
inline requeue()
{
    if
#ifndef REQUEUE_HERE
    :: affinity[t] & idle -> atomic { place(t) }; place_tell()
#endif
    :: else -> ready_add(here, t)
    fi
}

inline schedule_return()
{
    if
    :: IS_DUE(t) ->
        spin_lock(group_lock);
        spread();
        if
        :: MUST_MOVE(t) ->
            atomic { place(t) };
            place_tell();
            next_take();
            switch_to()
        :: !MUST_MOVE(t) && turn_is_over[here] && queue[here] != 0 ->
            next_take();
            requeue();
            switch_to()
        :: else ->
            turn_update(here);
            group_unlock()
        fi
    :: else
    fi
}

inline thread_yield()
{
    if
    :: queue[here] != 0 ->
        spin_lock(group_lock);
        if
        :: queue[here] != 0 ->
            next_take();
            requeue();
            switch_to();
#ifndef YIELD_UNCHECKED
            thread_return_check()
#endif
        :: else -> group_unlock()
        fi
    :: else
    fi
}

proctype thread(byte t)
{
    byte here, next, to, tell, gone, other, operation, count;
    bool slow, got;

    switch_end(t);

slow_return:
    slow = false;
    if :: ending -> goto ended :: else fi;
    if :: pending[t] -> pending[t] = 0; got = true :: else fi;
    schedule_return();
    if :: ending || pending[t] -> goto slow_return :: else fi;

program:
    atomic { user[here] = 1; if :: group_lock == 0 -> consistent_check() :: else fi };
    if
    :: ipi[here] -> atomic { ipi[here] = 0; user[here] = 0 }; goto slow_return
    :: turn[here] -> atomic { turn[here] = 0; turn_is_over[here] = 1; user[here] = 0 }; goto slow_return
    :: operation != OP_COMPUTE || got -> user[here] = 0
    fi;
    if
    :: operation == OP_WAIT && PROGRAM == PROGRAM_SIGNAL && !got /* again */
    :: operation == OP_WAIT && PROGRAM >= PROGRAM_END
    :: else -> operation_choose()
    fi;
    if
    :: operation == OP_WAIT && got -> operation = OP_EXIT :: else
    fi;
    if
    :: operation == OP_EXIT -> goto ended
    :: operation == OP_EXIT_GROUP -> process_exit(); goto ended
    :: operation == OP_WAIT || operation == OP_WAIT_LIMIT -> futex_wait(operation == OP_WAIT_LIMIT)
#if PROGRAM == PROGRAM_WAKE
    :: operation == OP_WAKE -> word = 1; futex_wake()
#endif
#if PROGRAM == PROGRAM_SIGNAL
    :: operation == OP_SIGNAL -> signal_send(0); signal_send(1)
#endif
#if PROGRAM == PROGRAM_MOVE
    :: operation == OP_MOVE ->
        spin_lock(process_lock);
        atomic {
            if :: other = 0 :: other = 1 :: other = 2 fi;
            if :: next = 1 :: next = 2 :: next = 3 fi
        };
        schedule_affinity_set(other, next);
        other = 0;
        next = 0;
        spin_unlock(process_lock)
#endif
    :: operation == OP_YIELD -> thread_yield()
    :: operation == OP_COMPUTE
    fi;
    if
    :: slow -> goto slow_return
    :: else -> goto program
    fi;

ended: /* thread_exit, thread_detach */
    atomic {
        spin_lock(process_lock);
        thread_count--;
        if
        :: thread_count == 0 -> spin_unlock(process_lock); goto process_end
        :: first == t -> first = link_next[t]
        :: else ->
            other = first;
            do
            :: link_next[other] == t -> break
            :: else -> other = link_next[other]
            od;
            link_next[other] = link_next[t];
            other = 0
        fi;
        listed = listed & ~BIT(t);
        spin_unlock(process_lock)
    };
    atomic { /* thread_leave */
        spin_lock(group_lock);
        left[here] = t;
        state[t] = THREAD_NEW;
        next_take()
    };
    switch_begin(t, 0);
process_end:
    skip
}

init
{
    atomic {
        byte i;
        for (i : 0 .. CPUS - 1) {
            current[i] = NOBODY;
            left[i] = NOBODY;
            on[STACK(i)] = NOWHERE;
            saved[STACK(i)] = 1;
            run thread_idle(i)
        }
        for (i : 0 .. THREADS - 1) {
            link_next[i] = (i + 1 < THREADS -> i + 1 : NOBODY);
            affinity[i] = 3;
            saved[i] = 1;
            on[i] = NOWHERE;
            state[i] = THREAD_READY;
            queue[0] = queue[0] | BIT(i);
            run thread(i)
        }
        i = 0;
        run timer();
#if PROGRAM == PROGRAM_MOVE
        if :: affinity[1] = BIT(0) :: affinity[1] = BIT(0) | BIT(1) fi;
#endif
#ifndef UNLOCK_EARLY
        group_lock = 1; /* CPU 0 has it */
#endif
        on[STACK(0)] = 0
    };
#ifdef UNLOCK_EARLY
    on[STACK(1)] = 1
#else
    atomic { spin_lock(group_lock); on[STACK(1)] = 1 }
#endif
}
