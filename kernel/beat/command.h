/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * command.h: what the conductor commands with a beat, done once by each CPU of the node (docs/nettick.md).
 *
 *      the beat's CPU    commands_accept   into a ring, where even the CPU that is furthest behind has room
 *      every CPU         commands_do       as the beat is passed on to it, those that it has not done yet
 *      an answer         commands_done     the last one that all CPUs have done
 *
 * No command of an epoch is accepted before a beat of it has welcomed this start of the node (welcome.h): a
 * beat that was recorded before the start commands nothing. No CPU waits for another one: a command that
 * finds no room is not accepted, and comes again with the next beat. What the job does with a command its own
 * room says, through struct command_job. A command for a job that does not run here is done by doing nothing.
 */
#ifndef TACET_BEAT_COMMAND_H
#define TACET_BEAT_COMMAND_H

#include "beat/answer_frame.h"
#include "beat/beat_frame.h"

struct command_job {
    /* BEAT_STOP, BEAT_CONTINUE or BEAT_KILL: for the ranks that this CPU is the first of. Interrupts off, no
     * locks held. */
    void (*command)(enum beat_code code);
    /* BEAT_SERVICES: the service's ready threads on this CPU run first, for so long. Interrupts off, no locks
     * held. False: there is none. */
    bool (*services)(uint64_t window_ns);
    /* Ranks that have not ended. */
    unsigned (*ranks)(void);
    /* The number of the job that runs here; 0: none does, or it has none. */
    uint32_t (*number)(void);
};

/* Before the first rank runs. The structure must live for ever. */
void commands_job_set(const struct command_job *job);

/* What welcomes this start of the node (welcome.h); before the first beat. */
void commands_welcome_set(uint64_t welcome);

/* The commands of a beat that counts and has some: by one CPU at a time. True: there is something to do. */
bool commands_accept(const struct beat *beat);

/* On each CPU, interrupts off, no locks held. */
void commands_do(void);

/* How often a CPU has let the service's threads run first. */
uint64_t commands_windows(unsigned cpu);

/* Fills in is_welcomed, state, ranks, job, done, result and the counts of an answer, whose epoch says to
 * which conductor it goes. By one CPU at a time, as commands_accept. */
void commands_answer(struct answer *answer);

#endif
