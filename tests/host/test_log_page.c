/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_log_page.c: a node's flight log, held and sent in pages: any piece of the held file is what the whole
 * file has there, on any number of CPUs with any number of events; nothing is written meanwhile; pages bring
 * all of it, to the right conductor; and a log that is not released is released by its time limit.
 */
#include "check.h"
#include "arch.h"
#include "beat/log_page.h"
#include "beat/node_keys.h"
#include "beat/nettick.h"
#include "debug/console.h"
#include "debug/klog.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "per_cpu_areas.h"
#include "smp/crosscall.h"
#include "time/clock.h"
#include "time/timer.h"
#include <stdlib.h>
#include <string.h>

#define CPUS   5
#define EVENTS 16 /* of a ring */

uint32_t arena_cpu;
uintptr_t arena_origin;
uint64_t arena_distances[ARCH_CPUS_MAX];
struct tacet_counters arena_counters[CPUS];

static struct klog_ring *rings[CPUS];
static unsigned cpu_count = CPUS;
static uint64_t seed = 17;
static unsigned logged_entries; /* arch_system_calls_log was called */
static bool has_logged_entry;

struct klog_ring *arena_klog(void)
{
    return rings[arena_cpu];
}

const struct klog_ring *arch_klog_of(unsigned cpu)
{
    return rings[cpu];
}

unsigned arch_cpu_count(void)
{
    return cpu_count;
}

uint64_t arch_clock_hz(void)
{
    return 1000000000;
}

uint64_t arch_boot_ticks(void)
{
    return 3;
}

void arch_system_calls_log(bool on)
{
    logged_entries++;
    has_logged_entry = on;
}

void crosscall_all(void (*function)(void))
{
    function();
}

void crosscall_serve(void)
{
    CHECK(!"a lock is held");
}

void kernel_print(const char *format, ...)
{
    (void)format;
}

struct console_device **console_find(const char *option, const char *name, size_t bytes, struct message *why)
{
    (void)option;
    (void)name;
    (void)bytes;
    message_set(why, -EINVAL, "none");
    return NULL;
}

/* ---- The node ---- */

static uint64_t now_ns = 5000000000;
static const uint8_t key[SIPHASH_KEY_BYTES] = { 7 }, address[] = { 2, 0x54, 0, 0, 0, 9 },
                     conductor[] = { 2, 0x54, 0, 0, 0, 1 };
#define START 0x1234567890abcdef

uint64_t clock_now_ns(void)
{
    return now_ns;
}

static struct node_secrets secrets;

struct node_secrets *node_keys_open(void)
{
    return &secrets;
}

void node_keys_close(void)
{
}

void nettick_moment(struct nettick_moment *moment)
{
    *moment = (struct nettick_moment){
        .epoch = 42, .sequence = 1000, .local_ns = now_ns, .global_ns = now_ns + 77, .drift = -5
    };
    memcpy(moment->conductor, conductor, sizeof(conductor));
}

static struct smart_timer *armed;
static uint64_t armed_ns;

void timer_start(struct smart_timer *timer, uint64_t deadline_ns, uint64_t bound_ns)
{
    CHECK(bound_ns <= NS_PER_S);
    CHECK(!armed);
    armed = timer;
    armed_ns = deadline_ns;
}

void timer_cancel(struct smart_timer *timer)
{
    CHECK(!armed || armed == timer);
    armed = NULL;
}

static void timer_fires(void)
{
    struct smart_timer *timer = armed;

    CHECK(timer != NULL);
    now_ns = armed_ns;
    armed = NULL;
    timer->expire(timer, now_ns);
}

static void ring_make(unsigned cpu, uint64_t written)
{
    free(rings[cpu]);
    rings[cpu] = calloc(1, KLOG_RING_BYTES(EVENTS));
    rings[cpu]->last = EVENTS - 1;
    arena_cpu = cpu;
    for (uint64_t i = 0; i < written; i++)
        klog_write(KLOG_mark, cpu, i);
    arena_cpu = 0;
}

static void rings_make(void)
{
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        ring_make(cpu, check_random(&seed) % (3 * EVENTS));
}

/* ---- The file ---- */

static uint8_t file[20000];
static uint64_t file_bytes;

static void file_add(void *context, const void *bytes, uint64_t count)
{
    (void)context;
    CHECK(file_bytes + count <= sizeof(file));
    memcpy(file + file_bytes, bytes, count);
    file_bytes += count;
}

static void file_make(void)
{
    file_bytes = 0;
    klog_file_write(file_add, NULL);
}

static void check_piece(uint64_t offset, uint64_t bytes)
{
    static uint8_t piece[sizeof(file) + 2];

    memset(piece, 0xee, sizeof(piece));
    CHECK(klog_held_read(offset, piece + 1, bytes));
    CHECK_EQUAL(memcmp(piece + 1, file + offset, bytes), 0);
    CHECK_EQUAL(piece[0], 0xee);
    CHECK_EQUAL(piece[1 + bytes], 0xee);
}

TEST(any_piece_of_the_held_file_is_what_the_file_has_there)
{
    uint8_t byte;

    for (unsigned round = 0; round < 200; round++) {
        cpu_count = 1 + round % CPUS;
        rings_make();
        CHECK_EQUAL(klog_held_bytes(), 0);
        CHECK(!klog_held_read(0, &byte, 1));
        CHECK(klog_hold());
        CHECK(!klog_hold());
        file_make();
        CHECK_EQUAL(klog_held_bytes(), file_bytes);
        check_piece(0, file_bytes);
        for (unsigned i = 0; i < 100; i++) {
            const uint64_t offset = check_random(&seed) % (file_bytes + 1);
            check_piece(offset, check_random(&seed) % (file_bytes - offset + 1));
        }
        CHECK(!klog_held_read(file_bytes, &byte, 1));
        CHECK(!klog_held_read(UINT64_MAX, &byte, 1));
        CHECK(!klog_held_read(1, &byte, UINT64_MAX));
        klog_release();
        klog_release();
    }
    cpu_count = CPUS;
}

TEST(a_held_log_is_not_written_and_follows_its_classes_later)
{
    rings_make();
    const uint64_t written = rings[0]->written;
    const uint32_t mask = klog_mask;

    CHECK(klog_hold());
    klog(mark, 1, 2);
    CHECK_EQUAL(klog_switch("-mark"), 0);
    CHECK_EQUAL(klog_switch("-nonsense"), -EINVAL);
    CHECK_EQUAL(klog_switch("+syscall"), 0);
    CHECK(has_logged_entry);
    const unsigned entries = logged_entries;
    CHECK_EQUAL(klog_switch("+syscall"), 0); /* it is on, so no CPU is interrupted */
    CHECK_EQUAL(logged_entries, entries);
    klog(system_call, 1, 2);
    klog(mark, 1, 2);
    CHECK_EQUAL(rings[0]->written, written);
    klog_release();
    klog(mark, 1, 2);
    CHECK_EQUAL(rings[0]->written, written);
    klog(system_call, 1, 2);
    CHECK_EQUAL(rings[0]->written, written + 1);
    CHECK_EQUAL(klog_switch("+mark"), 0);
    CHECK_EQUAL(klog_switch("-syscall"), 0);
    CHECK(!has_logged_entry);
    CHECK_EQUAL(klog_mask, mask);
}

/* The node ends meanwhile: what led there stays. */
TEST(a_log_that_ends_while_it_is_held_is_not_written_after_its_release)
{
    static const char *const classes[] = { "+boot", "+process", "+trap", "+timer", "+memory", "+mark" };

    CHECK(klog_hold());
    klog_end(false);
    klog_release();
    CHECK_EQUAL(klog_mask, 0);
    for (unsigned i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        CHECK_EQUAL(klog_switch(classes[i]), 0);
}

/* What a CPU was writing at the hold is none of the file's events; the file's length does not change. */
TEST(an_event_that_was_being_written_at_the_hold_does_not_count)
{
    uint8_t before[2000], after[2000];
    const uint64_t head = sizeof(struct klog_header) + KLOG_KINDS * sizeof(struct klog_kind);

    for (unsigned written = 0; written < 3 * EVENTS; written++) {
        cpu_count = 1;
        ring_make(0, written);
        CHECK(klog_hold());
        const uint64_t bytes = klog_held_bytes() - head;
        CHECK(klog_held_read(head, before, bytes));
        klog_write(KLOG_mark, 99, 99);
        CHECK_EQUAL(klog_held_bytes(), head + bytes);
        CHECK(klog_held_read(head, after, bytes));
        /* At most the oldest one is called overwritten, to be on the safe side. */
        const uint64_t kept = sizeof(struct klog_cpu) + (written >= EVENTS - 1) * sizeof(struct klog_event);
        CHECK_EQUAL(memcmp(before, after, sizeof(struct klog_cpu)), 0);
        if (bytes > kept)
            CHECK_EQUAL(memcmp(before + kept, after + kept, bytes - kept), 0);
        klog_release();
    }
    cpu_count = CPUS;
}

/* ---- Commands ---- */

static int hold(uint32_t seconds)
{
    struct beat_command command = { .code = BEAT_HOLD, .bytes = 4, .number = 1 };

    store_be(command.body, 4, seconds);
    return log_pages_hold(&command);
}

static int request(uint32_t number, const uint8_t *of, uint64_t offset, unsigned pages)
{
    struct beat_command command = { .code = BEAT_PAGE, .bytes = PAGE_REQUEST_BYTES, .number = number };

    memcpy(command.body, of, BEAT_ADDRESS_BYTES);
    store_be(command.body + 6, 8, offset);
    store_be(command.body + 14, 2, pages);
    return log_pages_request(&command);
}

/* Takes the next page that the node sends; false if there is none. */
static bool page_next(struct page *page)
{
    static uint8_t payload[PAGE_FRAME_BYTES];
    uint8_t to[BEAT_ADDRESS_BYTES];
    const bool is_due = log_page_is_due();
    const size_t bytes = log_page_write(to, payload);

    CHECK_EQUAL(bytes != 0, is_due);
    if (!bytes)
        return false;
    CHECK_EQUAL(memcmp(to, conductor, sizeof(to)), 0);
    CHECK_EQUAL(page_decode(payload, bytes, key, address, page), BEAT_FINE);
    CHECK_EQUAL(page->epoch, 42);
    CHECK_EQUAL(page->start, START);
    return true;
}

TEST(pages_bring_the_whole_log)
{
    struct page page;

    memcpy(secrets.now.beats, key, sizeof(key));
    log_pages_set(address, START);
    for (unsigned round = 0; round < 50; round++) {
        const uint64_t held_ns = now_ns;
        uint64_t offset = 0;
        uint32_t number = 0;

        rings_make();
        CHECK_EQUAL(hold(60), 0);
        CHECK_EQUAL(hold(60), -EBUSY);
        file_make();
        now_ns += 1000000;
        while (offset < file_bytes) {
            const unsigned pages = 1 + (unsigned)check_random(&seed) % PAGE_COUNT_MAX;
            unsigned come = 0;

            CHECK_EQUAL(request(++number, address, offset, pages), 0);
            for (; page_next(&page); come++) {
                CHECK_EQUAL(page.number, number);
                CHECK_EQUAL(page.sequence, 1000);
                CHECK_EQUAL(page.local_ns, held_ns);
                CHECK_EQUAL(page.global_ns, held_ns + 77);
                CHECK_EQUAL(page.drift, -5);
                CHECK_EQUAL(page.size, file_bytes);
                CHECK_EQUAL(page.offset, offset);
                CHECK_EQUAL(memcmp(page.data, file + offset, page.bytes), 0);
                offset += page.bytes;
            }
            CHECK(come == pages || offset == file_bytes);
        }
        CHECK_EQUAL(request(++number, address, file_bytes + 5, 3), 0);
        CHECK(page_next(&page));
        CHECK_EQUAL(page.offset, file_bytes);
        CHECK_EQUAL(page.bytes, 0);
        CHECK(!page_next(&page));
        CHECK_EQUAL(hold(0), 0);
        CHECK(!armed);
        CHECK_EQUAL(hold(0), 0);
    }
}

TEST(a_log_that_is_not_held_has_no_pages)
{
    struct page page;

    CHECK_EQUAL(request(9, address, 0, 8), 0);
    CHECK(page_next(&page));
    CHECK_EQUAL(page.size, 0);
    CHECK_EQUAL(page.sequence, 0);
    CHECK_EQUAL(page.bytes, 0);
    CHECK(!page_next(&page));
}

TEST(a_request_for_another_node_sends_nothing_and_a_wrong_one_is_refused)
{
    static const uint8_t other[] = { 2, 0x54, 0, 0, 0, 8 };
    struct beat_command shorter = { .code = BEAT_HOLD, .bytes = 3 };
    struct page page;

    CHECK_EQUAL(hold(60), 0);
    CHECK_EQUAL(request(1, other, 0, 8), 0);
    CHECK_EQUAL(request(2, address, 0, 0), -EINVAL);
    CHECK_EQUAL(request(3, address, 0, PAGE_COUNT_MAX + 1), -EINVAL);
    CHECK_EQUAL(log_pages_hold(&shorter), -EINVAL);
    CHECK_EQUAL(log_pages_request(&shorter), -EINVAL);
    CHECK(!page_next(&page));
    for (uint32_t number = 10; number < 14; number++)
        CHECK_EQUAL(request(number, address, 0, 1), 0);
    CHECK_EQUAL(request(14, address, 0, 1), -EAGAIN);
    for (uint32_t number = 10; number < 14; number++) {
        CHECK(page_next(&page));
        CHECK_EQUAL(page.number, number);
    }
    CHECK(!page_next(&page));
    CHECK_EQUAL(hold(0), 0);
}

TEST(a_log_that_nobody_releases_is_released_by_its_time_limit)
{
    static const uint8_t other[] = { 2, 0x54, 0, 0, 0, 8 };
    const uint64_t held_ns = now_ns;

    rings_make();
    CHECK_EQUAL(hold(60), 0);
    CHECK_EQUAL(armed_ns, held_ns + 60 * NS_PER_S);
    now_ns += 50 * NS_PER_S;
    CHECK_EQUAL(request(1, other, 0, 8), 0); /* for any conductor: this one is at work */
    timer_fires();
    CHECK(klog_held_bytes() != 0);
    CHECK_EQUAL(armed_ns, held_ns + 110 * NS_PER_S);
    const uint64_t written = rings[0]->written;
    timer_fires();
    CHECK_EQUAL(klog_held_bytes(), 0);
    CHECK(!armed);
    CHECK_EQUAL(rings[0]->written, written + 1);
    const struct klog_event *event = &rings[0]->events[written & rings[0]->last];
    CHECK_EQUAL(event->kind, KLOG_log_release);
    CHECK_EQUAL(event->words[0], 110 * NS_PER_S);
    CHECK_EQUAL(hold(1), 0); /* and can be held again */
    CHECK_EQUAL(hold(0), 0);
}

int main(void)
{
    per_cpu_areas_make(CPUS);
    rings_make();
    RUN(any_piece_of_the_held_file_is_what_the_file_has_there);
    RUN(a_held_log_is_not_written_and_follows_its_classes_later);
    RUN(a_log_that_ends_while_it_is_held_is_not_written_after_its_release);
    RUN(an_event_that_was_being_written_at_the_hold_does_not_count);
    RUN(pages_bring_the_whole_log);
    RUN(a_log_that_is_not_held_has_no_pages);
    RUN(a_request_for_another_node_sends_nothing_and_a_wrong_one_is_refused);
    RUN(a_log_that_nobody_releases_is_released_by_its_time_limit);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        free(rings[cpu]);
    per_cpu_areas_free(CPUS);
    return check_report("log_page");
}
