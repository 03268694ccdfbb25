/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node_view.h: what conductorctl prints about nodes: the conductor's list in JSON, a table of it, and the
 * differences between two counts of kernel entries.
 */
#ifndef TACET_SERVICE_NODE_VIEW_H
#define TACET_SERVICE_NODE_VIEW_H

#include "service/conductorctl/conversation.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node_list {
    char *text; /* a list in JSON, NUL-terminated */
    size_t length, room;
    uint64_t now_ns;        /* conductor time */
    char conductor_key[65]; /* of a list of keys: the conductor's public key, "" if it gives none */
};

/* Asks for the list of all nodes, page by page. Returns false if this fails, after a line with the reason.
 * key_list_ask does so for the nodes that have asked for keys. */
bool node_list_ask(struct node_list *list, struct conversation *conversation);
bool key_list_ask(struct node_list *list, struct conversation *conversation);
void node_list_free(struct node_list *list);

void node_list_print(const struct node_list *list, bool is_json);
void key_list_print(const struct node_list *list, bool is_json);

/* Prints what nodes have counted between two lists; the later list was made after the command of this number.
 * Leaves out nodes that have not done that command, or have restarted in between. */
void node_counts_print(const struct node_list *before, const struct node_list *after, uint32_t number,
                       uint64_t interval_ns, bool is_json);

#endif
