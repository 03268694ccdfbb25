/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat_frame.h: the frames of NETTICK, to and from bytes: what all kinds have in common, and heartbeats,
 * which the conductor broadcasts [Betti09 §III, §V-B]. Portable C, for senders and receivers alike.
 * docs/nettick.md has the format byte by byte.
 *
 * Each payload ends with the sender's Ethernet address and the tag, which covers it, so that a recorded frame
 * is forged if it comes from another address. Before the tag has been checked, only the version, the kind,
 * the length and that address are used.
 */
#ifndef TACET_BEAT_FRAME_H
#define TACET_BEAT_FRAME_H

#include "lib/siphash.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BEAT_ETHERTYPE     0x88cb
#define BEAT_VERSION       2
#define BEAT_HEADER_BYTES  48
#define BEAT_TAG_BYTES     8
#define BEAT_ADDRESS_BYTES 6 /* Ethernet's */
#define BEAT_END_BYTES     (BEAT_ADDRESS_BYTES + BEAT_TAG_BYTES)
#define BEAT_BYTES_MAX     1500 /* longest payload of the Ethernet frame */
#define BEAT_COMMANDS_MAX  16   /* commands in one beat */
#define BEAT_COMMAND_BYTES 64   /* longest body of a command */
#define BEAT_FRAME_BYTES   (BEAT_HEADER_BYTES + BEAT_COMMANDS_MAX * (8 + BEAT_COMMAND_BYTES) + BEAT_END_BYTES)
#define BEAT_PERIOD_NS_MIN 1000000ULL     /* 1000 Hz */
#define BEAT_PERIOD_NS_MAX 60000000000ULL /* one beat a minute */
#define BEAT_TAI_UTC_S_MAX 100000         /* Linux's own limit */
#define BEAT_WINDOW_US_MAX 100000         /* the longest window of BEAT_SERVICES */

enum beat_kind {
    BEAT_KIND_BEAT = 1,
    BEAT_KIND_ANSWER = 2,
    BEAT_KIND_PAGE = 3,
    BEAT_KIND_KEY_REQUEST = 4, /* key_frame.h */
    BEAT_KIND_KEY_ANSWER = 5
};

/* The conductor's commands, and their bodies. [n] is a length in bytes; numbers are in network byte order.
 * STOP, CONTINUE and KILL have no body, or [4] a job's number: then they are for that job's ranks alone. */
enum beat_code {
    BEAT_STOP = 1,     /* all ranks stop, as by SIGSTOP */
    BEAT_CONTINUE = 2, /* all ranks go on, as by SIGCONT */
    BEAT_KILL = 3,     /* all ranks end, as by SIGKILL */
    BEAT_COUNT = 4,    /* each CPU takes its counts of kernel entries, for answers */
    BEAT_TRACE = 5,    /* text: "+CLASS" or "-CLASS" of the flight log */
    BEAT_RATE = 6,     /* text: "NAME RATING" of a clock event device */
    BEAT_SERVICES = 7, /* [4] us: the service's ready threads run first, for this long at most */
    BEAT_WELCOME = 8,  /* [8 each] welcomes for nodes, which may obey then (welcome.h); its number is 0 */
    BEAT_HOLD = 9,     /* [4] s: hold the flight log for this long after the last BEAT_PAGE; 0: release */
    BEAT_PAGE = 10,    /* [6] Ethernet address, [8] offset, [2] count: its node sends pages (page_frame.h) */
    BEAT_REKEY = 11,   /* the node requests its keys once more (key_frame.h) */
    BEAT_CODE_MASK = 0x7fff,
    BEAT_ACKNOWLEDGE = 0x8000, /* added to a code: nodes answer each beat that carries the command */
};

/* What is wrong with a frame. */
enum beat_fault {
    BEAT_FINE,
    BEAT_TRUNCATED,     /* shorter than its header says, or shorter or longer than its kind allows */
    BEAT_OTHER_VERSION, /* it is from a newer or older conductor */
    BEAT_OTHER_KIND,    /* an answer instead of a beat, or the reverse: reflected */
    BEAT_FORGED,        /* the tag does not fit the key, or the frame comes from another address */
    BEAT_ABSURD,        /* a value that no conductor sends */
    BEAT_FAULTS,
};

struct beat_command {
    uint16_t code;   /* one of enum beat_code */
    uint16_t bytes;  /* length of the body */
    uint32_t number; /* rises from 1 within an epoch: nodes do each command once; 0: a welcome */
    uint8_t body[BEAT_COMMAND_BYTES];
};

struct beat {
    uint64_t epoch;        /* when the conductor was started, ns since 1970 (TAI): higher for each start */
    uint64_t sequence;     /* 1, 2, 3 … within an epoch */
    uint64_t time_ns;      /* when this beat was due, since 1970 (TAI); a multiple of the period */
    uint64_t period_ns;    /* time to the next beat; 0: this was the last one */
    uint32_t late_ns;      /* time from time_ns until the beat was given to the network */
    uint32_t tai_utc_s;    /* TAI minus UTC; 0: times in this beat are UTC's */
    uint16_t answer_every; /* nodes answer beats whose sequence this divides; 0: none */
    uint16_t command_count;
    struct beat_command commands[BEAT_COMMANDS_MAX];
};

/* ---- What all kinds of frames have in common ---- */

/* Writes the version, the kind and the length, which come first. beat_end_write writes the sender's address
 * and the tag, the last 14 of `bytes` bytes. */
void beat_head_write(uint8_t *payload, enum beat_kind kind, size_t bytes);
void beat_end_write(uint8_t *payload, size_t bytes, const uint8_t key[SIPHASH_KEY_BYTES],
                    const uint8_t sender[BEAT_ADDRESS_BYTES]);

/* Checks these: a frame of this kind, of `bytes_min` to `bytes_max` bytes, that has come from `sender`.
 * *whole is its length without the padding that Ethernet adds. */
enum beat_fault beat_head_check(const uint8_t *payload, size_t bytes, enum beat_kind kind, size_t bytes_min,
                                size_t bytes_max, const uint8_t key[SIPHASH_KEY_BYTES],
                                const uint8_t sender[BEAT_ADDRESS_BYTES], size_t *whole);

/* ---- Beats ---- */

/* Writes the payload of a frame. Returns its bytes, or 0 if the room is too small or the beat is absurd. */
size_t beat_encode(const struct beat *beat, const uint8_t key[SIPHASH_KEY_BYTES],
                   const uint8_t sender[BEAT_ADDRESS_BYTES], uint8_t *payload, size_t room);

/* Reads the payload of a frame of EtherType BEAT_ETHERTYPE from `sender`. *beat is valid after BEAT_FINE
 * only. */
enum beat_fault beat_decode(const uint8_t *payload, size_t bytes, const uint8_t key[SIPHASH_KEY_BYTES],
                            const uint8_t sender[BEAT_ADDRESS_BYTES], struct beat *beat);

/* ---- Which beats count ---- */

/* How a beat with the right tag follows the earlier ones. */
enum beat_place {
    BEAT_NEXT,       /* the successor of the last one, or the first */
    BEAT_AFTER_LOST, /* a later one: `lost` beats before it are missing */
    BEAT_DUPLICATE,  /* the last one again */
    BEAT_LATE,       /* an earlier one, or from an earlier start of the conductor: replayed or reordered */
    BEAT_NEW_EPOCH,  /* the first one after the conductor was started again */
};

#define BEAT_PLACES (BEAT_NEW_EPOCH + 1)

#define BEAT_SILENT_PERIODS 3

/* The last beat that counted, and when it came, by the caller's clock. */
struct beat_order {
    uint64_t epoch, sequence, period_ns, heard_ns;
    uint32_t older; /* beats of older epochs since then */
};

/* Returns how a beat that came at `now_ns` follows those before it; *lost is how many are missing in between.
 * Remembers the beat as the last one, unless it is a duplicate or late. */
enum beat_place beat_order_take(struct beat_order *order, const struct beat *beat, uint64_t now_ns,
                                uint64_t *lost);

/* Returns whether the beats have ended, or have not come for more than three periods. */
bool beat_order_is_silent(const struct beat_order *order, uint64_t now_ns);

/* Counts a late beat. Returns whether its sender is to be told, by an answer, that the node follows a newer
 * epoch: at every second beat of older epochs, if the followed conductor is silent. */
bool beat_order_passes_over(struct beat_order *order, const struct beat *beat, uint64_t now_ns);

#endif
