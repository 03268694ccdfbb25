/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.h: the nodes that have answered the conductor [Betti09 §III], known by the Ethernet address that
 * their answers come from. A node is silent once more than three beats that asked for an answer have gone
 * since its last one: it computes and hears nothing, or it is dead. So neither a rest of beats nor a
 * conductor that stood still makes a node silent.
 *
 * Pure C. An answer costs the same whether few nodes are known or as many as there may be.
 */
#ifndef TACET_SERVICE_REGISTRY_H
#define TACET_SERVICE_REGISTRY_H

#include "beat/answer_frame.h"

#define REGISTRY_NODES_MAX    16384
#define REGISTRY_BUCKETS      16384 /* a power of two */
#define REGISTRY_SILENT_AFTER 3     /* beats that asked in vain */
#define NODE_ADDRESS_BYTES    BEAT_ADDRESS_BYTES

struct node {
    bool is_known; /* else this place is free */
    uint8_t address[NODE_ADDRESS_BYTES];
    uint16_t next;        /* in its bucket, or free place: an index + 1; 0: none */
    struct answer answer; /* the last one that counted */
    uint64_t heard_ns;    /* conductor time at which that came */
    uint64_t asked;       /* beats that had asked for an answer by then */
    uint64_t known_since; /* the last beat that was sent when the node's start was first heard of */
    uint32_t restarts;
};

struct registry {
    struct node nodes[REGISTRY_NODES_MAX];
    uint16_t buckets[REGISTRY_BUCKETS]; /* an index + 1; 0: empty */
    uint16_t free;                      /* an index + 1 of a place that was left; 0: none */
    unsigned places;                    /* of `nodes` that have been used */
    unsigned count;                     /* nodes that are known */
};

/* What the conductor knows when an answer comes. */
struct registry_moment {
    uint64_t epoch, sequence; /* its own, and that of its last beat */
    uint64_t conductor_ns;
    uint64_t asked;        /* beats of this epoch that have asked for an answer */
    uint32_t last_command; /* the highest number of a command of this epoch */
};

/* What became of an answer. */
enum registry_place {
    REGISTRY_NEXT,          /* it counts */
    REGISTRY_NEW,           /* it counts, and is the first of its node */
    REGISTRY_RESTARTED,     /* it counts, and its node was started anew */
    REGISTRY_OTHER_EPOCH,   /* to another conductor, or an earlier start of this one */
    REGISTRY_NOT_SENT,      /* to a beat, or of a command, that this conductor has not sent */
    REGISTRY_LATE,          /* to an earlier beat than the node's last one, or of an earlier start */
    REGISTRY_DUPLICATE,     /* to the same beat */
    REGISTRY_OTHER_ADDRESS, /* from an address that no network card has */
    REGISTRY_FULL,
    REGISTRY_PLACES,
};

/* Takes an answer, which answer_decode has called fine. *node: whose it is, where it counts. */
enum registry_place registry_take(struct registry *registry, const uint8_t address[NODE_ADDRESS_BYTES],
                                  const struct answer *answer, const struct registry_moment *now,
                                  struct node **node);

/* The node of this Ethernet address; NULL. */
struct node *registry_node(struct registry *registry, const uint8_t address[NODE_ADDRESS_BYTES]);

/* The node of this Ethernet address as text, or of this name; NULL. A name may be there twice: the first
 * one. */
struct node *registry_find(struct registry *registry, const char *name);

/* The node is no longer known, until it answers again. */
void registry_remove(struct registry *registry, struct node *node);

bool node_is_silent(const struct node *node, uint64_t asked);

#define NODE_ADDRESS_TEXT (3 * NODE_ADDRESS_BYTES)
void node_address_print(const uint8_t address[NODE_ADDRESS_BYTES], char text[NODE_ADDRESS_TEXT]);

#endif
