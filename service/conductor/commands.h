/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * commands.h: the commands that beats carry to nodes [Betti09 §III]. A one-way command goes with the next
 * three beats. An acknowledged command goes with every beat until all nodes have done it; one is under way at
 * a time, the others wait.
 *
 * Nodes do no command whose number is below that of their last one. So a command gets its number when the
 * next beat is to carry it, and beats carry commands in the order of their numbers.
 *
 * Portable C; times are conductor time, ns.
 */
#ifndef TACET_SERVICE_COMMANDS_H
#define TACET_SERVICE_COMMANDS_H

#include "beat/beat_frame.h"

#define COMMANDS_WAITING_MAX 8 /* acknowledged commands that wait for their turn */
#define COMMAND_BEATS        3 /* beats that carry a command, at least, unless it times out before */

/* At most three quarters of the places are users', so that operators get in, and three eighths one user's. */
#define COMMANDS_OF_USERS(places) ((places)*3 / 4)
#define COMMANDS_OF_USER(places)  ((places)*3 / 8)

struct command {
    struct beat_command wire; /* its number is 0 while it waits */
    const char *name;         /* for messages */
    uint64_t deadline_ns;     /* time limit of an acknowledged command */
    uint64_t asked;           /* beats that had asked for an answer when it was requested (registry.h) */
    uint64_t first_beat_ns;   /* when the first beat that carried it was due; 0: none has */
    uint32_t beats;           /* beats that have carried it */
    bool is_answered;         /* no client waits for it */
    unsigned client;          /* the client that requested it (clients.c); 0: none */
    bool is_user;             /* it is of a user who may command only his jobs */
    uint32_t uid;             /* his */
};

struct commands {
    uint32_t last_number;
    unsigned carried_count, waiting_count;
    struct command
        carried[BEAT_COMMANDS_MAX]; /* commands that the next beat carries, in the order of their numbers */
    struct command waiting[COMMANDS_WAITING_MAX];
};

/* Reads a command: "stop", "kill job 7", "trace +CLASS", …. Returns 0, or -1 with the error in *why; NULL
 * there means that there is no command of this name. */
int command_read(const char *text, bool is_acknowledged, struct command *command, const char **why);

/* Adds a command. Returns 1 if the next beat carries it, 0 if it waits, -1 if there is no room. */
int commands_add(struct commands *commands, const struct command *command);

/* Returns why a user may have no further command like this one now, or NULL. */
const char *commands_refusal(const struct commands *commands, const struct command *command);

/* Appends the carried commands to a beat. */
void commands_put(const struct commands *commands, struct beat *beat);

/* Begins a new epoch, in which the carried commands get numbers from 1 on: a node may do one again that it
 * has done in the last epoch. */
void commands_epoch_begin(struct commands *commands);

/* Notes that a beat, due at `due_ns`, was sent with them. Drops those that are done; carries the next one. */
void commands_sent(struct commands *commands, uint64_t due_ns);

/* Returns whether an acknowledged command of this code waits, or is not yet answered. */
bool commands_have(const struct commands *commands, enum beat_code code);

/* Returns the acknowledged command that is carried and not yet answered; NULL: none. */
struct command *commands_outstanding(struct commands *commands);

/* Marks the outstanding command answered. Beats carry it until three have done so, unless `is_dropped`. The
 * next waiting command becomes the outstanding one. */
void commands_answered(struct commands *commands, bool is_dropped);

/* Removes a waiting command whose deadline is over, and copies it to *command. Returns false if there is
 * none. */
bool commands_expired(struct commands *commands, uint64_t now_ns, struct command *command);

/* Returns the first deadline of an unanswered command; UINT64_MAX: none. */
uint64_t commands_deadline_ns(const struct commands *commands);

#endif
