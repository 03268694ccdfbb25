/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leases.pml: the lease of a job (docs/jobs.md, "What is noticed"): tacetrun, the conductor with its file, and
 * one node. test_leases.py has spin try every order of every step. docs/models.md says what is checked. Names:
 *
 *      in the model                in the code
 *      lease, file                 struct lease (service/conductor/lease_table.c), FOLDER/jobs (lease_file.c)
 *      connected                   tacetrun's connection to the conductor
 *      beat_send, answer           a beat that asks for an answer, carries the kill or not; its answer
 *      quiet                       answers without the job in a row, since the job began to end (is_quiet)
 *      unanswered, heard           beats that asked since the last answer (is_silent), is_heard
 *
 * The wire loses at most LOSSES frames in a row, unless the cable is pulled: then all, until it is in place
 * again. A step of the conductor is a beat with its answer. tacetrun may be killed at any time, the node may
 * lose its cable once, the conductor may be killed RESTARTS times and stand still PAUSES times. A living
 * tacetrun returns before LEASE_RETURN_S are over. The node is about to start the job for at most START beats
 * after the end of tacetrun: it hears the end of the connection by then.
 *
 * One more -D puts a fault into the protocol, which spin must find: see test_leases.py.
 */
#define LOSSES   1
#define RESTARTS 1
#define PAUSES   1
#define START    1
#define SILENT   2 /* more unanswered beats; more than LOSSES lose */
#ifdef QUIET_ONCE
#define QUIET 1
#else
#define QUIET (START + 1)
#endif

mtype = { FREE, HELD, LOST, ENDING };

/* tacetrun */
bool is_alive = true, connected, is_numbered, has_said_end, knows_silent;
/* The conductor. */
mtype lease = FREE, file = FREE;
bool is_up = true, heard, has_killed;
byte restarts, pauses, quiet, unanswered;
/* The node: about to start the job; runs it. Only in the model: beats since tacetrun's end. */
bool starting, runs, cable = true, was_pulled, has_ended;
byte lost, late;

#define SAVE file = lease

inline lease_end()
{
    lease = ENDING;
    quiet = 0;
    has_killed = false;
    SAVE
}

/* The conductor's view of an answer. */
inline answer_take(has_job)
{
    heard = true;
    unanswered = 0;
    if
    :: has_job -> quiet = 0
    :: !has_job && quiet < QUIET && lease == ENDING && has_killed -> quiet++
    :: else
    fi;
    if
    :: lease == ENDING && quiet == QUIET ->
        /* Nothing of the job is left, and nothing will begin. */
        assert(!runs && !starting);
        lease = FREE;
        SAVE
    :: else
    fi
}

inline kill_hear()
{
    if
    :: lease == ENDING ->
        /* Only a job without its tacetrun is killed. */
        assert(!is_alive || has_said_end);
#ifdef KILL_ONCE
        if
        :: !has_killed -> runs = false; has_killed = true
        :: else
        fi
#else
        runs = false;
        has_killed = true
#endif
    :: else
    fi
}

inline beat_send()
{
    if
    :: starting && !is_alive && late == START -> starting = false /* the connection's end has come */
    :: else
    fi;
    if
    :: !cable || lost < LOSSES ->
        lost = (cable -> lost + 1 : lost);
#ifdef KILL_ONCE
        has_killed = has_killed || lease == ENDING;
#endif
        unanswered = (unanswered <= SILENT && heard -> unanswered + 1 : unanswered)
    :: cable ->
        lost = 0;
        kill_hear();
        answer_take(runs)
    fi;
#ifdef SILENT_IS_GONE
    if
    :: lease == ENDING && unanswered > SILENT -> lease = FREE; SAVE
    :: else
    fi;
#endif
    if
    :: lease == HELD && unanswered > SILENT && connected ->
        /* A node that lives, and has its cable, is not silent. */
        assert(was_pulled);
        knows_silent = true
    :: else
    fi;
    if
    :: !is_alive && late < START -> late++
    :: else
    fi
}

active proctype beats()
{
end_beats:
    do
    :: atomic { is_up -> beat_send() }
    od
}

/* It stands still, and is killed. */
active proctype machine()
{
end_machine:
    do
    :: atomic { is_up && pauses < PAUSES -> pauses++;
#ifdef TIME_COUNTS
        unanswered = (heard -> SILENT + 1 : unanswered);
        assert(!(lease == HELD && connected && heard && !was_pulled))
#endif
        }
    :: atomic { is_up && restarts < RESTARTS ->
        restarts++;
        is_up = false;
        connected = false;
        lease = FREE;
        heard = false;
        quiet = 0;
        unanswered = 0;
        has_killed = false
        }
    :: atomic { !is_up ->
        is_up = true;
#ifndef FORGET_FILE
        lease = (file == HELD -> LOST : file);
#endif
        SAVE
        }
    od
}

active proctype conductor()
{
end_conductor:
    do
    /* The connection's end. */
    :: atomic { is_up && lease == HELD && !connected -> lease_end() }
    /* The time for a return is over. */
#ifdef RETURN_NOT_AWAITED
    :: atomic { is_up && lease == LOST -> lease_end() }
#else
    :: atomic { is_up && lease == LOST && !is_alive -> lease_end() }
#endif
    od
}

active proctype tacetrun()
{
end_tacetrun:
    do
    :: atomic { is_alive && is_up && !is_numbered ->
        is_numbered = true;
        connected = true;
        lease = HELD;
#ifndef SAVED_LATE
        SAVE;
#endif
        starting = true
        }
    :: atomic { is_alive && is_numbered && is_up && !connected && lease == LOST ->
        connected = true;
        lease = HELD;
        SAVE
        }
    /* The node has said that the job has ended. */
    :: atomic { is_alive && is_numbered && has_ended && is_up && connected ->
        has_said_end = true;
        lease = FREE;
        SAVE;
        connected = false;
        is_alive = false
        }
    /* The node is dead for it, or it is killed: it leaves without "job end". */
    :: atomic { is_alive && knows_silent -> is_alive = false;
#ifndef END_SAID_ALWAYS
        connected = false
#else
        if
        :: is_up && connected -> lease = FREE; SAVE
        :: else
        fi;
        connected = false
#endif
        }
    :: atomic { is_alive && is_numbered -> is_alive = false; connected = false }
    od
}

active proctype node()
{
end_node:
    do
    :: atomic { starting && (is_alive || late < START) -> starting = false; runs = true }
    :: atomic { runs && is_alive && cable -> runs = false; has_ended = true } /* the program ends */
    :: atomic { cable && !was_pulled && runs -> cable = false; was_pulled = true }
    :: atomic { !cable -> cable = true }
    od
}

/* What must happen: when tacetrun is gone, the job ends on the node, and its lease too. */
#define NOTHING_LEFT (!runs && !starting && lease == FREE && file == FREE)
ltl ends { [] (!is_alive -> <> (NOTHING_LEFT)) }
