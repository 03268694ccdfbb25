/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * commands.h: what the conductor commands at beats [Betti09 §III]: the one-way protocol, whose commands go
 * with the next three beats, and the acknowledged one, whose commands go with every beat until all nodes have
 * done them, one command after the other.
 *
 * Nodes do no command whose number is below that of their last one. So a command gets its number when it is
 * first to be carried, and all that have one are carried by the next beat, in that order.
 *
 * Pure C; times are conductor time, ns.
 */
#ifndef TACET_SERVICE_COMMANDS_H
#define TACET_SERVICE_COMMANDS_H

#include "beat/beat_frame.h"

#define COMMANDS_WAITING_MAX 8 /* for the acknowledged one before them */
#define COMMAND_BEATS        3 /* that carry a command at least, unless its time is up before */

struct command {
    struct beat_command wire; /* its number is 0 while it waits */
    const char *name;         /* for messages */
    uint64_t deadline_ns;     /* of one that is acknowledged */
    uint64_t asked;           /* beats that had asked for an answer when it was given (registry.h) */
    uint64_t first_beat_ns;   /* when the first beat that carried it was due; 0: none has */
    uint32_t beats;           /* that carried it */
    bool is_answered;         /* nobody waits for it */
    unsigned client;          /* who asked for it (clients.h) */
};

struct commands {
    uint32_t last_number;
    unsigned carried_count, waiting_count;
    struct command carried[BEAT_COMMANDS_MAX]; /* by the next beat, by number */
    struct command waiting[COMMANDS_WAITING_MAX];
};

/* Reads a command: "stop", "kill job 7", "trace +CLASS", …; 0, or -1 and in *why what is wrong: NULL where it
 * is none. */
int command_read(const char *text, bool is_acknowledged, struct command *command, const char **why);

/* Takes a command: 1 where it is carried by the next beat, 0 where it waits, -1 where there is no room. */
int commands_add(struct commands *commands, const struct command *command);

/* Adds the commands that a beat carries, after those that it has. */
void commands_put(const struct commands *commands, struct beat *beat);

/* A beat that was due then has carried them. */
void commands_sent(struct commands *commands, uint64_t due_ns);

/* The acknowledged command that is carried and not answered; NULL. */
struct command *commands_outstanding(struct commands *commands);

/* The outstanding command is answered. It goes on with beats until three have carried it, or is dropped;
 * the next one takes its place. */
void commands_answered(struct commands *commands, bool is_dropped);

/* A command that waits and whose deadline is over: copied, and removed. */
bool commands_expired(struct commands *commands, uint64_t now_ns, struct command *command);

/* The first deadline; UINT64_MAX: none. */
uint64_t commands_deadline_ns(const struct commands *commands);

#endif
