/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_leases.c: any lines of the conductor's file of jobs, and any names of nodes in requests. What has been
 * read is written and read again: the same jobs and nodes are there.
 */
#include "service/conductor/lease_file.h"
#include "fuzz.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct lease_table table, again;
static const struct lease_moment now = { .sequence = 100, .asked = 10, .asks = true };

static char folder[] = "/tmp/fuzz_leases.XXXXXX";

static void folder_remove(void)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/jobs", folder);
    unlink(path);
    rmdir(folder);
}

static void folder_make(void)
{
    if (folder[sizeof(folder) - 2] == 'X') {
        PROMISE(mkdtemp(folder));
        atexit(folder_remove);
    }
}

static void table_empty(struct lease_table *of)
{
    for (unsigned i = 0; i < LEASES_MAX; i++)
        if (of->leases[i].state)
            lease_drop(of, &of->leases[i]);
    PROMISE(!of->node_count);
}

static void promise_same(void)
{
    PROMISE(table.node_count == again.node_count);
    for (unsigned i = 0; i < LEASES_MAX; i++) {
        const struct lease *lease = &table.leases[i], *other;

        if (!lease->state)
            continue;
        other = lease_of_job(&again, lease->job);
        PROMISE(other && other->uid == lease->uid && other->count == lease->count);
        PROMISE(other->state == lease->state);
    }
}

static void names_try(const char *line)
{
    struct lease_name name;
    const char *end = line;

    while (lease_name_read(end, &end, &name)) {
        PROMISE(end <= line + strlen(line) && memchr(name.name, 0, sizeof(name.name)));
        PROMISE(!strpbrk(name.name, " /\n"));
        end += *end == ' ';
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint32_t last = 1;
    char why[256];

    folder_make();
    table_empty(&table);
    table_empty(&again);
    while (bytes) {
        const uint8_t *feed = memchr(data, '\n', bytes);
        size_t count = feed ? (size_t)(feed - data) : bytes;
        char *line = malloc(count + 1);

        memcpy(line, data, count);
        line[count] = '\0';
        names_try(line);
        const char *wrong = lease_line_take(&table, line, &last, &now);
        PROMISE(!wrong || *wrong);
        free(line);
        count += feed != NULL;
        data += count;
        bytes -= count;
    }
    if (lease_file_begin(&table, folder, last) == 0) {
        uint32_t last_again = 0;

        PROMISE(lease_file_read(&again, folder, &last_again, &now, why, sizeof(why)) == 0);
        PROMISE(last_again == last);
        promise_same();
    }
    return 0;
}
