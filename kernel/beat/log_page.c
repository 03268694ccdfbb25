/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log_page.c: see log_page.h. Owns the moment at which the log was held, and the requests for pages, under a
 * lock that is a leaf. klog.c owns the log.
 */
#include "beat/log_page.h"
#include "beat/nettick.h"
#include "beat/node_keys.h"
#include "debug/klog.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "smp/spinlock.h"
#include "time/clock.h"
#include "time/timer.h"

#define REQUESTS 4 /* most requests of one beat for this node */

static uint8_t own_address[BEAT_ADDRESS_BYTES];
static uint64_t own_start;

static struct nettick_moment held;  /* when the log was held last */
static uint64_t limit_ns, until_ns; /* how long, until when it is held; of the CPU that does commands */
static struct smart_timer limit;

static struct spinlock lock;
static struct request {
    uint32_t number;
    uint64_t offset;
    unsigned left; /* pages left to send */
    uint64_t epoch;
    uint8_t conductor[BEAT_ADDRESS_BYTES];
} requests[REQUESTS];
static unsigned first, count; /* of the requests */

void log_pages_set(const uint8_t address[BEAT_ADDRESS_BYTES], uint64_t start)
{
    __builtin_memcpy(own_address, address, sizeof(own_address));
    own_start = start;
}

/* ---- Holding ---- */

static void release(uint64_t now_ns)
{
    if (!klog_held_bytes())
        return;
    klog_release();
    klog(log_release, now_ns - held.local_ns, 0);
}

/* Releases the log, or starts the timer again if pages were requested meanwhile. */
static void expire(struct smart_timer *timer, uint64_t now_ns)
{
    if (now_ns < until_ns && klog_held_bytes())
        timer_start(timer, until_ns, NS_PER_S);
    else
        release(now_ns);
}

int log_pages_hold(const struct beat_command *command)
{
    const uint64_t now_ns = clock_now_ns();

    if (command->bytes != 4)
        return -EINVAL;
    const uint64_t seconds = load_be32(command->body);
    if (!seconds) {
        timer_cancel(&limit);
        release(now_ns);
        return 0;
    }
    if (!klog_hold())
        return -EBUSY;
    nettick_moment(&held);
    limit_ns = seconds * NS_PER_S;
    until_ns = now_ns + limit_ns;
    limit.expire = expire;
    timer_start(&limit, until_ns, NS_PER_S);
    return 0;
}

/* ---- Pages ---- */

static bool is_own(const uint8_t address[BEAT_ADDRESS_BYTES])
{
    return __builtin_memcmp(address, own_address, sizeof(own_address)) == 0;
}

int log_pages_request(const struct beat_command *command)
{
    struct nettick_moment now;

    if (command->bytes != PAGE_REQUEST_BYTES)
        return -EINVAL;
    const unsigned pages = load_be16(command->body + 14);
    if (!pages || pages > PAGE_COUNT_MAX)
        return -EINVAL;
    nettick_moment(&now);
    until_ns = now.local_ns + limit_ns;
    if (!is_own(command->body))
        return 0;
    SPIN_GUARD(&lock);
    struct request *request = &requests[(first + count) % REQUESTS];
    if (count == REQUESTS)
        return -EAGAIN;
    *request = (struct request){
        .number = command->number, .offset = load_be64(command->body + 6), .left = pages, .epoch = now.epoch
    };
    __builtin_memcpy(request->conductor, now.conductor, sizeof(request->conductor));
    __atomic_store_n(&count, count + 1, __ATOMIC_RELAXED);
    return 0;
}

bool log_page_is_due(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED) != 0;
}

/* Takes the next page off the requests. Returns false if no page is requested. */
static bool page_take(struct page *page, uint8_t conductor[BEAT_ADDRESS_BYTES], uint64_t size)
{
    SPIN_GUARD(&lock);
    struct request *request = &requests[first];
    if (!count)
        return false;
    const uint64_t offset = request->offset < size ? request->offset : size;
    const uint64_t bytes = size - offset < PAGE_DATA_BYTES ? size - offset : PAGE_DATA_BYTES;
    page->number = request->number;
    page->epoch = request->epoch;
    page->offset = offset;
    page->bytes = (uint16_t)bytes;
    __builtin_memcpy(conductor, request->conductor, BEAT_ADDRESS_BYTES);
    request->offset = offset + bytes;
    if (--request->left == 0 || request->offset == size) {
        first = (first + 1) % REQUESTS;
        __atomic_store_n(&count, count - 1, __ATOMIC_RELAXED);
    }
    return true;
}

size_t log_page_write(uint8_t conductor[BEAT_ADDRESS_BYTES], uint8_t payload[PAGE_FRAME_BYTES])
{
    const uint64_t size = klog_held_bytes();
    struct page page = { .start = own_start, .size = size };

    if (!page_take(&page, conductor, size))
        return 0;
    if (size && klog_held_read(page.offset, payload + PAGE_HEADER_BYTES, page.bytes)) {
        page.sequence = held.sequence;
        page.local_ns = held.local_ns;
        page.global_ns = held.global_ns;
        page.drift = held.drift;
    } else {
        page.offset = page.size = page.bytes = 0;
    }
    const size_t bytes = page_encode(&page, node_keys_open()->now.beats, own_address, payload);
    node_keys_close();
    return bytes;
}
