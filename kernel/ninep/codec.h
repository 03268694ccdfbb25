/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * codec.h: messages of 9P2000.L to and from bytes. A message is size[4] type[1] tag[2] and a body of
 * little-endian numbers, texts after their length in 16 bits, and qids, by which a server tells files apart.
 * Building a message never writes past its buffer, and reading one never reads past its end: both remember
 * that there was no room, or no byte left, and the last step reports it.
 *
 * Portable C, host-tested and fuzzed; any context. Sources: the protocol's description in diod's protocol.md,
 * and the manual's section 5 of Plan 9.
 */
#ifndef TACET_NINEP_CODEC_H
#define TACET_NINEP_CODEC_H

#include "fs/mount.h"
#include <stdbool.h>
#include <stdint.h>

enum ninep_type { /* of a request; its reply has the next number */
                  NINEP_ERROR = 6,
                  NINEP_STATFS = 8,
                  NINEP_OPEN = 12,
                  NINEP_CREATE = 14,
                  NINEP_SYMLINK = 16,
                  NINEP_RENAME = 20,
                  NINEP_READLINK = 22,
                  NINEP_GETATTR = 24,
                  NINEP_SETATTR = 26,
                  NINEP_READDIR = 40,
                  NINEP_FSYNC = 50,
                  NINEP_LOCK = 52,
                  NINEP_GETLOCK = 54,
                  NINEP_LINK = 70,
                  NINEP_MKDIR = 72,
                  NINEP_VERSION = 100,
                  NINEP_ATTACH = 104,
                  NINEP_WALK = 110,
                  NINEP_READ = 116,
                  NINEP_WRITE = 118,
                  NINEP_CLUNK = 120,
                  NINEP_REMOVE = 122,
};

#define NINEP_HEADER_BYTES 7
#define NINEP_NO_TAG       0xffffu
#define NINEP_NO_FID       0xffffffffu
#define NINEP_WALK_MAX     16 /* names of one walk */
/* The most bytes of a message of data apart from the data: a write has 23, and servers count with 24. */
#define NINEP_DATA_OVERHEAD 24

#define NINEP_QID_DIRECTORY 0x80
#define NINEP_QID_SYMLINK   0x02

struct ninep_qid {
    uint8_t type;
    uint32_t version;
    uint64_t path; /* the file's alone, as long as it exists */
};

/* ---- Requests ---- */

struct ninep_message {
    uint8_t *bytes;
    uint32_t capacity, used;
    bool overflows; /* there was no room for all of it */
};

/* Returns an empty message of this type; the session sets its size and its tag. */
struct ninep_message ninep_begin(uint8_t *bytes, uint32_t capacity, enum ninep_type type);
void ninep_put_u8(struct ninep_message *message, uint8_t value);
void ninep_put_u16(struct ninep_message *message, uint16_t value);
void ninep_put_u32(struct ninep_message *message, uint32_t value);
void ninep_put_u64(struct ninep_message *message, uint64_t value);
void ninep_put_text(struct ninep_message *message, const char *text, uint64_t bytes);

/* ---- Replies ---- */

struct ninep_reader {
    const uint8_t *at, *end;
    bool is_short; /* something was missing; all numbers are 0 from there on */
};

uint8_t ninep_get_u8(struct ninep_reader *reader);
uint16_t ninep_get_u16(struct ninep_reader *reader);
uint32_t ninep_get_u32(struct ninep_reader *reader);
uint64_t ninep_get_u64(struct ninep_reader *reader);
/* Returns the text's length; *text points into the message and ends without a NUL. */
uint16_t ninep_get_text(struct ninep_reader *reader, const char **text);
struct ninep_qid ninep_get_qid(struct ninep_reader *reader);

/* Reads the body of a reply. Returns -EPROTO if it is shorter than it must be, or invalid. */
int ninep_read_error(struct ninep_reader *reader); /* returns the error in it: always negative */
int ninep_read_version(struct ninep_reader *reader, uint32_t *message_bytes); /* -EOPNOTSUPP: other version */
int ninep_read_walk(struct ninep_reader *reader, unsigned names, struct ninep_qid qids[NINEP_WALK_MAX]);
int ninep_read_attributes(struct ninep_reader *reader, struct mount_status *status);
int ninep_read_statistics(struct ninep_reader *reader, struct mount_statistics *statistics);
int ninep_read_lock(struct ninep_reader *reader, struct mount_lock *lock);
/* Reads the next entry of a directory. Returns 1, or 0 at the end. */
int ninep_read_entry(struct ninep_reader *reader, struct mount_entry *entry);

/* Puts a change into a request, its bits first. */
void ninep_put_change(struct ninep_message *message, const struct mount_change *change);

#endif
