/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * codec.c: see codec.h. Numbers of types and bits are the protocol's; those of errors, modes and types of
 * directory entries in it are Linux's.
 */
#include "ninep/codec.h"
#include "net/size.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "lib/kstring.h"

#define ERROR_MAX      511 /* higher numbers are internal to a kernel */
#define NS_PER_SECOND  1000000000LL
#define SECONDS_MAX    (INT64_MAX / NS_PER_SECOND - 1)
#define LOCK_TYPE_NONE 2

/* ---- Requests ---- */

static void put(struct ninep_message *message, const void *bytes, uint64_t count)
{
    if (count > message->capacity - message->used) {
        message->overflows = true;
        return;
    }
    memcpy(message->bytes + message->used, bytes, count);
    message->used += (uint32_t)count;
}

struct ninep_message ninep_begin(uint8_t *bytes, uint32_t capacity, enum ninep_type type)
{
    struct ninep_message message = { .bytes = bytes, .capacity = capacity };

    ninep_put_u32(&message, 0);
    ninep_put_u8(&message, (uint8_t)type);
    ninep_put_u16(&message, 0);
    return message;
}

void ninep_put_u8(struct ninep_message *message, uint8_t value)
{
    put(message, &value, sizeof(value));
}

void ninep_put_u16(struct ninep_message *message, uint16_t value)
{
    put(message, &value, sizeof(value));
}

void ninep_put_u32(struct ninep_message *message, uint32_t value)
{
    put(message, &value, sizeof(value));
}

void ninep_put_u64(struct ninep_message *message, uint64_t value)
{
    put(message, &value, sizeof(value));
}

void ninep_put_text(struct ninep_message *message, const char *text, uint64_t bytes)
{
    if (bytes > UINT16_MAX) {
        message->overflows = true;
        return;
    }
    ninep_put_u16(message, size_16(bytes));
    put(message, text, bytes);
}

static void put_time(struct ninep_message *message, int64_t ns)
{
    int64_t seconds = ns / NS_PER_SECOND, rest = ns % NS_PER_SECOND;

    if (rest < 0) {
        seconds--;
        rest += NS_PER_SECOND;
    }
    ninep_put_u64(message, (uint64_t)seconds);
    ninep_put_u64(message, (uint64_t)rest);
}

void ninep_put_change(struct ninep_message *message, const struct mount_change *change)
{
    static const struct {
        unsigned what;
        uint32_t bits;
    } table[] = {
        { MOUNT_MODE, 0x1 },      { MOUNT_USER, 0x2 },          { MOUNT_GROUP, 0x4 },
        { MOUNT_BYTES, 0x8 },     { MOUNT_ACCESSED_NOW, 0x10 }, { MOUNT_MODIFIED_NOW, 0x20 },
        { MOUNT_ACCESSED, 0x90 }, { MOUNT_MODIFIED, 0x120 },
    };
    unsigned what = change->what;
    uint32_t bits = 0;

    if (what & MOUNT_ACCESSED_NOW)
        what &= ~(unsigned)MOUNT_ACCESSED;
    if (what & MOUNT_MODIFIED_NOW)
        what &= ~(unsigned)MOUNT_MODIFIED;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        bits |= what & table[i].what ? table[i].bits : 0;
    ninep_put_u32(message, bits);
    ninep_put_u32(message, change->mode & 07777);
    ninep_put_u32(message, change->user);
    ninep_put_u32(message, change->group);
    ninep_put_u64(message, change->bytes);
    put_time(message, change->accessed_ns);
    put_time(message, change->modified_ns);
}

/* ---- Replies ---- */

static const uint8_t *take(struct ninep_reader *reader, uint64_t count)
{
    const uint8_t *at = reader->at;

    if (reader->is_short || count > (uint64_t)(reader->end - at)) {
        reader->is_short = true;
        return NULL;
    }
    reader->at += count;
    return at;
}

uint8_t ninep_get_u8(struct ninep_reader *reader)
{
    const uint8_t *at = take(reader, 1);

    return at ? *at : 0;
}

uint16_t ninep_get_u16(struct ninep_reader *reader)
{
    const uint8_t *at = take(reader, 2);

    return at ? load_le16(at) : 0;
}

uint32_t ninep_get_u32(struct ninep_reader *reader)
{
    const uint8_t *at = take(reader, 4);

    return at ? load_le32(at) : 0;
}

uint64_t ninep_get_u64(struct ninep_reader *reader)
{
    const uint8_t *at = take(reader, 8);

    return at ? load_le64(at) : 0;
}

uint16_t ninep_get_text(struct ninep_reader *reader, const char **text)
{
    uint16_t bytes = ninep_get_u16(reader);

    *text = (const char *)take(reader, bytes);
    return *text ? bytes : 0;
}

struct ninep_qid ninep_get_qid(struct ninep_reader *reader)
{
    struct ninep_qid qid;

    qid.type = ninep_get_u8(reader);
    qid.version = ninep_get_u32(reader);
    qid.path = ninep_get_u64(reader);
    return qid;
}

static int end(const struct ninep_reader *reader)
{
    return reader->is_short ? -EPROTO : 0;
}

int ninep_read_error(struct ninep_reader *reader)
{
    uint32_t error = ninep_get_u32(reader);

    if (reader->is_short || error == 0 || error > ERROR_MAX)
        return -EIO;
    /* The first two are the session's own errors for a broken connection. EINTR would make the call begin
     * again, as often as the server returns it, although no signal has come. */
    return error == ECONNRESET || error == ENOTCONN || error == EINTR ? -EIO : -(int)error;
}

int ninep_read_version(struct ninep_reader *reader, uint32_t *message_bytes)
{
    static const char ours[] = "9P2000.L";
    const char *text;

    *message_bytes = ninep_get_u32(reader);
    uint16_t bytes = ninep_get_text(reader, &text);
    if (reader->is_short)
        return -EPROTO;
    return bytes == sizeof(ours) - 1 && memcmp(text, ours, bytes) == 0 ? 0 : -EOPNOTSUPP;
}

int ninep_read_walk(struct ninep_reader *reader, unsigned names, struct ninep_qid qids[NINEP_WALK_MAX])
{
    uint16_t count = ninep_get_u16(reader);

    if (count > names || count > NINEP_WALK_MAX)
        return -EPROTO;
    for (unsigned i = 0; i < count; i++)
        qids[i] = ninep_get_qid(reader);
    return reader->is_short ? -EPROTO : count;
}

static int64_t get_time(struct ninep_reader *reader)
{
    int64_t seconds = (int64_t)ninep_get_u64(reader);
    uint64_t ns = ninep_get_u64(reader);

    if (seconds > SECONDS_MAX || seconds < -SECONDS_MAX || ns >= (uint64_t)NS_PER_SECOND)
        return 0;
    return seconds * NS_PER_SECOND + (int64_t)ns;
}

int ninep_read_attributes(struct ninep_reader *reader, struct mount_status *status)
{
    ninep_get_u64(reader); /* which fields are valid: those that were asked for */
    struct ninep_qid qid = ninep_get_qid(reader);
    status->number = qid.path;
    status->mode = ninep_get_u32(reader);
    status->user = ninep_get_u32(reader);
    status->group = ninep_get_u32(reader);
    status->links = ninep_get_u64(reader);
    status->device = ninep_get_u64(reader);
    status->bytes = ninep_get_u64(reader);
    status->block_bytes = ninep_get_u64(reader);
    status->blocks = ninep_get_u64(reader);
    status->accessed_ns = get_time(reader);
    status->modified_ns = get_time(reader);
    status->changed_ns = get_time(reader);
    if (status->bytes > (uint64_t)INT64_MAX)
        return -EPROTO;
    return end(reader);
}

int ninep_read_statistics(struct ninep_reader *reader, struct mount_statistics *statistics)
{
    statistics->type = ninep_get_u32(reader);
    statistics->block_bytes = ninep_get_u32(reader);
    statistics->blocks = ninep_get_u64(reader);
    statistics->blocks_free = ninep_get_u64(reader);
    statistics->blocks_available = ninep_get_u64(reader);
    statistics->files = ninep_get_u64(reader);
    statistics->files_free = ninep_get_u64(reader);
    ninep_get_u64(reader); /* the file system's number */
    statistics->name_bytes = ninep_get_u32(reader);
    return end(reader);
}

int ninep_read_lock(struct ninep_reader *reader, struct mount_lock *lock)
{
    uint8_t type = ninep_get_u8(reader);

    lock->start = ninep_get_u64(reader);
    lock->bytes = ninep_get_u64(reader);
    lock->process = ninep_get_u32(reader);
    if (type > LOCK_TYPE_NONE)
        return -EPROTO;
    lock->type = type; /* Linux's numbers are the same */
    return end(reader);
}

int ninep_read_entry(struct ninep_reader *reader, struct mount_entry *entry)
{
    const char *name;

    if (reader->at == reader->end)
        return 0;
    entry->number = ninep_get_qid(reader).path;
    entry->next = ninep_get_u64(reader);
    entry->type = ninep_get_u8(reader);
    entry->name_bytes = ninep_get_text(reader, &name);
    if (reader->is_short || entry->name_bytes == 0 || entry->name_bytes > TREE_NAME_MAX)
        return -EPROTO;
    for (unsigned i = 0; i < entry->name_bytes; i++)
        if (name[i] == '/' || name[i] == '\0')
            return -EPROTO;
    memcpy(entry->name, name, entry->name_bytes);
    entry->name[entry->name_bytes] = '\0';
    return 1;
}
