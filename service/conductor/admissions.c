/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * admissions.c: see admissions.h.
 */
#include "service/conductor/admissions.h"
#include "service/conductor/admission_file.h"
#include "service/conductor/conductor.h"
#include "service/conductor/keys.h"
#include "service/lib/options.h"
#include "service/lib/say.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define WAITING_MAX 64
#define KEPT_ANSWER 384
#define PAUSE_NS    SECOND_NS
#define STACK_BYTES (128 * 1024)

static struct {
    enum { NONE, IDLE, WRITING, DONE } state; /* NONE: nothing is kept. Atomic; it passes the fields below */
    struct admission all[ADMISSIONS_MAX];
    unsigned count;
    const char *why; /* what was wrong with the last write, or NULL */
} writer;
static sem_t work;
static int done; /* an eventfd, which wakes the conductor's loop */

static uint64_t version = 1, written = 1, writing; /* of the table: now, on the disk, in `writer` */
static uint64_t pause_ends_ns;

static struct waiting {
    unsigned client;
    uint64_t version;
    char answer[KEPT_ANSWER];
} waiting[WAITING_MAX];
static unsigned waiting_count;

static int state(void)
{
    return __atomic_load_n(&writer.state, __ATOMIC_ACQUIRE);
}

/* ---- The writer ---- */

static void *write_always(void *unused)
{
    const uint64_t one = 1;

    for (;;) {
        while (sem_wait(&work))
            ;
        writer.why = admissions_write(conductor.state_folder, writer.all, writer.count);
        __atomic_store_n(&writer.state, DONE, __ATOMIC_RELEASE);
        if (write(done, &one, sizeof(one)) < 0)
            continue; /* it counts already */
    }
    return unused;
}

/* Starts the thread, before the conductor's own gets its priority. Signals go to the conductor's own. */
static int writer_start(void)
{
    pthread_attr_t small;
    pthread_t thread;
    sigset_t all, before;

    done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (done < 0 || sem_init(&work, 0, 0))
        return errno;
    conductor.polls[POLL_WRITER].fd = done;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    const int error = pthread_create(&thread, &small, write_always, NULL);
    pthread_attr_destroy(&small);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

void admissions_start(void)
{
    char why[512];

    conductor.polls[POLL_WRITER].fd = -1;
    if (!conductor.state_folder || !keys_are_given())
        return;
    if (admissions_read(conductor.state_folder, keys_restore, why, sizeof(why)))
        give_up(STATUS_WRONG, "%s", why);
    const int error = writer_start();
    if (error)
        give_up(STATUS_WRONG, "no thread to write admissions: %s", strerror(error));
    version = written; /* those that were read */
    __atomic_store_n(&writer.state, IDLE, __ATOMIC_RELEASE);
}

/* ---- Changes, and clients that wait for them ---- */

void admissions_changed(void)
{
    version++;
}

bool admissions_have_room(void)
{
    return waiting_count < WAITING_MAX;
}

bool admissions_answer(unsigned client, const struct json *answer)
{
    struct waiting *place = &waiting[waiting_count];

    if (state() == NONE || !admissions_have_room() || answer->length >= KEPT_ANSWER)
        return false;
    place->client = client;
    place->version = version;
    memcpy(place->answer, answer->text, answer->length + 1);
    waiting_count++;
    return true;
}

/* Answers the clients that have waited for the last write. */
static void waiting_answer(void)
{
    static char text[KEPT_ANSWER];
    const struct waiting old = waiting[0];
    struct json answer = { .text = text, .room = sizeof(text) };
    char why[160];

    memmove(waiting, waiting + 1, --waiting_count * sizeof(waiting[0]));
    snprintf(why, sizeof(why), "the node is admitted, but only until the conductor's end: its file %s: %s",
             ADMISSIONS_FILE, writer.why ? writer.why : "");
    if (writer.why)
        json_error(&answer, why);
    else
        json_print(&answer, "%s", old.answer);
    client_answer(old.client, &answer);
}

/* Takes the outcome of a write. The first of several failures is logged. */
static void write_end(void)
{
    static bool has_failed;
    uint64_t count;

    if (read(done, &count, sizeof(count)) < 0)
        return; /* not yet: it comes right after the state */
    if (!writer.why)
        written = writing;
    else if (!has_failed)
        say("%s/%s: %s: nodes are admitted only until the conductor's end", conductor.state_folder,
            ADMISSIONS_FILE, writer.why);
    has_failed = writer.why != NULL;
    pause_ends_ns = clock_now_ns() + PAUSE_NS;
    while (waiting_count && waiting[0].version <= writing)
        waiting_answer();
    __atomic_store_n(&writer.state, IDLE, __ATOMIC_RELEASE);
}

void admissions_settle(void)
{
    if (state() == DONE)
        write_end();
    if (state() != IDLE || (!waiting_count && (version == written || clock_now_ns() < pause_ends_ns)))
        return;
    writing = version;
    writer.count = keys_admitted(writer.all);
    __atomic_store_n(&writer.state, WRITING, __ATOMIC_RELEASE);
    sem_post(&work);
}

int admissions_timeout_ms(void)
{
    const uint64_t now_ns = clock_now_ns();

    if (state() != IDLE || version == written)
        return -1;
    return waiting_count || pause_ends_ns <= now_ns ? 0 : (int)((pause_ends_ns - now_ns) / 1000000 + 1);
}

void admissions_end(void)
{
    if (state() == NONE)
        return;
    while (state() == WRITING)
        usleep(1000);
    if (version == written)
        return;
    const char *why = admissions_write(conductor.state_folder, writer.all, keys_admitted(writer.all));
    if (why)
        say("%s/%s: %s: the last admissions are lost", conductor.state_folder, ADMISSIONS_FILE, why);
}
