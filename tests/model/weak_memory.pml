/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weak_memory.pml: memory as weak as C allows and POWER implements: accesses are ordered only as the program
 * says.
 *
 * A variable is the list of all values ever stored in it. Each CPU has a *view*: for each variable the number
 * of the newest value that it has seen. A load takes any value that is not older than that. So the stores of
 * other CPUs arrive late, and in any order. A store carries a view along; a CPU that acquires it has seen
 * this, too.
 *
 *      store, relaxed      carries what the CPU had seen at its last release fence
 *      store, release      carries all that the CPU has seen
 *      load, acquire       the CPU has then seen what the store carries
 *      fence, acquire      the same, for all loads before it
 *      fence, seq_cst      the CPU has then seen all that any CPU had seen at an earlier such fence; a later
 *                          one passes on what this CPU has seen. It is an acquire and a release fence, too
 *      exchange            reads the latest value and stores the next; it also carries what the latest value
 *                          carries (a release sequence)
 *
 * A seq_cst access is what the compiler makes of it for POWER: the fence, then the access, which acquires or
 * releases. So it does not order later accesses, unlike on x86_64, where it is one instruction that is a
 * fence. Plain accesses of C are relaxed here.
 *
 * The model leaves out:
 *
 *      stores that go before another CPU's store in a variable's list: if two CPUs store to one variable,
 *          neither by an exchange, the stores are here in the order of time
 *      dependent loads, which POWER orders: they are written as acquiring
 *      loads that return values out of thin air, which no CPU does
 *
 * The first variable of each process is `me`: its CPU.
 */
#define CPUS    3
#define PLACES  4 /* variables */
#define HISTORY 7 /* values of a variable, including the initial zero */

#define MESSAGE(place, number) ((place)*HISTORY + (number))
#define LATEST(place)          value[MESSAGE(place, stored[place] - 1)]

byte value[PLACES * HISTORY];
byte stored[PLACES] = 1;

/* The places of the views in `view`. */
#define SEEN(cpu)        ((cpu)*PLACES)
#define LOADED(cpu)      ((CPUS + (cpu)) * PLACES)     /* what its loads carried, for an acquire fence */
#define RELEASED(cpu)    ((2 * CPUS + (cpu)) * PLACES) /* at its last release fence */
#define SENT(cpu)        ((3 * CPUS + (cpu)) * PLACES) /* of CPUs that have interrupted it */
#define FENCED           (4 * CPUS * PLACES)           /* of all seq_cst fences so far */
#define CARRIED(message) ((4 * CPUS + 1 + (message)) * PLACES)

byte view[CARRIED(PLACES * HISTORY)];
byte n;

/* Adds to view `to` what view `from` has seen. */
#define HIGHER(to, from, i) \
    view[(to) + i] = (view[(from) + i] > view[(to) + i] -> view[(from) + i] : view[(to) + i])
#define JOIN(to, from) HIGHER(to, from, 0); HIGHER(to, from, 1); HIGHER(to, from, 2); HIGHER(to, from, 3)

#define fence_acquire() d_step { JOIN(SEEN(me), LOADED(me)) }
#define fence_release() d_step { JOIN(RELEASED(me), SEEN(me)) }

inline fence()
{
    d_step {
        JOIN(SEEN(me), LOADED(me));
        JOIN(SEEN(me), FENCED);
        JOIN(FENCED, SEEN(me));
        JOIN(RELEASED(me), SEEN(me))
    }
}

/* Loads the value `n` of a variable. */
inline message_take(place, acquires)
{
    view[SEEN(me) + place] = n;
    JOIN(LOADED(me), CARRIED(MESSAGE(place, n)));
    JOIN(SEEN(me), (acquires -> CARRIED(MESSAGE(place, n)) : SEEN(me)))
}

inline message_put(place, what, releases)
{
    n = stored[place];
    assert(n < HISTORY);
    stored[place]++;
    value[MESSAGE(place, n)] = what;
    view[SEEN(me) + place] = n;
    JOIN(CARRIED(MESSAGE(place, n)), (releases -> SEEN(me) : RELEASED(me)));
    view[CARRIED(MESSAGE(place, n)) + place] = n;
    n = 0
}

inline load_some(place, to, acquires)
{
    atomic {
        n = view[SEEN(me) + place];
        do
        :: n + 1 < stored[place] -> n++
        :: break
        od;
        d_step {
            message_take(place, acquires);
            to = value[MESSAGE(place, n)];
            n = 0
        }
    }
}

inline load_relaxed(place, to) { load_some(place, to, false) }
inline load_acquire(place, to) { load_some(place, to, true) }
inline store_relaxed(place, what) { d_step { message_put(place, what, false) } }
inline store_release(place, what) { d_step { message_put(place, what, true) } }

/* Reads the latest value into `to` and stores `what`, which may be computed from `to`, after it. */
inline exchange(place, to, what, acquires, releases)
{
    d_step {
        n = stored[place] - 1;
        message_take(place, acquires);
        to = value[MESSAGE(place, n)];
        JOIN(CARRIED(MESSAGE(place, n + 1)), CARRIED(MESSAGE(place, n)));
        message_put(place, what, releases)
    }
}

/* Does the same if the latest value is zero: a compare-and-exchange. `to` is the latest value. */
inline exchange_zero(place, to, what)
{
    d_step {
        n = stored[place] - 1;
        message_take(place, true);
        to = value[MESSAGE(place, n)];
        if
        :: !to ->
            JOIN(CARRIED(MESSAGE(place, n + 1)), CARRIED(MESSAGE(place, n)));
            message_put(place, what, true)
        :: else -> n = 0
        fi;
        skip
    }
}

inline load_sc(place, to) { fence(); load_acquire(place, to) }
inline store_sc(place, what) { fence(); store_release(place, what) }
inline exchange_sc(place, to, what) { fence(); exchange(place, to, what, true, true) }

/* A spin lock (smp/spinlock.h). */
#ifdef LOCK_RELAXED
#define LOCK_ACQUIRES false
#else
#define LOCK_ACQUIRES true
#endif
#ifdef UNLOCK_RELAXED
#define UNLOCK_RELEASES false
#else
#define UNLOCK_RELEASES true
#endif

inline lock(place)
{
    d_step {
        LATEST(place) == 0;
        n = stored[place] - 1;
        message_take(place, LOCK_ACQUIRES);
        JOIN(CARRIED(MESSAGE(place, n + 1)), CARRIED(MESSAGE(place, n)));
        message_put(place, 1, false)
    }
}

inline unlock(place) { d_step { message_put(place, 0, UNLOCK_RELEASES) } }

/* An interrupt between CPUs (arch_ipi_send), after a full barrier. The interrupted CPU has seen what the
 * sender has seen. */
bool sent[CPUS];

inline ipi_send(cpu)
{
    fence();
    d_step { JOIN(SENT(cpu), SEEN(me)); sent[cpu] = true }
}

inline ipi_take()
{
    d_step { sent[me]; sent[me] = false; JOIN(SEEN(me), SENT(me)) }
}
