/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_launch_request.c: reads any bytes as a request, as the line before it, and as a stream's first line.
 * Text must lie inside the bytes, numbers inside their bounds. What is written again must read the same. A
 * refusal must have a reason that fits in a line after "refused".
 */
#include "service/tacetrun/launch_writer.h"
#include "service/tacetrun/stream_line.h"
#include "fuzz.h"

#define WRITTEN_ABOVE 64 /* bytes by which a request may grow: written defaults */

static void promise_reason(const struct message *why)
{
    size_t length = strlen(why->text);

    PROMISE(length > 0 && length < LAUNCH_LINE_BYTES - strlen("refused "));
    for (size_t i = 0; i < length; i++)
        PROMISE(why->text[i] >= ' ' && why->text[i] <= '~');
}

static void promise_inside(const char *text, const char *bytes, size_t count)
{
    PROMISE(text > bytes && text < bytes + count);
    PROMISE(memchr(text, 0, (size_t)(bytes + count - text)));
}

static void promise_list(const char *const *list, unsigned items, const char *bytes, size_t count)
{
    for (unsigned i = 0; i < items; i++)
        promise_inside(list[i], bytes, count);
    PROMISE(!list[items]);
}

static void promise_bounds(const struct launch_request *request, const char *bytes, size_t count)
{
    PROMISE(request->job > 0 && request->port > 0);
    PROMISE(request->ranks > 0 && request->size <= LAUNCH_RANKS_MAX);
    PROMISE((uint64_t)request->first + request->ranks <= request->size);
    PROMISE(request->cpus <= LAUNCH_CPUS_MAX);
    PROMISE(request->stdin_rank < request->size || request->stdin_rank == LAUNCH_RANK_NONE);
    PROMISE(request->program_bytes <= LAUNCH_PROGRAM_MAX);
    promise_inside(request->path, bytes, count);
    PROMISE(request->path[0] == '/' || (request->path[0] && request->program_bytes));
    if (request->directory) {
        promise_inside(request->directory, bytes, count);
        PROMISE(request->directory[0] == '/');
    }
    PROMISE(request->argument_count > 0 && request->argument_count <= LAUNCH_ARGUMENTS_MAX);
    PROMISE(request->variable_count + request->number_count <= LAUNCH_VARIABLES_MAX);
    promise_list(request->arguments, request->argument_count, bytes, count);
    promise_list(request->variables, request->variable_count, bytes, count);
    promise_list(request->numbers, request->number_count, bytes, count);
    for (unsigned i = 0; i < request->variable_count; i++)
        PROMISE(strchr(request->variables[i], '=') > request->variables[i]);
    for (unsigned i = 0; i < request->number_count; i++)
        PROMISE(request->numbers[i][0] && !strchr(request->numbers[i], '='));
}

static void promise_same_list(const char *const *left, const char *const *right, unsigned items)
{
    for (unsigned i = 0; i < items; i++)
        PROMISE(strcmp(left[i], right[i]) == 0);
}

static void promise_same(const struct launch_request *left, const struct launch_request *right)
{
    PROMISE(left->job == right->job && left->port == right->port && left->secret == right->secret);
    PROMISE(left->ranks == right->ranks && left->first == right->first && left->size == right->size);
    PROMISE(left->cpus == right->cpus && left->stdin_rank == right->stdin_rank);
    PROMISE(left->program_bytes == right->program_bytes && strcmp(left->path, right->path) == 0);
    PROMISE(!left->directory == !right->directory);
    PROMISE(!left->directory || strcmp(left->directory, right->directory) == 0);
    PROMISE(left->argument_count == right->argument_count);
    PROMISE(left->variable_count == right->variable_count && left->number_count == right->number_count);
    promise_same_list(left->arguments, right->arguments, left->argument_count);
    promise_same_list(left->variables, right->variables, left->variable_count);
    promise_same_list(left->numbers, right->numbers, left->number_count);
}

static void try_request(const char *bytes, size_t count)
{
    static struct launch_request request, second;
    static char again[LAUNCH_REQUEST_BYTES];
    struct message why = { "" };

    if (launch_request_read(bytes, count, &request, &why) != 0) {
        promise_reason(&why);
        return;
    }
    promise_bounds(&request, bytes, count);
    size_t written = launch_request_write(&request, again, sizeof(again));
    PROMISE(written > 0 || count + WRITTEN_ABOVE > sizeof(again));
    if (!written)
        return;
    PROMISE(written <= count + WRITTEN_ABOVE);
    PROMISE(launch_request_read(again, written, &second, &why) == 0);
    promise_same(&request, &second);
}

/* Writes a line again from what was read. */
static void line_write(const struct launch_line *line, char *text, size_t room)
{
    size_t at = (size_t)snprintf(text, room, "launch %zu %u %u %u ", line->bytes, line->job, line->user.uid,
                                 line->user.gid);

    for (unsigned i = 0; i < line->user.group_count; i++)
        at += (size_t)snprintf(text + at, room - at, "%s%u", i ? "," : "", line->user.groups[i]);
    at += (size_t)snprintf(text + at, room - at, "%s %llu ", line->user.group_count ? "" : "-",
                           (unsigned long long)line->expires_s);
    for (unsigned i = 0; line->has_ticket && i < sizeof(line->mac); i++)
        at += (size_t)snprintf(text + at, room - at, "%02x", line->mac[i]);
    snprintf(text + at, room - at, "%s", line->has_ticket ? "" : "-");
}

static void try_line(const char *text)
{
    static const uint8_t key[KEY_BYTES] = { 1 };
    static struct launch_line line, second;
    char again[LAUNCH_TICKET_LINE];
    struct message why = { "" };

    if (launch_line_read(text, &line, &why) != 0) {
        promise_reason(&why);
        return;
    }
    PROMISE(line.bytes > 0 && line.bytes <= LAUNCH_REQUEST_BYTES && line.job > 0);
    PROMISE(line.user.uid != UINT32_MAX && line.user.gid != UINT32_MAX);
    PROMISE(line.user.group_count <= CREDENTIALS_GROUPS_MAX);
    PROMISE(line.sealed > text && line.sealed + line.sealed_bytes < text + strlen(text));
    PROMISE(line.sealed[line.sealed_bytes] == ' ');
    if (launch_ticket_check(&line, key, 1, "n1", 0, &why)) /* no input has the right ticket */
        promise_reason(&why);
    else
        PROMISE(false);
    line_write(&line, again, sizeof(again));
    PROMISE(launch_line_read(again, &second, &why) == 0);
    PROMISE(line.bytes == second.bytes && line.job == second.job && line.expires_s == second.expires_s);
    PROMISE(line.user.uid == second.user.uid && line.user.gid == second.user.gid);
    PROMISE(line.user.group_count == second.user.group_count);
    PROMISE(memcmp(line.user.groups, second.user.groups, line.user.group_count * sizeof(uint32_t)) == 0);
    PROMISE(line.has_ticket == second.has_ticket);
    PROMISE(!line.has_ticket || memcmp(line.mac, second.mac, sizeof(line.mac)) == 0);
}

static void try_stream_line(const char *line)
{
    static const char *const kinds[] = { "out", "err", "pmi" };
    struct stream_line read;
    char again[64];

    if (stream_line_read(line, &read))
        return;
    PROMISE(read.rank < LAUNCH_RANKS_MAX && read.kind < STREAM_KINDS);
    snprintf(again, sizeof(again), "stream %016llx %u %s", (unsigned long long)read.secret, read.rank,
             kinds[read.kind]);
    PROMISE(strlen(line) >= strlen(again) && strcmp(line + strlen(line) - 4, again + strlen(again) - 4) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *line = malloc(bytes + 1);

    try_request((const char *)data, bytes);
    memcpy(line, data, bytes);
    line[bytes] = '\0';
    try_line(line);
    try_stream_line(line);
    free(line);
    return 0;
}
