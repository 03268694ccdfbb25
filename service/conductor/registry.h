/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.h: the nodes that have answered the conductor [Betti09 §III], known by the Ethernet address that
 * their answers come from. A node is silent if more than three beats have asked for an answer since its last
 * one: it computes and hears nothing, or it is dead. Beats are counted, not time, so a pause of beats or of
 * the conductor makes no node silent.
 *
 * A new node that finds no place replaces the one that has been silent longest.
 *
 * Makes no system call. The time to enter an answer does not depend on the number of nodes.
 */
#ifndef TACET_SERVICE_REGISTRY_H
#define TACET_SERVICE_REGISTRY_H

#include "beat/answer_frame.h"

#define REGISTRY_NODES_MAX    16384
#define REGISTRY_BUCKETS      16384 /* a power of two */
#define REGISTRY_SILENT_AFTER 3     /* a node is silent after more unanswered beats */
#define NODE_ADDRESS_BYTES    BEAT_ADDRESS_BYTES

struct node {
    bool is_known; /* false: this place is free */
    uint8_t address[NODE_ADDRESS_BYTES];
    uint16_t next;         /* node in its bucket, or next free place: an index + 1; 0: none */
    uint16_t older, newer; /* nodes that were heard before and after it, likewise */
    struct answer answer;  /* the last one that counted */
    uint64_t heard_ns;     /* conductor time at which it came */
    uint64_t asked;        /* beats that had asked for an answer by then */
    uint64_t known_since;  /* number of the last beat sent when this start of the node first answered */
    uint32_t restarts;
};

struct registry {
    struct node nodes[REGISTRY_NODES_MAX];
    uint16_t buckets[REGISTRY_BUCKETS]; /* an index + 1; 0: empty */
    uint16_t free;                      /* an index + 1 of a place that a node has left; 0: none */
    uint16_t oldest, newest;            /* the nodes heard longest ago and last, likewise */
    unsigned places;                    /* number of places of `nodes` that have been used */
    unsigned count;                     /* number of known nodes */
};

/* What the conductor knows when an answer comes. */
struct registry_moment {
    uint64_t epoch, sequence; /* the conductor's epoch, the number of its last beat */
    uint64_t conductor_ns;
    uint64_t asked;        /* beats of this epoch that have asked for an answer */
    uint32_t last_command; /* the highest number of a command of this epoch */
};

/* What an answer was. */
enum registry_place {
    REGISTRY_NEXT,        /* it counts */
    REGISTRY_NEW,         /* it counts, and is the node's first one */
    REGISTRY_REPLACED,    /* likewise; the node has the place of the one that had been silent longest */
    REGISTRY_RESTARTED,   /* it counts, and its node has restarted */
    REGISTRY_OTHER_EPOCH, /* answers another conductor, or an earlier start of this one */
    REGISTRY_NOT_SENT,    /* answers a beat or a command that this conductor has not sent */
    REGISTRY_LATE, /* answers an earlier beat than the node's last answer, or is of an earlier start of the
                      node */
    REGISTRY_DUPLICATE,     /* answers the same beat as the node's last answer */
    REGISTRY_OTHER_ADDRESS, /* comes from an address that no network card has */
    REGISTRY_FOLLOWS_OTHER, /* its node follows a newer epoch than this one */
    REGISTRY_FULL,          /* comes from a new node; all places have nodes that are not silent */
    REGISTRY_PLACES,
};

/* Takes an answer in which answer_decode has found no fault. Sets *node to its node if it counts. */
enum registry_place registry_take(struct registry *registry, const uint8_t address[NODE_ADDRESS_BYTES],
                                  const struct answer *answer, const struct registry_moment *now,
                                  struct node **node);

/* Returns the node of this Ethernet address; NULL: none. */
struct node *registry_node(struct registry *registry, const uint8_t address[NODE_ADDRESS_BYTES]);

/* Returns the node of this Ethernet address as text, or the first node of this name; NULL: none. */
struct node *registry_find(struct registry *registry, const char *name);

/* Removes a node; it is known again once it answers. */
void registry_remove(struct registry *registry, struct node *node);

/* Removes all silent nodes. Returns their number. */
unsigned registry_remove_silent(struct registry *registry, uint64_t asked);

/* Begins a new epoch: nodes stay known, and none has answered or done anything in it. */
void registry_epoch_begin(struct registry *registry);

bool node_is_silent(const struct node *node, uint64_t asked);

/* Returns whether an address can be a network card's: not a group's, and not all zeros. */
bool is_one_card_s(const uint8_t *address);

/* Reads an Ethernet address. Returns false if the text is none. */
bool address_read(const char *text, uint8_t address[NODE_ADDRESS_BYTES]);

#define NODE_ADDRESS_TEXT (3 * NODE_ADDRESS_BYTES)
void node_address_print(const uint8_t address[NODE_ADDRESS_BYTES], char text[NODE_ADDRESS_TEXT]);

#endif
