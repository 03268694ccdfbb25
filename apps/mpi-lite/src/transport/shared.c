/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shared.c: messages between ranks of a node, through one segment of shared memory.
 *
 *   segment:  | heading | a place per rank: bell, mask of CPUs | a ring for each sender and receiver |
 *   ring:     | control: bell of room, bytes consumed | a counter | slots | lines of 64 bytes: records |
 *   record:   | 8 bytes: its length | struct head | data … |, from a line's begin on
 *   slot:     | 8 bytes: its number | 8 bytes: its length | data … |
 *
 * A ring has one writer and one reader. The length word after the last record is always 0: the writer clears
 * it before it stores the length of the record before it (release). So the reader polls the line in which
 * head and short data arrive. The reader announces its position after each quarter of a ring.
 *
 * Waits that block: a sleeper announces it, executes a full fence, checks again, then waits on the bell. A
 * writer checks the announcement after a full fence. The bell is a futex, or TCP's (tcp.c) if the job has
 * several nodes. Runs under the library's lock, except shared_bell_wait.
 */
#define _GNU_SOURCE /* process_vm_readv, sched_getaffinity */
#include "launch/launch.h"
#include "transport/transport.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Linux's numbers; musl has none of Linux's headers. */
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

#define LINE_BYTES   SEGMENT_ALIGN
#define RECORD_ALIGN 64
#define RECORD_WRAPS UINT64_MAX /* instead of a length: the next record is at the ring's begin */
#define MASK_WORDS   16
#define RING_BYTES   (64 << 10) /* if all rings together take less than RINGS_BYTES, else less */
#define RING_MIN     (4 << 10)
#define RINGS_BYTES  (64 << 20)
#define FETCHED_MAX  1024 /* bytes: more lines than a CPU fetches at once make it wait */
#define SLOTS        4
#define SHARES       32 /* bits of shares_free */
#define PROBE_VALUE  0x7461636574217265u

struct place {
    _Alignas(LINE_BYTES) uint32_t rung, sleepers;
    _Alignas(LINE_BYTES) uint64_t cpus[MASK_WORDS];
    uint64_t probe_address; /* of a word with PROBE_VALUE, for a trial of process_vm_readv */
    int32_t process;
    uint32_t blocks;  /* its TACET_MPI_SPIN_US demands waits that block */
    uint32_t threads; /* it has MPI_THREAD_MULTIPLE */
    uint32_t ended;   /* it has reached the end of MPI_Finalize */
    struct share shares[SHARES];
};

/* A slot of exchanged data. Its number, from 1 on, is written last. */
struct slot {
    _Alignas(LINE_BYTES) uint64_t number;
    uint64_t bytes;
    unsigned char data[SHARED_EXCHANGE_BYTES];
};

struct ring {
    _Alignas(LINE_BYTES) uint64_t consumed; /* by the reader, the only one that writes it */
    uint32_t needs_room;                    /* the writer sleeps until there is room */
    uint64_t taken;                         /* slots, by the reader */
    _Alignas(LINE_BYTES) uint64_t signals;  /* by the writer: shared_signal */
    struct slot slots[SLOTS];               /* written in turn */
    _Alignas(LINE_BYTES) unsigned char lines[];
};

/* This process's side of the ring to a peer, and of that from it. */
struct side {
    struct ring *ring;
    uint64_t at;             /* bytes written; bytes read */
    uint64_t consumed;       /* of a writer: ring->consumed when last read; of a reader: what it has announced
                              */
    uint64_t signals;        /* given; taken */
    uint64_t exchanges;      /* given; taken */
    uint64_t exchanges_over; /* of a writer: at least this many have been taken */
    uint64_t cleared; /* of a writer: where a length word is 0, besides the one after the last record; 0:
                       * nowhere */
};

static struct place lone_place; /* of a process alone on its node */
static struct place *places = &lone_place, *own = &lone_place;
static size_t ring_bytes;                  /* a power of two */
static struct side *to_sides, *from_sides; /* by node rank */
static int *node_rank_of;                  /* by world rank, on this node; else -1 */
static int *world_of;                      /* by node rank */
static bool is_polled;                     /* a thread of this process is in tcp_wait */
static bool may_sleep;                     /* some rank of the node blocks */
static bool can_read;                      /* process_vm_readv works */
static bool has_threads;                   /* some rank of the node has MPI_THREAD_MULTIPLE */
static uint32_t shares_free = UINT32_MAX;  /* of this rank's shares */
static uint64_t probe = PROBE_VALUE;
static struct receiver receiver;

/* ---- The bell ---- */

static void futex(uint32_t *word, int operation, uint32_t value)
{
    (void)syscall(SYS_futex, word, operation, value, NULL, NULL,
                  0); /* callers check again, whatever it returns */
}

static void bell_ring(int node_rank)
{
    struct place *place = &places[node_rank];

    if (tcp_is_used()) {
        tcp_wake(world_of[node_rank]);
        return;
    }
    __atomic_fetch_add(&place->rung, 1, __ATOMIC_SEQ_CST);
    futex(&place->rung, FUTEX_WAKE, INT32_MAX);
}

/* Wakes a rank of the node, if it sleeps, after a store that it waits for. */
static void bell_ring_sleeper(int node_rank)
{
    if (!may_sleep)
        return;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&places[node_rank].sleepers, __ATOMIC_RELAXED))
        bell_ring(node_rank);
}

/* Returns the bell's value; called by a wait that blocks, before it announces that it sleeps. */
uint32_t shared_bell_value(void)
{
    return __atomic_load_n(&own->rung, __ATOMIC_ACQUIRE);
}

/* Sleeps. One of a process's threads sleeps in tcp_wait, the others on the futex. If another thread takes an
 * event before this one is awake, the event does not end the wait: this is why shared_bell_ring_own rings the
 * bell. */
void shared_bell_wait(uint32_t value)
{
    if (!tcp_is_used() || __atomic_exchange_n(&is_polled, true, __ATOMIC_SEQ_CST)) {
        futex(&own->rung, FUTEX_WAIT, value);
        return;
    }
    if (__atomic_load_n(&own->rung, __ATOMIC_SEQ_CST) == value)
        tcp_wait();
    __atomic_store_n(&is_polled, false, __ATOMIC_SEQ_CST);
    if (mpi_world.thread_level == MPI_THREAD_MULTIPLE) {
        __atomic_fetch_add(&own->rung, 1, __ATOMIC_SEQ_CST);
        futex(&own->rung, FUTEX_WAKE, INT32_MAX); /* they check again, and one of them sleeps in tcp_wait */
    }
}

void shared_bell_ring_own(void)
{
    if (!__atomic_load_n(&own->sleepers, __ATOMIC_SEQ_CST))
        return;
    __atomic_fetch_add(&own->rung, 1, __ATOMIC_SEQ_CST);
    futex(&own->rung, FUTEX_WAKE, INT32_MAX);
    if (__atomic_load_n(&is_polled, __ATOMIC_SEQ_CST))
        tcp_wake(mpi_world.rank);
}

void shared_sleeping(bool sleeps)
{
    __atomic_fetch_add(&own->sleepers, sleeps ? 1u : (uint32_t)-1, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* ---- Rings ---- */

static uint64_t *length_at(struct ring *ring, uint64_t position)
{
    return (uint64_t *)(void *)(ring->lines + (position & (ring_bytes - 1)));
}

/* Returns whether `bytes` are free; if not, asks the reader to ring when it has made room. */
static bool ring_has_room(struct side *side, size_t bytes)
{
    if (side->at + bytes - side->consumed <= ring_bytes)
        return true;
    side->consumed = __atomic_load_n(&side->ring->consumed, __ATOMIC_ACQUIRE);
    if (side->at + bytes - side->consumed <= ring_bytes)
        return true;
    __atomic_store_n(&side->ring->needs_room, 1, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    side->consumed = __atomic_load_n(&side->ring->consumed, __ATOMIC_ACQUIRE);
    return side->at + bytes - side->consumed <= ring_bytes;
}

/* Clears the word after the next short record in advance, while no rank waits for it. Later the reader has
 * that line in its cache, and to take it away costs as much as the message. */
static void ring_clear_ahead(struct side *side)
{
    uint64_t ahead = side->at + RECORD_ALIGN;

    if (ahead + RECORD_ALIGN - side->consumed > ring_bytes)
        return;
    __atomic_store_n(length_at(side->ring, ahead), 0, __ATOMIC_RELAXED);
    side->cleared = ahead;
}

static bool shared_send(int peer, const struct head *head, const void *data, size_t bytes)
{
    int node_rank = node_rank_of[peer];
    struct side *side = &to_sides[node_rank];
    size_t length = sizeof(uint64_t) + sizeof(*head) + bytes;
    size_t record = (length + RECORD_ALIGN - 1) & ~(size_t)(RECORD_ALIGN - 1);
    size_t until_end = ring_bytes - (side->at & (ring_bytes - 1));
    size_t skip = record > until_end ? until_end : 0;

    if (!ring_has_room(side, skip + record + RECORD_ALIGN))
        return false;
    uint64_t *word = length_at(side->ring, side->at + skip);
    memcpy(word + 1, head, sizeof(*head));
    if (bytes)
        memcpy((char *)(word + 1) + sizeof(*head), data, bytes);
    if (side->cleared != side->at + skip + record)
        __atomic_store_n(length_at(side->ring, side->at + skip + record), 0, __ATOMIC_RELAXED);
    __atomic_store_n(word, length, __ATOMIC_RELEASE);
    if (skip)
        __atomic_store_n(length_at(side->ring, side->at), RECORD_WRAPS, __ATOMIC_RELEASE);
    side->at += skip + record;
    ring_clear_ahead(side);
    bell_ring_sleeper(node_rank);
    return true;
}

/* Announces how far this reader is, after each quarter of a ring. */
static void ring_say_consumed(int node_rank, struct side *side)
{
    if (side->at - side->consumed < ring_bytes / 4)
        return;
    side->consumed = side->at;
    __atomic_store_n(&side->ring->consumed, side->at, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&side->ring->needs_room, __ATOMIC_RELAXED)) {
        __atomic_store_n(&side->ring->needs_room, 0, __ATOMIC_RELAXED);
        bell_ring_sleeper(node_rank);
    }
}

/* Prefetches the lines of a record, so that they arrive while its receive is searched, and not one by one as
 * it is copied. */
static void lines_fetch(const void *record, size_t bytes)
{
    for (size_t at = RECORD_ALIGN; at < bytes && at < FETCHED_MAX; at += RECORD_ALIGN)
        __builtin_prefetch((const char *)record + at);
}

/* Takes the records of a ring, up to a bound: one sender must not delay the others. */
static bool ring_take(int node_rank, struct side *side)
{
    bool took = false;

    for (int i = 0; i < 32; i++) {
        uint64_t *word = length_at(side->ring, side->at);
        uint64_t length = __atomic_load_n(word, __ATOMIC_ACQUIRE);

        if (!length)
            break;
        if (length == RECORD_WRAPS) {
            side->at += ring_bytes - (side->at & (ring_bytes - 1));
            continue;
        }
        const struct head *head = (const void *)(word + 1);
        if (length < sizeof(uint64_t) + sizeof(*head) || length > ring_bytes / 4 ||
            length > ring_bytes - (side->at & (ring_bytes - 1)))
            mpi_abort(1, "rank %d has written an invalid record of %llu bytes into shared memory",
                      world_of[node_rank], (unsigned long long)length);
        took = true;
        lines_fetch(word, (size_t)length);
        receiver.arrived(world_of[node_rank], head, head + 1,
                         (size_t)length - sizeof(uint64_t) - sizeof(*head));
        side->at += (length + RECORD_ALIGN - 1) & ~(uint64_t)(RECORD_ALIGN - 1);
        ring_say_consumed(node_rank, side);
    }
    return took;
}

static bool shared_poll(void)
{
    bool took = false;

    for (int i = 0; i < mpi_world.node_size; i++)
        if (i != mpi_world.node_rank)
            took |= ring_take(i, &from_sides[i]);
    return took;
}

/* ---- Signals ---- */

void shared_signal(int peer)
{
    int node_rank = node_rank_of[peer];
    struct side *side = &to_sides[node_rank];

    __atomic_store_n(&side->ring->signals, ++side->signals, __ATOMIC_RELEASE);
    bell_ring_sleeper(node_rank);
}

bool shared_signal_is_there(int peer)
{
    const struct side *side = &from_sides[node_rank_of[peer]];

    return __atomic_load_n(&side->ring->signals, __ATOMIC_ACQUIRE) != side->signals;
}

void shared_signal_take(int peer)
{
    from_sides[node_rank_of[peer]].signals++;
}

/* ---- Short data ---- */

static struct slot *slot_next(const struct side *side)
{
    return &side->ring->slots[side->exchanges % SLOTS];
}

bool shared_exchange_has_room(int peer)
{
    struct side *side = &to_sides[node_rank_of[peer]];

    if (side->exchanges - side->exchanges_over < SLOTS)
        return true;
    side->exchanges_over = __atomic_load_n(&side->ring->taken, __ATOMIC_ACQUIRE);
    return side->exchanges - side->exchanges_over < SLOTS;
}

void *shared_exchange_place(int peer)
{
    return slot_next(&to_sides[node_rank_of[peer]])->data;
}

void shared_exchange_give(int peer, size_t bytes)
{
    int node_rank = node_rank_of[peer];
    struct side *side = &to_sides[node_rank];
    struct slot *slot = slot_next(side);

    slot->bytes = bytes;
    __atomic_store_n(&slot->number, ++side->exchanges, __ATOMIC_RELEASE);
    bell_ring_sleeper(node_rank);
}

bool shared_exchange_is_there(int peer)
{
    const struct side *side = &from_sides[node_rank_of[peer]];

    return __atomic_load_n(&slot_next(side)->number, __ATOMIC_ACQUIRE) == side->exchanges + 1;
}

const void *shared_exchange_data(int peer, size_t *bytes)
{
    const struct slot *slot = slot_next(&from_sides[node_rank_of[peer]]);

    *bytes = (size_t)slot->bytes;
    return slot->data;
}

/* Frees the place of the data. The peer has reached this collective, and so has ended all earlier ones: it
 * has taken all but at most the last of what this rank has given. If both ranks give, neither needs to read
 * the other's counter. */
void shared_exchange_take(int peer)
{
    int node_rank = node_rank_of[peer];
    struct side *side = &from_sides[node_rank], *other = &to_sides[node_rank];

    __atomic_store_n(&side->ring->taken, ++side->exchanges, __ATOMIC_RELEASE);
    if (other->exchanges > other->exchanges_over + 1)
        other->exchanges_over = other->exchanges - 1;
    bell_ring_sleeper(node_rank);
}

bool shared_has_threads(void)
{
    return has_threads;
}

/* ---- Large messages ---- */

static bool process_move(int process, void *at, uint64_t from, size_t bytes, bool writes)
{
    long call = writes ? SYS_process_vm_writev : SYS_process_vm_readv;

    while (bytes) {
        struct iovec here = { at, bytes }, there = { (void *)(uintptr_t)from, bytes };
        ssize_t done = syscall(call, (long)process, &here, 1L, &there, 1L, 0L);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at = (char *)at + done;
        from += (uint64_t)done;
        bytes -= (size_t)done;
    }
    return true;
}

bool shared_peer_is_readable(int peer)
{
    return can_read && node_rank_of[peer] >= 0;
}

bool shared_peer_move(int peer, void *here, uint64_t there, size_t bytes, bool writes)
{
    return process_move(places[node_rank_of[peer]].process, here, there, bytes, writes);
}

struct share *shared_share_take(void)
{
    if (!shares_free)
        return NULL;
    int index = __builtin_ctz(shares_free);

    shares_free &= shares_free - 1;
    return &own->shares[index];
}

void shared_share_give(struct share *share)
{
    shares_free |= 1u << shared_share_index(share);
}

int shared_share_index(const struct share *share)
{
    return (int)(share - own->shares);
}

struct share *shared_share_of(int peer, uint64_t index)
{
    return shared_peer_is_readable(peer) && index < SHARES ? &places[node_rank_of[peer]].shares[index] : NULL;
}

/* ---- The segment ---- */

static struct ring *ring_of(int from, int to)
{
    size_t each = sizeof(struct ring) + ring_bytes;
    size_t index = (size_t)from * (size_t)mpi_world.node_size + (size_t)to;

    return (struct ring *)(void *)((char *)places + (size_t)mpi_world.node_size * sizeof(struct place) +
                                   index * each);
}

/* Returns whether ranks share CPUs: there are more ranks on the node than CPUs in all masks, or more ranks
 * than a mask has CPUs may run only on those. */
static bool ranks_are_crowded(int rank)
{
    uint64_t all = 0;
    int cpus = 0, own_cpus = 0, within = 0;

    for (int word = 0; word < MASK_WORDS; word++) {
        all = 0;
        for (int i = 0; i < mpi_world.node_size; i++)
            all |= places[i].cpus[word];
        cpus += __builtin_popcountll(all);
        own_cpus += __builtin_popcountll(places[rank].cpus[word]);
    }
    for (int i = 0; i < mpi_world.node_size; i++) {
        bool is_within = true;

        for (int word = 0; word < MASK_WORDS; word++)
            is_within &= !(places[i].cpus[word] & ~places[rank].cpus[word]);
        within += is_within;
    }
    return mpi_world.node_size > cpus || within > own_cpus;
}

static void place_fill(struct place *place)
{
    cpu_set_t mask;

    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof(mask), &mask) == 0)
        memcpy(place->cpus, &mask, sizeof(place->cpus));
    place->process = (int32_t)getpid();
    place->probe_address = (uint64_t)(uintptr_t)&probe;
    place->blocks = mpi_world.crowded;
    place->threads = mpi_world.thread_level == MPI_THREAD_MULTIPLE;
}

static int sides_make(void)
{
    size_t size = (size_t)mpi_world.node_size;

    to_sides = calloc(size, sizeof(*to_sides));
    from_sides = calloc(size, sizeof(*from_sides));
    node_rank_of = calloc((size_t)mpi_world.size, sizeof(int));
    world_of = calloc(size, sizeof(int));
    if (!to_sides || !from_sides || !node_rank_of || !world_of)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for %d ranks", mpi_world.size);
    for (int i = 0, count = 0; i < mpi_world.size; i++) {
        node_rank_of[i] = mpi_world.node_of[i] == mpi_world.node ? count : -1;
        if (node_rank_of[i] >= 0)
            world_of[count++] = i;
    }
    return MPI_SUCCESS;
}

static void rings_find(void)
{
    for (int i = 0; i < mpi_world.node_size; i++) {
        to_sides[i].ring = ring_of(mpi_world.node_rank, i);
        from_sides[i].ring = ring_of(i, mpi_world.node_rank);
    }
}

/* Returns whether this rank may read and write the memory of the next rank; then every rank may access every
 * other. */
static bool peers_are_readable(void)
{
    const struct place *next = &places[(mpi_world.node_rank + 1) % mpi_world.node_size];
    uint64_t seen = 0;

    /* A Tacet node has no such call, and would report it on its console. */
    return mpi_world.reads_peers && access("/proc/tacet", F_OK) != 0 &&
           process_move(next->process, &seen, next->probe_address, sizeof(seen), false) &&
           seen == PROBE_VALUE && process_move(next->process, &seen, next->probe_address, sizeof(seen), true);
}

/* Kills the node's other ranks: mpi_abort without a launcher. */
static void others_kill(int status, const char *why)
{
    (void)status, (void)why;
    for (int i = 0; i < mpi_world.node_size; i++)
        if (places != &lone_place && i != mpi_world.node_rank && places[i].process)
            kill(places[i].process, SIGKILL); /* ignored if it has ended already */
}

static int shared_begin(const struct receiver *given)
{
    size_t size = (size_t)mpi_world.node_size;
    void *memory = NULL;

    receiver = *given;
    mpi_lock_left = shared_bell_ring_own;
    for (ring_bytes = RING_BYTES; ring_bytes > RING_MIN && size * size * ring_bytes > RINGS_BYTES;)
        ring_bytes /= 2;
    int error = sides_make();
    if (!error && size == 1) /* other nodes have segments: all ranks take part in their barrier */
        return pmi_barrier();
    if (!error)
        error = segment_begin(size * sizeof(struct place) + size * size * (sizeof(struct ring) + ring_bytes),
                              &memory);
    if (error)
        return error;
    places = memory;
    if (!pmi_is_used() && !pmi_is_tied())
        mpi_others_end = others_kill;
    own = &places[mpi_world.node_rank];
    place_fill(own);
    rings_find();
    segment_meet();
    segment_unlink();
    for (int i = 0; i < mpi_world.node_size; i++) {
        may_sleep |= places[i].blocks || ranks_are_crowded(i);
        has_threads |= places[i].threads;
    }
    mpi_world.crowded |= ranks_are_crowded(mpi_world.node_rank);
    can_read = peers_are_readable();
    return MPI_SUCCESS;
}

void shared_check_alive(void)
{
    for (int i = 0; i < mpi_world.node_size && places != &lone_place; i++)
        if (kill(places[i].process, 0) && errno == ESRCH &&
            !__atomic_load_n(&places[i].ended, __ATOMIC_ACQUIRE))
            mpi_abort(1, "rank %d has ended without MPI_Finalize", world_of[i]);
}

static void shared_end(void)
{
    own->ended = 1;
    own = places = &lone_place;
    segment_end();
    free(to_sides);
    free(from_sides);
    free(node_rank_of);
    free(world_of);
}

/* Returns a quarter of a ring, less the heads. The reader announces its position each quarter, and so always
 * makes room for one. */
static size_t shared_fragment_bytes(void)
{
    return ring_bytes / 4 - sizeof(uint64_t) - sizeof(struct head);
}

const struct transport transport_shared = {
    .name = "shared memory",
    .begin = shared_begin,
    .end = shared_end,
    .send = shared_send,
    .fragment_bytes = shared_fragment_bytes,
    .eager_bytes = 8 << 10,
    .poll = shared_poll,
};
