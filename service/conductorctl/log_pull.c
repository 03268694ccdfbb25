/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log_pull.c: see log_pull.h. The folder gets a file for each complete log, and nodes.json, which gives each
 * node's file, or the reason why there is none. A file has its node's name. If this cannot be a file's name,
 * or several nodes have it, the Ethernet address is added.
 */
#include "service/conductorctl/log_pull.h"
#include "beat/page_frame.h"
#include "lib/bytes.h"
#include "service/conductorctl/node_view.h"
#include "service/lib/clock.h"
#include "service/lib/control.h"
#include "service/lib/json.h"
#include "service/lib/say.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_WITHIN_S 10 /* in addition to the conductor's own time limit */
#define NAME_BYTES      64
#define FILE_BYTES      128
#define WHY_BYTES       256

/* A node of the list, and its log. */
struct pulled {
    const char *listed; /* its object in the list of nodes */
    const char *quoted; /* its name there, in JSON */
    char name[NAME_BYTES], address[NAME_BYTES], file[FILE_BYTES];
    char why[WHY_BYTES]; /* why there is no log; empty: there is one */
    uint8_t *log, *have; /* the log, and for each page whether it has come */
    uint64_t size, missing, start, beat, local_ns, global_ns;
    int64_t drift;
};

static struct pull {
    struct conversation *conversation;
    const struct words *words;
    void (*error_print)(const char *answer);
    int folder;
    struct node_list list;
    struct pulled *nodes;
    size_t count;
} pull;

static void *memory(size_t count, size_t bytes)
{
    void *made = calloc(count ? count : 1, bytes);

    if (!made)
        give_up(1, "no memory");
    return made;
}

static unsigned within_s(void)
{
    return pull.words->within_s + ANSWER_WITHIN_S;
}

/* ---- Nodes, and their files ---- */

/* Returns whether a list with commas has this word. */
static bool is_listed(const char *list, const char *word)
{
    const size_t bytes = strlen(word);

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strcspn(at, ",") == bytes && strncmp(at, word, bytes) == 0)
            return true;
    return false;
}

static bool is_chosen(const struct pulled *node)
{
    const char *nodes = pull.words->nodes;

    return !nodes || is_listed(nodes, node->name) || is_listed(nodes, node->address);
}

/* Puts the chosen nodes of the list into pull.nodes. */
static void nodes_choose(void)
{
    size_t room = 0;

    for (const char *at = json_first(pull.list.text); at; at = json_next(at))
        room++;
    pull.nodes = memory(room, sizeof(*pull.nodes));
    pull.count = 0;
    for (const char *at = json_first(pull.list.text); at; at = json_next(at)) {
        struct pulled *node = &pull.nodes[pull.count];

        *node = (struct pulled){ .listed = at,
                                 .quoted = json_member(at, "name"),
                                 .why = "not asked: an earlier error ended the transfer" };
        json_member_text(at, "name", node->name, sizeof(node->name));
        json_member_text(at, "address", node->address, sizeof(node->address));
        pull.count += is_chosen(node);
    }
}

/* Returns whether each word of --nodes is a node; prints those that are not. */
static bool all_are_known(void)
{
    bool known = true;

    for (const char *at = pull.words->nodes; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const int bytes = (int)strcspn(at, ",");
        bool is_node = false;

        for (size_t i = 0; i < pull.count && !is_node; i++) {
            const char *const texts[] = { pull.nodes[i].name, pull.nodes[i].address };

            for (unsigned j = 0; j < 2; j++)
                is_node |= strlen(texts[j]) == (size_t)bytes && strncmp(texts[j], at, (size_t)bytes) == 0;
        }
        if (!is_node)
            say("no node of this name or Ethernet address is known: %.*s", bytes, at);
        known &= is_node;
    }
    return known;
}

/* Copies a name, with '_' for all but letters, digits and .-_, and for a dot at the start. Returns false if
 * this has changed it, or it is empty. */
static bool name_clean(const char *name, char *clean)
{
    snprintf(clean, NAME_BYTES, "%s", name);
    for (char *at = clean; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-_.", *at))
            *at = '_';
    if (*clean == '.')
        *clean = '_';
    return *clean && strcmp(clean, name) == 0;
}

static bool is_taken(size_t before, const char *file)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(pull.nodes[i].file, file) == 0)
            return true;
    return false;
}

static void file_name(size_t place)
{
    struct pulled *node = &pull.nodes[place];
    char clean[NAME_BYTES], digits[NAME_BYTES];
    size_t bytes = 0;
    unsigned same = 0;

    bool is_plain = name_clean(node->name, clean);
    for (size_t i = 0; i < pull.count; i++)
        is_plain = is_plain && (i == place || strcmp(pull.nodes[i].name, node->name) != 0);
    for (const char *at = node->address; *at; at++)
        if (isxdigit((unsigned char)*at))
            digits[bytes++] = *at;
    digits[bytes] = '\0';
    snprintf(node->file, FILE_BYTES, is_plain ? "%s.klog" : "%s-%s.klog", clean, digits);
    while (is_taken(place, node->file)) /* another node's name may end with an address */
        snprintf(node->file, FILE_BYTES, "%s-%s-%u.klog", clean, digits, ++same);
}

/* ---- A node's log ---- */

static uint64_t now_s(void)
{
    return clock_now_ns() / SECOND_NS;
}

static uint64_t page_count(const struct pulled *node)
{
    return (node->size + PAGE_DATA_BYTES - 1) / PAGE_DATA_BYTES;
}

/* Begins a log with its first page. Returns NULL, or why there is no log. */
static const char *log_begin(struct pulled *node, const char *page)
{
    node->size = json_number(page, "size");
    node->start = json_number(page, "start");
    node->beat = json_number(page, "beat");
    node->local_ns = json_number(page, "local_ns");
    node->global_ns = json_number(page, "global_ns");
    node->drift = (int64_t)(json_member(page, "drift") ? strtoll(json_member(page, "drift"), NULL, 10) : 0);
    if (!node->size)
        return "its log is not held: it has restarted, or has released the log";
    if (node->size > PAGE_LOG_BYTES_MAX)
        return "it sends an impossible size of its log";
    node->missing = page_count(node);
    node->log = memory(node->size, 1);
    node->have = memory(node->missing, 1);
    return NULL;
}

/* Reads `bytes` bytes from a JSON string of hexadecimal digits. Returns false if it is not such a string. */
static bool data_read(const char *quoted, uint8_t *to, uint64_t bytes)
{
    char digits[2 * PAGE_DATA_BYTES + 2];

    if (!quoted)
        return false;
    json_text(quoted, digits, sizeof(digits));
    return hexadecimal_read(digits, to, bytes);
}

/* Takes a page into the log. Returns NULL, or why the log is lost. */
static const char *page_take(struct pulled *node, const char *page)
{
    const uint64_t offset = json_number(page, "offset"), place = offset / PAGE_DATA_BYTES;
    const char *why = node->log ? NULL : log_begin(node, page);

    if (why)
        return why;
    if (json_number(page, "start") != node->start || json_number(page, "beat") != node->beat ||
        json_number(page, "size") != node->size)
        return "it has restarted or released its log during the transfer";
    if (offset >= node->size || offset % PAGE_DATA_BYTES)
        return NULL;
    const uint64_t left = node->size - offset;
    if (!data_read(json_member(page, "data"), node->log + offset,
                   left < PAGE_DATA_BYTES ? left : PAGE_DATA_BYTES))
        return "the conductor has sent a page that is damaged";
    node->missing -= !node->have[place];
    node->have[place] = 1;
    return NULL;
}

/* Asks for the first missing pages. Sets *why if the log is lost. Returns false if the conductor does not
 * answer. */
static bool pages_ask(struct pulled *node, const char **why)
{
    uint64_t first = 0, count = 0;
    char request[CONTROL_REQUEST_BYTES];
    static char error[WHY_BYTES];

    while (node->log && node->have[first])
        first++;
    while (count < PAGE_COUNT_MAX &&
           (!node->log || (first + count < page_count(node) && !node->have[first + count])))
        count++;
    snprintf(request, sizeof(request), "page %s %" PRIu64 " %" PRIu64, node->address, first * PAGE_DATA_BYTES,
             count);
    const char *answer = conversation_ask(pull.conversation, request, within_s());
    for (; answer && json_member(answer, "page"); answer = conversation_next(pull.conversation))
        if (!*why)
            *why = page_take(node, answer);
    if (answer && json_member(answer, "error")) {
        json_member_text(answer, "error", error, sizeof(error));
        *why = error;
    }
    return answer != NULL;
}

static bool file_write(const char *file, const void *bytes, size_t count)
{
    const int to = openat(pull.folder, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    ssize_t written = 1;

    for (size_t at = 0; to >= 0 && at < count && written > 0; at += (size_t)written)
        written = write(to, (const char *)bytes + at, count - at);
    const int error = errno;
    if (to >= 0 && close(to) == 0 && written > 0)
        return true;
    say("%s/%s: %s", pull.words->folder, file, strerror(error));
    return false;
}

/* Gets a node's log, and writes its file. Returns false if other logs cannot be got either: the conductor
 * does not answer, or the file cannot be written. */
static bool node_pull(struct pulled *node)
{
    uint64_t last_s = now_s(), missing = UINT64_MAX;
    const char *why = NULL;
    bool goes_on = true;

    while (goes_on && !why && (!node->log || node->missing)) {
        goes_on = pages_ask(node, &why);
        if (node->log && node->missing < missing) {
            missing = node->missing;
            last_s = now_s();
        } else if (now_s() - last_s > pull.words->within_s) {
            why = node->log ? "timed out: the rest of its log has not come"
                            : "timed out: it has not sent its log";
        }
    }
    if (goes_on && !why && !file_write(node->file, node->log, node->size)) {
        why = "cannot write its file";
        goes_on = false;
    }
    if (!goes_on && !why)
        why = "the conductor does not answer";
    snprintf(node->why, sizeof(node->why), "%s", why ? why : "");
    free(node->log);
    free(node->have);
    node->log = node->have = NULL;
    return goes_on;
}

/* ---- All nodes ---- */

/* Returns whether a node has not held its log, by the list; writes the reason to node->why. */
static bool has_not_held(struct pulled *node, uint32_t number)
{
    const uint64_t done = json_number(node->listed, "done"), result = json_number(node->listed, "result");

    if (done < number)
        snprintf(node->why, sizeof(node->why), "it has not held its log in time");
    else if (done == number && result)
        snprintf(node->why, sizeof(node->why), "it has not held its log: %s",
                 result == ENOSYS  ? "it does not know the command"
                 : result == EBUSY ? "it is held already; try again after a minute"
                                   : strerror((int)result));
    else
        return false;
    return true;
}

/* Gets the logs of all chosen nodes; the list was made after the hold, whose number is `number`. Returns
 * false if an error ended this early. */
static bool nodes_pull(uint32_t number)
{
    bool goes_on = true;

    for (size_t i = 0; i < pull.count; i++)
        file_name(i);
    for (size_t i = 0; i < pull.count && goes_on; i++)
        if (!has_not_held(&pull.nodes[i], number))
            goes_on = node_pull(&pull.nodes[i]);
    return goes_on;
}

static void node_write(FILE *to, const struct pulled *node)
{
    fprintf(to, "{\"name\": %.*s, \"address\": \"%s\", ", (int)(json_end(node->quoted) - node->quoted),
            node->quoted, node->address);
    if (*node->why)
        fprintf(to, "\"error\": \"%s\"}", node->why);
    else
        fprintf(to,
                "\"file\": \"%s\", \"bytes\": %" PRIu64 ", \"beat\": %" PRIu64 ", \"local_ns\": %" PRIu64
                ", \"global_ns\": %" PRIu64 ", \"drift\": %" PRId64 "}",
                node->file, node->size, node->beat, node->local_ns, node->global_ns, node->drift);
}

/* Writes nodes.json: the nodes whose log is there, and those whose log is missing. */
static bool report_write(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);

    if (!to)
        return false;
    for (unsigned missing = 0; missing < 2; missing++) {
        bool is_first = true;

        fputs(missing ? "\n],\n\"missing\": [" : "{\"nodes\": [", to);
        for (size_t i = 0; i < pull.count; i++) {
            if ((*pull.nodes[i].why != '\0') != missing)
                continue;
            fputs(is_first ? "\n" : ",\n", to);
            node_write(to, &pull.nodes[i]);
            is_first = false;
        }
    }
    fputs("\n]}\n", to);
    if (fclose(to))
        return false;
    const bool is_written = file_write("nodes.json", text, bytes);
    if (pull.words->is_json)
        fputs(text, stdout);
    free(text);
    return is_written;
}

/* Prints how many logs are there, and the nodes whose log is missing. Returns false if any is missing, or
 * there is no node. */
static bool result_print(void)
{
    uint64_t first = UINT64_MAX, last = 0;
    size_t whole = 0;

    for (size_t i = 0; i < pull.count; i++) {
        const struct pulled *node = &pull.nodes[i];

        if (*node->why) {
            say("no log of %s (%s): %s", node->name, node->address, node->why);
            continue;
        }
        whole++;
        first = node->beat < first ? node->beat : first;
        last = node->beat > last ? node->beat : last;
    }
    if (!pull.words->is_json && whole)
        printf(first == last ? "klog: %zu logs in %s, held at beat %" PRIu64 "\n"
                             : "klog: %zu logs in %s, held at beats %" PRIu64 " to %" PRIu64 "\n",
               whole, pull.words->folder, first, last);
    if (!pull.count)
        say("no node has answered the conductor yet");
    return whole && whole == pull.count;
}

static bool folder_open(void)
{
    const char *path = pull.words->folder;

    if (mkdir(path, 0777) && errno != EEXIST)
        pull.folder = -1;
    else
        pull.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (pull.folder < 0)
        say("--to %s: %s", path, strerror(errno));
    return pull.folder >= 0;
}

/* Has the logs held. Returns the number of the command; 0: no node has done it. */
static uint32_t hold(void)
{
    char request[CONTROL_REQUEST_BYTES];

    snprintf(request, sizeof(request), "within %u hold", pull.words->within_s);
    const char *answer = conversation_ask(pull.conversation, request, within_s());
    if (answer && json_member(answer, "error") && !json_number(answer, "done"))
        pull.error_print(answer);
    return answer && json_number(answer, "done") ? (uint32_t)json_number(answer, "number") : 0;
}

static bool release(void)
{
    char request[CONTROL_REQUEST_BYTES];

    snprintf(request, sizeof(request), "within %u release", pull.words->within_s);
    const char *answer = conversation_ask(pull.conversation, request, within_s());
    if (!answer)
        return false;
    /* A node that fails to release has held no log; silent nodes are named already. */
    const bool is_done =
        !json_member(answer, "error") || (json_member(answer, "missing") && !json_number(answer, "missing"));
    if (!is_done)
        pull.error_print(answer);
    return is_done;
}

static bool list_renew(void)
{
    node_list_free(&pull.list);
    free(pull.nodes);
    pull.nodes = NULL;
    if (!node_list_ask(&pull.list, pull.conversation))
        return false;
    nodes_choose();
    return true;
}

int log_pull(struct conversation *conversation, const struct words *words,
             void (*error_print)(const char *answer))
{
    pull = (struct pull){ .conversation = conversation, .words = words, .error_print = error_print };
    if (!folder_open() || !list_renew() || !all_are_known())
        return 1;
    const uint32_t number = hold();
    if (!number)
        return 1;
    bool is_fine = list_renew() && nodes_pull(number);
    is_fine = release() && is_fine;
    is_fine = report_write() && is_fine;
    return result_print() && is_fine ? 0 : 1;
}
