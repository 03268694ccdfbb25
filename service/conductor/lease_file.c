/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_file.c: see lease_file.h.
 */
#include "service/conductor/lease_file.h"
#include "service/lib/text.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD       "tacet-jobs 1"
#define FILE_MODE  0600
#define LINE_BYTES 4096
#define LONG_BYTES (1u << 20)

static int file = -1;
static size_t bytes_begun, bytes_now; /* of the file: when it was begun, and now */

/* ---- Writing ---- */

/* Lines that are to be written at once. */
struct text {
    size_t length;
    bool has_failed;
    char bytes[4 * LINE_BYTES];
};

static void text_flush(struct text *text)
{
    if (text->length && write(file, text->bytes, text->length) != (ssize_t)text->length)
        text->has_failed = true;
    bytes_now += text->length;
    text->length = 0;
}

__attribute__((format(printf, 2, 3))) static void text_add(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text->length +=
        (size_t)vsnprintf(text->bytes + text->length, sizeof(text->bytes) - text->length, format, arguments);
    va_end(arguments);
}

/* Adds a line "nodes" or "heard" with those nodes from `from` on for which it is time; several if it is
 * long. */
static void nodes_add(struct text *text, struct lease_table *table, const struct lease *lease, uint16_t from,
                      bool is_heard)
{
    size_t line = 0; /* bytes of the current line; 0: none */

    for (uint16_t at = from; at; at = table->nodes[at - 1].next) {
        struct lease_node *node = &table->nodes[at - 1];
        const uint8_t *ip = node->named.address;

        if (is_heard && (node->is_kept || !node->is_heard || node->polls))
            continue;
        node->is_kept |= is_heard;
        if (text->length - (line ? line : text->length) > LINE_BYTES - 128) {
            text_add(text, "\n");
            line = 0;
        }
        if (!line && text->length > sizeof(text->bytes) - 2 * LINE_BYTES)
            text_flush(text);
        if (!line) {
            line = text->length + 1;
            text_add(text, "%s %u", is_heard ? "heard" : "nodes", lease->job);
        }
        text_add(text, " %u.%u.%u.%u%s%s", ip[0], ip[1], ip[2], ip[3], node->named.name[0] ? "/" : "",
                 node->named.name);
    }
    if (line)
        text_add(text, "\n");
}

static void job_add(struct text *text, struct lease_table *table, const struct lease *lease)
{
    text_add(text, "job %u %u\n", lease->job, lease->uid);
    nodes_add(text, table, lease, lease->first, false);
    nodes_add(text, table, lease, lease->first, true);
    if (lease->state == LEASE_ENDING)
        text_add(text, "ending %u\n", lease->job);
}

static int text_write(struct text *text)
{
    text_flush(text);
    return text->has_failed ? -1 : 0;
}

int lease_file_job(struct lease_table *table, const struct lease *lease)
{
    static struct text text;

    text.has_failed = false;
    job_add(&text, table, lease);
    return text_write(&text);
}

int lease_file_nodes(struct lease_table *table, const struct lease *lease, uint16_t from)
{
    static struct text text;

    text.has_failed = false;
    nodes_add(&text, table, lease, from, false);
    return text_write(&text);
}

int lease_file_word(const char *word, uint32_t job)
{
    static struct text text;

    text.has_failed = false;
    text_add(&text, "%s %u\n", word, job);
    return text_write(&text);
}

int lease_file_heard(struct lease_table *table)
{
    static struct text text;

    text.has_failed = false;
    for (unsigned i = 0; i < LEASES_MAX; i++) {
        if (table->leases[i].state)
            nodes_add(&text, table, &table->leases[i], table->leases[i].first, true);
        if (text.length > sizeof(text.bytes) - 2 * LINE_BYTES)
            text_flush(&text);
    }
    return text_write(&text);
}

bool lease_file_is_long(void)
{
    return bytes_now > LONG_BYTES + 4 * bytes_begun;
}

/* Writes the new file next to the old one, then takes its place. If the conductor is killed between, only the
 * new one is there. */
int lease_file_begin(struct lease_table *table, const char *folder, uint32_t last_job)
{
    static struct text text;
    char path[PATH_MAX], fresh[PATH_MAX];

    snprintf(path, sizeof(path), "%s/jobs", folder);
    snprintf(fresh, sizeof(fresh), "%s/jobs.new", folder);
    if (file >= 0)
        close(file);
    unlink(fresh);
    file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, FILE_MODE);
    if (file < 0)
        return -1;
    for (unsigned i = 0; i < table->places; i++)
        table->nodes[i].is_kept = false;
    text.has_failed = false;
    bytes_now = 0;
    text_add(&text, HEAD "\nlast %u\n", last_job);
    for (unsigned i = 0; i < LEASES_MAX; i++) {
        if (table->leases[i].state)
            job_add(&text, table, &table->leases[i]);
        text_flush(&text);
    }
    bytes_begun = bytes_now;
    if (text.has_failed || (unlink(path) && errno != ENOENT))
        return -1;
    return rename(fresh, path);
}

/* ---- Reading ---- */

static const char *nodes_take(struct lease_table *table, const char *words, struct lease *lease)
{
    struct lease_name name;

    while (*words) {
        words += *words == ' ';
        if (!lease_name_read(words, &words, &name))
            return "a node is named as 10.0.0.7/NAME";
        if (!lease_node_add(table, lease, &name))
            return "too many nodes";
    }
    return NULL;
}

/* Takes the nodes of a job that have been heard. They come in the order of the job's nodes, so that a line
 * takes one walk. */
static const char *heard_take(struct lease_table *table, const char *words, struct lease *lease)
{
    uint16_t at = lease->first;
    struct lease_name name;

    while (*words) {
        words += *words == ' ';
        if (!lease_name_read(words, &words, &name))
            return "a node is named as 10.0.0.7/NAME";
        while (at && memcmp(&table->nodes[at - 1].named, &name, sizeof(name)) != 0)
            at = table->nodes[at - 1].next;
        if (!at)
            return "the job has no such node, or not after the one before it";
        table->nodes[at - 1].is_heard = true;
        at = table->nodes[at - 1].next;
    }
    return NULL;
}

static const char *job_take(struct lease_table *table, const char *rest, uint32_t job,
                            const struct lease_moment *now)
{
    uint32_t uid;

    if (*rest != ' ' || !decimal_read(rest + 1, &rest, UINT32_MAX, &uid) || *rest)
        return "a job has its number and its user's";
    if (lease_of_job(table, job))
        return "the job is there twice";
    return lease_add(table, LEASE_LOST, job, uid, now) ? NULL : "too many jobs";
}

const char *lease_line_take(struct lease_table *table, const char *line, uint32_t *last_job,
                            const struct lease_moment *now)
{
    static const char *const words[] = { "last", "job", "nodes", "heard", "ending", "end" };
    enum { LAST, JOB, NODES, HEARD, IS_ENDING, END, WORDS } word = LAST;
    const size_t length = strcspn(line, " ");
    const char *rest = line + length;
    uint32_t job;

    while (word < WORDS && (strlen(words[word]) != length || strncmp(words[word], line, length) != 0))
        word++;
    if (word == WORDS)
        return "the line is none of: last, job, nodes, heard, ending, end";
    if (*rest != ' ' || !decimal_read(rest + 1, &rest, UINT32_MAX, &job) || !job ||
        (*rest && (*rest != ' ' || word == LAST || word == IS_ENDING || word == END)))
        return "a job's number is missing, or too many words follow it";
    *last_job = job > *last_job ? job : *last_job;
    struct lease *lease = lease_of_job(table, job);
    if (word == LAST)
        return NULL;
    if (word == JOB)
        return job_take(table, rest, job, now);
    if (!lease)
        return word == END ? NULL : "there is no such job";
    if (word == NODES)
        return nodes_take(table, rest, lease);
    if (word == HEARD)
        return heard_take(table, rest, lease);
    if (word == IS_ENDING)
        lease_state_set(table, lease, LEASE_ENDING, now);
    else
        lease_drop(table, lease);
    return NULL;
}

/* Reads the lines of an open file. Returns NULL, or what is wrong with line *number. */
static const char *lines_take(struct lease_table *table, FILE *from, uint32_t *last_job,
                              const struct lease_moment *now, unsigned *number)
{
    const char *wrong = NULL;
    char *line = NULL;
    size_t room = 0;

    for (ssize_t bytes; !wrong && (bytes = getline(&line, &room, from)) > 0;) {
        if (line[bytes - 1] != '\n')
            break;
        line[bytes - 1] = '\0';
        if ((*number)++)
            wrong = lease_line_take(table, line, last_job, now);
        else if (strcmp(line, HEAD) != 0)
            wrong = "it does not begin with \"" HEAD "\"";
    }
    free(line);
    return wrong;
}

int lease_file_read(struct lease_table *table, const char *folder, uint32_t *last_job,
                    const struct lease_moment *now, char *why, size_t room)
{
    char path[PATH_MAX];
    unsigned number = 0;

    snprintf(path, sizeof(path), "%s/jobs", folder);
    FILE *from = fopen(path, "re");
    if (!from && errno == ENOENT) {
        snprintf(path, sizeof(path), "%s/jobs.new", folder);
        from = fopen(path, "re");
    }
    if (!from && errno == ENOENT)
        return 0;
    if (!from) {
        snprintf(why, room, "%s: %s", path, strerror(errno));
        return -1;
    }
    const char *wrong = lines_take(table, from, last_job, now, &number);
    fclose(from);
    if (wrong)
        snprintf(why, room,
                 "%s, line %u: %s: repair or remove the file; without it, jobs that run are not known", path,
                 number, wrong);
    return wrong ? -1 : 0;
}
