/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_file.c: see lease_file.h.
 */
#include "service/conductor/lease_file.h"
#include "service/lib/text.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD          "tacet-jobs 1"
#define NODES_OF_LINE 32
#define FILE_MODE     0600

/* ---- Writing ---- */

static void nodes_write(FILE *file, const struct lease_table *table, const struct lease *lease)
{
    unsigned count = 0;

    for (uint16_t at = lease->first; at; at = table->nodes[at - 1].next) {
        const struct lease_node *node = &table->nodes[at - 1];
        const uint8_t *ip = node->named.address;

        fprintf(file, "%s %s%u.%u.%u.%u%s%s",
                count % NODES_OF_LINE ? ""
                : count               ? "\nnodes"
                                      : "nodes",
                node->is_heard && !node->polls ? "" : "?", ip[0], ip[1], ip[2], ip[3],
                node->named.name[0] ? "/" : "", node->named.name);
        count++;
    }
    if (count)
        fprintf(file, "\n");
}

int lease_file_write(const struct lease_table *table, const char *folder, uint32_t last_job)
{
    char path[PATH_MAX], fresh[PATH_MAX];

    snprintf(path, sizeof(path), "%s/jobs", folder);
    snprintf(fresh, sizeof(fresh), "%s/jobs.new", folder);
    const int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        return -1;
    fprintf(file, HEAD "\nlast %u\n", last_job);
    for (unsigned i = 0; i < LEASES_MAX; i++) {
        const struct lease *lease = &table->leases[i];

        if (!lease->state)
            continue;
        fprintf(file, "%s %u %u\n", lease->state == LEASE_ENDING ? "ending" : "job", lease->job, lease->uid);
        nodes_write(file, table, lease);
    }
    fprintf(file, "end\n");
    const bool is_bad = ferror(file);
    return fclose(file) || is_bad ? -1 : rename(fresh, path);
}

/* ---- Reading ---- */

static const char *nodes_take(struct lease_table *table, const char *words, struct lease *lease)
{
    if (!lease)
        return "nodes without a job";
    while (*words) {
        const bool is_unheard = *words == '?';
        struct lease_name name;
        struct lease_node *node = NULL;

        if (!lease_name_read(words + is_unheard, &words, &name))
            return "a node is named as 10.0.0.7/NAME";
        node = lease_node_add(table, lease, &name);
        if (!node)
            return "too many nodes";
        node->is_heard = !is_unheard;
        words += *words == ' ';
    }
    return NULL;
}

const char *lease_line_take(struct lease_table *table, const char *line, struct lease **lease,
                            uint32_t *last_job, const struct lease_moment *now)
{
    const bool is_ending = strncmp(line, "ending ", 7) == 0;
    uint32_t job = 0, uid = 0;
    const char *rest = line;

    if (strncmp(line, "last ", 5) == 0)
        return decimal_read(line + 5, &rest, UINT32_MAX, last_job) && !*rest ? NULL : "last takes a number";
    if (strncmp(line, "nodes ", 6) == 0)
        return nodes_take(table, line + 6, *lease);
    if (!is_ending && strncmp(line, "job ", 4) != 0)
        return "the line is none of: last, job, ending, nodes, end";
    if (!decimal_read(line + (is_ending ? 7 : 4), &rest, UINT32_MAX, &job) || !job || *rest != ' ' ||
        !decimal_read(rest + 1, &rest, UINT32_MAX, &uid) || *rest)
        return "a job has its number and its user's";
    if (lease_of_job(table, job))
        return "the job is there twice";
    *lease = lease_add(table, is_ending ? LEASE_ENDING : LEASE_LOST, job, uid, now);
    return *lease ? NULL : "too many jobs";
}

int lease_file_read(struct lease_table *table, const char *folder, uint32_t *last_job,
                    const struct lease_moment *now, char *why, size_t room)
{
    char path[PATH_MAX], *line = NULL;
    const char *wrong = "it is empty";
    struct lease *lease = NULL;
    unsigned number = 0;
    size_t line_room = 0;

    snprintf(path, sizeof(path), "%s/jobs", folder);
    FILE *file = fopen(path, "re");
    if (!file && errno == ENOENT)
        return 0;
    if (!file) {
        snprintf(why, room, "%s: %s", path, strerror(errno));
        return -1;
    }
    for (ssize_t bytes; (bytes = getline(&line, &line_room, file)) > 0;) {
        line[bytes - (line[bytes - 1] == '\n')] = '\0';
        if (!number++) {
            wrong = strcmp(line, HEAD) == 0 ? "its end is missing" : "it does not begin with \"" HEAD "\"";
            if (strcmp(line, HEAD) == 0)
                continue;
            break;
        }
        if (strcmp(line, "end") == 0) {
            wrong = NULL;
            break;
        }
        const char *what = lease_line_take(table, line, &lease, last_job, now);
        if (what) {
            wrong = what;
            break;
        }
    }
    free(line);
    fclose(file);
    if (wrong)
        snprintf(why, room,
                 "%s, line %u: %s: repair or remove the file; then jobs in it that run are not known", path,
                 number, wrong);
    table->has_changed = false;
    return wrong ? -1 : 0;
}
