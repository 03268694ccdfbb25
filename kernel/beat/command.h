/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * command.h: the conductor's commands, which come with a beat; each CPU of the node does each once
 * (docs/nettick.md).
 *
 *      the beat's CPU    commands_accept   puts them into a ring, if even the slowest CPU has room there
 *      every CPU         commands_do       does those that it has not done yet, when it is passed the beat
 *      an answer         commands_answer   names the last command that all CPUs have done
 *
 * No command of an epoch is accepted before a beat of it has welcomed this start of the node (welcome.h): a
 * beat that was recorded before the start commands nothing. No CPU waits for another: a command that finds no
 * room is not accepted, and comes again with the next beat. What the job does with a command is up to its
 * struct command_job. A command for a job that does not run here counts as done.
 */
#ifndef TACET_BEAT_COMMAND_H
#define TACET_BEAT_COMMAND_H

#include "beat/answer_frame.h"
#include "beat/beat_frame.h"

struct command_job {
    /* Does BEAT_STOP, BEAT_CONTINUE or BEAT_KILL for the ranks whose first CPU this is. Interrupts off, no
     * locks held. */
    void (*command)(enum beat_code code);
    /* Does BEAT_SERVICES: the service's ready threads on this CPU run first, for `window_ns`. Returns false
     * if there are none. Interrupts off, no locks held. */
    bool (*services)(uint64_t window_ns);
    const unsigned *ranks;  /* that have not ended; atomic */
    const uint32_t *number; /* of the job that runs here; 0 if none runs, or if it has no number */
};

/* Sets the job that commands act on. Called before the first rank runs. The structure must live for ever. */
void commands_job_set(const struct command_job *job);

/* Sets the number that welcomes this start of the node (welcome.h). Called before the first beat. */
void commands_welcome_set(uint64_t welcome);

/* Accepts the commands of a beat that counts and has some. Called by one CPU at a time. Returns true if there
 * is something to do. */
bool commands_accept(const struct beat *beat);

/* Does the commands that this CPU has not done yet. Called on each CPU, interrupts off, no locks held. */
void commands_do(void);

/* Returns how often a CPU has let the service's threads run first. */
uint64_t commands_windows(unsigned cpu);

/* Fills in is_welcomed, state, ranks, job, done, result and the counts of an answer, whose epoch names the
 * conductor that gets it. Called by one CPU at a time, as commands_accept. */
void commands_answer(struct answer *answer);

#endif
