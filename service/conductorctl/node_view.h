/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node_view.h: what the conductor knows of nodes, as conductorctl shows it: the list in JSON as it came, page
 * by page, a table of it, and the difference between two counts of kernel entries.
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
    uint64_t now_ns; /* conductor time */
};

/* Asks for all nodes; false where that has failed, and a line has said why. */
bool node_list_ask(struct node_list *list, struct conversation *conversation);
void node_list_free(struct node_list *list);

void node_list_print(const struct node_list *list, bool is_json);

/* What nodes counted between two lists, the later one after the command of this number. Nodes that have not
 * done that, or were started anew meanwhile, are left out. */
void node_counts_print(const struct node_list *before, const struct node_list *after, uint32_t number,
                       uint64_t interval_ns, bool is_json);

#endif
