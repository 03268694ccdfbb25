/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ninep.c: the input is all that a server sends on its connections, in pieces of any size; the client
 * makes its calls. It must not hang, nor touch memory that is not its own, nor leave memory allocated.
 *
 * If the first byte is even, the session begins with correct replies, because random bytes would hardly get
 * past them. If its bit 1 is clear too, the input has only the bodies of the replies, each after its length:
 * they get the tags and types that the requests ask for. Otherwise the input has complete replies.
 */
#include "fuzz.h"
#include "lib/errno.h"
#include "ninep/mount.h"

static const uint8_t *input;
static size_t input_bytes, cut;
static uint64_t now_ns;
static int64_t memory;
static uint8_t greeting[64];
static size_t greeting_bytes, greeting_at;

/* Replies that are framed here: the requests, in order. */
#define ASKED_MAX 128
static bool greets, frames;
static uint8_t asked[ASKED_MAX][7], reply[7 + 255];
static unsigned asked_first, asked_count, message_left;
static size_t reply_bytes, reply_at;

void crosscall_serve(void)
{
}

int ninep_transport_open(struct ninep_transport *transport, uint64_t deadline_ns)
{
    PROMISE(!transport->connection && deadline_ns);
    if (input_bytes == 0)
        return -ECONNREFUSED;
    transport->connection = &input;
    greeting_at = greeting_bytes = reply_at = reply_bytes = 0;
    asked_count = asked_first = message_left = 0;
    return 0;
}

void ninep_transport_close(struct ninep_transport *transport)
{
    PROMISE(transport->connection);
    transport->connection = NULL;
}

/* Makes the next reply, to the first request. */
static void reply_frame(void)
{
    const uint8_t *request = asked[asked_first];
    size_t body = *input++ % 160;

    asked_first = (asked_first + 1) % ASKED_MAX;
    asked_count--;
    input_bytes--;
    body = body < input_bytes ? body : input_bytes;
    reply_bytes = 7 + body;
    reply_at = 0;
    memcpy(reply, (uint8_t[]){ (uint8_t)reply_bytes, (uint8_t)(reply_bytes >> 8), 0, 0 }, 4);
    reply[4] = (uint8_t)(body == 4 && input[0] < 64 ? 7 : request[4] + 1);
    memcpy(reply + 5, request + 5, 2);
    memcpy(reply + 7, input, body);
    input += body;
    input_bytes -= body;
}

static int64_t read_framed(void *bytes, uint64_t count)
{
    if (reply_at == reply_bytes && (input_bytes == 0 || asked_count == 0))
        return input_bytes == 0 ? 0 : -EAGAIN;
    if (reply_at == reply_bytes)
        reply_frame();
    uint64_t part = count < reply_bytes - reply_at ? count : reply_bytes - reply_at;
    memcpy(bytes, reply + reply_at, part);
    reply_at += part;
    return (int64_t)part;
}

/* Prepares the correct reply to the session's first two requests. */
static void greet(uint8_t type)
{
    static const uint8_t version[] = { 21, 0, 0,   0,   101, 255, 255, 0,   16,  0,  0,
                                       8,  0, '9', 'P', '2', '0', '0', '0', '.', 'L' };
    static const uint8_t attach[] = { 20, 0, 0, 0, 105, 0, 0, 0x80, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0 };

    if (!greets)
        return;
    greeting_bytes = type == NINEP_VERSION ? sizeof(version) : sizeof(attach);
    greeting_at = 0;
    memcpy(greeting, type == NINEP_VERSION ? version : attach, greeting_bytes);
}

/* Notes sent bytes: the beginning of a message, or more of it. */
static void sent(const uint8_t *bytes, uint64_t count)
{
    uint32_t size;

    if (message_left == 0 && count >= 7) {
        memcpy(&size, bytes, 4);
        message_left = size;
        if (bytes[4] == NINEP_VERSION || bytes[4] == NINEP_ATTACH)
            greet(bytes[4]);
        else if (asked_count < ASKED_MAX)
            memcpy(asked[(asked_first + asked_count++) % ASKED_MAX], bytes, 7);
    }
    PROMISE(count <= message_left);
    message_left -= (unsigned)count;
}

int64_t ninep_transport_read(struct ninep_transport *transport, void *bytes, uint64_t count)
{
    PROMISE(transport->connection && count > 0);
    if (greeting_at < greeting_bytes) {
        uint64_t part = greeting_bytes - greeting_at < count ? greeting_bytes - greeting_at : count;

        memcpy(bytes, greeting + greeting_at, part);
        greeting_at += part;
        return (int64_t)part;
    }
    if (frames)
        return read_framed(bytes, count);
    if (input_bytes == 0)
        return 0;
    uint64_t part = count < input_bytes ? count : input_bytes;
    part = part < cut ? part : cut;
    memcpy(bytes, input, part);
    input += part;
    input_bytes -= part;
    return (int64_t)part;
}

int64_t ninep_transport_write(struct ninep_transport *transport, const void *bytes, uint64_t count)
{
    uint8_t sum = 0;

    PROMISE(transport->connection && count > 0);
    for (uint64_t i = 0; i < count; i++) /* all of it must be readable */
        sum = (uint8_t)(sum + ((const uint8_t *)bytes)[i]);
    if (sum == 77 && input_bytes % 2)
        return -EAGAIN;
    sent(bytes, count);
    return (int64_t)count;
}

void ninep_transport_wait(struct ninep_transport *transport, bool write_too, uint64_t deadline_ns)
{
    PROMISE(transport->connection);
    (void)write_too; /* the input is there already */
    now_ns = deadline_ns > now_ns ? deadline_ns : now_ns;
}

uint64_t ninep_random(void)
{
    return 0x243f6a8885a308d3; /* any */
}

uint64_t ninep_now_ns(void)
{
    return now_ns += 1000;
}

void ninep_sleeper_begin(struct ninep_sleeper *sleeper)
{
    sleeper->woken = 0;
}

void ninep_sleep(struct ninep_sleeper *sleeper, uint64_t deadline_ns)
{
    if (!sleeper->woken && deadline_ns > now_ns)
        now_ns = deadline_ns;
}

void ninep_wake(struct ninep_sleeper *sleeper)
{
    sleeper->woken = 1;
}

void *ninep_allocate(uint64_t bytes)
{
    memory += (int64_t)bytes;
    return malloc(bytes);
}

void ninep_free(void *at, uint64_t bytes)
{
    memory -= (int64_t)bytes;
    free(at);
}

void ninep_say(const char *source, const char *what)
{
    PROMISE(source[0] && what[0]);
}

static void file_use(struct mount_file *file)
{
    static uint8_t bytes[20000];
    struct mount_change change = { .what = MOUNT_BYTES, .bytes = 5 };
    struct mount_lock lock = { .type = 1 };
    struct mount_status status;
    struct mount_entry entry = { .next = 0 };

    PROMISE(ninep_operations.read(file, bytes, sizeof(bytes), 3) <= (int64_t)sizeof(bytes));
    PROMISE(ninep_operations.write(file, bytes, 9000, 3) <= 9000);
    ninep_operations.file_status(file, &status);
    ninep_operations.file_change(file, &change);
    ninep_operations.sync(file, false);
    for (unsigned i = 0; i < 50 && ninep_operations.list(file, entry.next, &entry) == 1; i++)
        PROMISE(entry.name_bytes == strlen(entry.name) && entry.name_bytes > 0);
    ninep_operations.lock(file, &lock);
    ninep_operations.lock_get(file, &lock);
    ninep_operations.close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static char left[TREE_PATH_MAX], text[TREE_PATH_MAX];
    struct message why = { "" };
    struct mount_file *file;
    struct mount_status status;
    struct mount_statistics statistics;

    if (bytes < 3)
        return 0;
    greets = data[0] % 2 == 0;
    frames = data[0] % 4 == 0;
    cut = data[1] ? data[1] : SIZE_MAX;
    unsigned what = data[2];
    input = data + 3;
    input_bytes = bytes - 3;
    now_ns = 1;
    memory = 0;
    struct ninep_mount *mount = calloc(1, sizeof(*mount));
    struct mount_call call = { .mount = &mount->mount, .path = "a/../b/c", .left = left }, to = call;
    to.path = "d/e";
    if (ninep_mount_begin(mount, "/home", 1, 564, "/export", 1000000, &why) == 0) {
        if (what % 2 && ninep_operations.open(&call, what & 2 ? 0101 : 0, 0600, &file) == 0)
            file_use(file);
        if (what & 4)
            ninep_operations.rename(&call, &to, 0);
        if (what & 8 && ninep_operations.read_link(&call, text, sizeof(text)) == MOUNT_LEFT)
            PROMISE(strnlen(left, sizeof(left)) < sizeof(left) && left[0]);
        if (what & 16)
            ninep_operations.remove(&call, what & 2);
        if (what & 32)
            ninep_operations.statistics(&call, &statistics);
        ninep_operations.status(&call, true, &status);
    } else {
        PROMISE(why.text[0]);
    }
    PROMISE(memory == 0 && mount->session.inside == 0);
    free(mount);
    return 0;
}
