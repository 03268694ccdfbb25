/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer_copy.c: large messages between two ranks of a node, copied once, from the sender's memory to the
 * receiver's. Whichever of the two is inside the library copies; if both wait, both copy.
 *
 *   sender                                     receiver
 *   HEAD_REQUEST, with its buffer's address ->
 *                                              reads the first chunk; if there are more, shares them:
 *                                           <- HEAD_OFFER, with the number of the share
 *   claims a chunk, writes it, …               claims a chunk, reads it, …
 *   HEAD_COPIED, if it has written any      ->
 *                                           <- HEAD_DONE, once all chunks are claimed and its own are read
 *
 * A share lies in the receiver's part of the segment. A rank claims a chunk by incrementing the share's word.
 * The word's upper half is the generation of the share: a sender that comes after the share serves another
 * message finds another generation and claims nothing. A sender that computes meanwhile costs nothing,
 * because the receiver then takes all chunks.
 *
 * One chunk of each copy is moved in a round of progress, so that other messages do not wait for a large one.
 * Runs under the library's lock.
 */
#include "message/message.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHARED_MIN ((size_t)384 << 10) /* smaller messages are copied by the receiver alone */
#define CHUNK_MIN  ((size_t)32 << 10)
#define CHUNK_MAX  ((size_t)256 << 10)
#define CHUNKS     8          /* target number, so that both ends finish together */
#define NO_CHUNKS  UINT32_MAX /* in a word: nothing to claim */
#define SIDES      2

struct peer_copy {
    struct peer_copy *next, **link;
    struct mpi_request *request;
    struct share *share; /* NULL: the receiver copies alone */
    bool writes;         /* this rank is the sender */
    unsigned char *here;
    uint64_t there; /* the peer's buffer */
    size_t bytes, chunk_bytes;
    uint32_t chunks, taken, generation;
    uint32_t next_chunk; /* without a share */
};

static struct peer_copy *under_way, **under_way_last = &under_way, *copies_free;

/* ---- Making and end ---- */

static struct peer_copy *copy_make(struct mpi_request *request, size_t bytes, size_t chunk_bytes)
{
    struct peer_copy *copy = copies_free;

    if (copy)
        copies_free = copy->next;
    else
        copy = malloc(sizeof(*copy));
    if (!copy)
        mpi_abort(1, "no memory for a copy of %zu bytes", bytes);
    *copy = (struct peer_copy){
        .link = under_way_last,
        .request = request,
        .here = request->message->buffer,
        .bytes = bytes,
        .chunk_bytes = chunk_bytes,
        .chunks = (uint32_t)((bytes + chunk_bytes - 1) / chunk_bytes),
    };
    *under_way_last = copy;
    under_way_last = &copy->next;
    request->message->copy = copy;
    return copy;
}

static void copy_free(struct peer_copy *copy)
{
    *copy->link = copy->next;
    *(copy->next ? &copy->next->link : &under_way_last) = copy->link;
    copy->request->message->copy = NULL;
    copy->next = copies_free;
    copies_free = copy;
}

/* ---- Chunks ---- */

static uint64_t word_of(uint32_t generation, uint32_t chunk)
{
    return (uint64_t)generation << 32 | chunk;
}

/* Claims the next free chunk. Returns false if none is left. */
static bool chunk_claim(struct peer_copy *copy, uint32_t *chunk)
{
    if (!copy->share) {
        *chunk = copy->next_chunk++;
        return *chunk < copy->chunks;
    }
    uint64_t word = __atomic_load_n(&copy->share->word, __ATOMIC_ACQUIRE);
    do {
        *chunk = (uint32_t)word;
        if (word >> 32 != copy->generation || *chunk >= copy->chunks)
            return false;
    } while (!__atomic_compare_exchange_n(&copy->share->word, &word, word + 1, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
    return true;
}

static bool chunk_move(struct peer_copy *copy, uint32_t chunk)
{
    size_t at = chunk * copy->chunk_bytes;
    size_t bytes = copy->bytes - at < copy->chunk_bytes ? copy->bytes - at : copy->chunk_bytes;

    copy->taken++;
    return shared_peer_move(copy->request->message->world, copy->here + at, copy->there + at, bytes,
                            copy->writes);
}

/* Counts sides that have finished; the receive is complete once both have. */
static void receiver_side_ends(struct mpi_request *request, int sides)
{
    request->message->sides_left -= sides;
    if (!request->message->sides_left)
        message_receive_end(request);
}

/* Ends this side of a copy: all chunks are claimed, and those of this side copied. */
static void copy_end(struct peer_copy *copy)
{
    struct mpi_request *request = copy->request;
    struct message *message = request->message;
    struct share *share = copy->share;
    bool has_all = copy->taken == copy->chunks, has_any = copy->taken > 0, writes = copy->writes;

    copy_free(copy);
    if (writes) {
        if (has_any)
            message_answer(message->world, HEAD_COPIED, message->other, 0, 0);
        return;
    }
    if (share)
        shared_share_give(share);
    message_answer(message->world, HEAD_DONE, message->other, 0, 0);
    receiver_side_ends(request, has_all ? SIDES : 1);
}

bool peer_copy_progress(void)
{
    bool moved = under_way != NULL;
    uint32_t chunk;

    for (struct peer_copy *copy = under_way, *next; copy; copy = next) {
        next = copy->next;
        if (!chunk_claim(copy, &chunk))
            copy_end(copy);
        else if (!chunk_move(copy, chunk))
            mpi_abort(1,
                      "cannot %s the memory of rank %d at %#llx: %s; set TACET_MPI_PEER_READ=0 to avoid such "
                      "copies",
                      copy->writes ? "write" : "read", copy->request->message->world,
                      (unsigned long long)(copy->there + chunk * copy->chunk_bytes), strerror(errno));
    }
    return moved;
}

/* ---- The receiver's side ---- */

static size_t chunk_bytes_for(size_t bytes)
{
    size_t chunk = (bytes / CHUNKS + 4095) & ~(size_t)4095;

    if (bytes < SHARED_MIN)
        return bytes;
    return chunk < CHUNK_MIN ? CHUNK_MIN : chunk > CHUNK_MAX ? CHUNK_MAX : chunk;
}

static void share_offer(struct peer_copy *copy)
{
    struct message *message = copy->request->message;
    /* In an exchange each end has its own message to copy. */
    struct share *share = message_rendezvous_sends() ? NULL : shared_share_take();

    if (!share)
        return; /* with that many shared messages, all ends have enough to copy */
    copy->generation = (uint32_t)(share->word >> 32) + 1;
    __atomic_store_n(&share->word, word_of(copy->generation, NO_CHUNKS), __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    share->address = (uint64_t)(uintptr_t)copy->here;
    share->bytes = copy->bytes;
    share->chunk_bytes = copy->chunk_bytes;
    share->cookie = message->cookie;
    __atomic_store_n(&share->word, word_of(copy->generation, copy->next_chunk), __ATOMIC_RELEASE);
    copy->share = share;
    message_answer(message->world, HEAD_OFFER, message->other, copy->generation,
                   (uint64_t)shared_share_index(share));
}

bool peer_copy_receive(struct mpi_request *request, uint64_t from, uint64_t sender_cookie)
{
    struct message *message = request->message;

    if (!from || !message->type->dense || !shared_peer_is_readable(message->world))
        return false;
    struct peer_copy *copy = copy_make(request, message->bytes, chunk_bytes_for(message->bytes));
    copy->there = from;
    if (!chunk_move(copy, copy->next_chunk++)) {
        copy_free(copy);
        return false;
    }
    message->other = sender_cookie;
    message->sides_left = SIDES;
    if (copy->chunks == 1) {
        copy_end(copy);
        return true;
    }
    message_cookie_make(request);
    message->moved = message->bytes; /* no data will come in fragments */
    share_offer(copy);
    return true;
}

void peer_copy_copied(struct mpi_request *request)
{
    if (!request->message->sides_left || request->message->sides_left > SIDES)
        mpi_abort(1, "rank %d reports a copy that was not requested", request->message->world);
    receiver_side_ends(request, 1);
}

/* ---- The sender's side ---- */

void peer_copy_offered(struct mpi_request *request, uint32_t generation, uint64_t index)
{
    struct message *message = request->message;
    const struct share *share = shared_share_of(message->world, index);

    if (!share || message->copy)
        mpi_abort(1, "rank %d offers share %llu, which does not exist", message->world,
                  (unsigned long long)index);
    struct share seen = { .word = __atomic_load_n(&share->word, __ATOMIC_ACQUIRE) };
    seen.address = share->address;
    seen.bytes = share->bytes;
    seen.chunk_bytes = share->chunk_bytes;
    seen.cookie = share->cookie;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (seen.word >> 32 != generation || __atomic_load_n(&share->word, __ATOMIC_RELAXED) >> 32 != generation)
        return; /* the copy is over */
    if (seen.bytes > message->bytes || seen.chunk_bytes < CHUNK_MIN || seen.chunk_bytes > CHUNK_MAX)
        mpi_abort(1, "rank %d offers to share %llu bytes in chunks of %llu, of a message of %zu",
                  message->world, (unsigned long long)seen.bytes, (unsigned long long)seen.chunk_bytes,
                  message->bytes);
    struct peer_copy *copy = copy_make(request, (size_t)seen.bytes, (size_t)seen.chunk_bytes);
    copy->writes = true;
    copy->there = seen.address;
    copy->share = (struct share *)(uintptr_t)share;
    copy->generation = generation;
    message->other = seen.cookie;
}

void peer_copy_done(struct mpi_request *request)
{
    if (request->message->copy)
        copy_end(request->message->copy);
}
