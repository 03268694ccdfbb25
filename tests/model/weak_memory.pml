/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weak_memory.pml: memory as C describes it, and POWER has it: no more is ordered than the program says.
 *
 * A variable is the list of all that was ever stored in it. Each CPU has seen some of it, up to a number:
 * its *view*, a number for each variable. A load takes any value that is not older than that: so what others
 * have stored comes late, and in any order. A store carries along what those who acquire it have seen then.
 *
 *      store, relaxed      what the CPU had seen at its last release fence
 *      store, release      all that it has seen
 *      load, acquire       the CPU has seen, too, what the store has carried along
 *      fence, acquire      the same, for all loads before it
 *      fence, seq_cst      all that any CPU had seen at such a fence before has been seen, and the other way
 *                          round by all who come after; it is a fence to acquire and to release as well
 *      exchange            reads the latest value and stores behind it; it goes on carrying what that has
 *                          carried (a release sequence)
 *
 * An access that is seq_cst is what the compiler makes of it for POWER: the fence, and then the access, which
 * acquires or releases. So it orders nothing after it, as it does on x86_64, where it is one instruction that
 * is a fence itself. What is plain in C is relaxed here.
 *
 * Not in it: stores that are put before others' in a variable's list (two CPUs that store to one variable,
 * neither by an exchange, do so here in the order of time), loads that depend on one another's values, which
 * POWER orders (they are written as acquiring here), and values out of loads that come before what they
 * depend on, which nobody's CPU makes.
 *
 * The first variable of each process is called `me`: which CPU it is.
 */
#define CPUS    3
#define PLACES  4 /* variables */
#define HISTORY 7 /* stores to a variable, with its beginning as zero */

#define MESSAGE(place, number) ((place)*HISTORY + (number))
#define LATEST(place)          value[MESSAGE(place, stored[place] - 1)]

byte value[PLACES * HISTORY];
byte stored[PLACES] = 1;

/* All views, and where each begins. */
#define SEEN(cpu)        ((cpu)*PLACES)
#define LOADED(cpu)      ((CPUS + (cpu)) * PLACES)     /* with what its loads would bring along */
#define RELEASED(cpu)    ((2 * CPUS + (cpu)) * PLACES) /* at its last release fence */
#define SENT(cpu)        ((3 * CPUS + (cpu)) * PLACES) /* of who has interrupted it */
#define FENCED           (4 * CPUS * PLACES)           /* of all fences so far */
#define CARRIED(message) ((4 * CPUS + 1 + (message)) * PLACES)

byte view[CARRIED(PLACES * HISTORY)];
byte n;

/* Whatever one view has seen, the other one has, too. */
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

/* The CPU loads the message `n` of a variable. */
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

/* The latest value, and another one behind it: `what` may be made of `to`. */
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

/* The same for a compare-and-exchange of zero: `to` is what was there. */
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

/* An interrupt between CPUs (arch_ipi_send): after a full barrier. Whom it interrupts sees what the sender has
 * seen. */
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
