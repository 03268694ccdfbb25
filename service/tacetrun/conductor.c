/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conductor.c: requests to the conductor (control.h), one at a time and in order; a function is called with
 * each answer. The conductor serves few connections at once, so tacetrun connects only while an answer is
 * due. A conductor that does not answer in time is treated as if it had ended.
 */
#include "service/lib/control.h"
#include "service/tacetrun/tacetrun.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct request {
    struct request *next;
    char text[CONTROL_REQUEST_BYTES];
    void (*answered)(void *context, const char *answer);
    void *context;
};

static struct conductor {
    struct watch watch; /* first */
    bool is_there;
    struct request *first, **last;
    bool is_sent;         /* the first request */
    uint64_t deadline_ns; /* for its answer */
    char answer[CONTROL_ANSWER_BYTES];
} conductor = { .watch = { .fd = -1 } };

static void request_end(const char *answer)
{
    struct request *request = conductor.first;

    conductor.first = request->next;
    if (!conductor.first)
        conductor.last = &conductor.first;
    conductor.is_sent = false;
    request->answered(request->context, answer);
    free(request);
}

/* Gives the conductor up: pending requests get no answer. */
static void conductor_close(void)
{
    conductor.is_there = false;
    watch_close(&conductor.watch);
    while (conductor.first)
        request_end(NULL);
}

static void request_send(void)
{
    const struct request *request = conductor.first;

    if (!request || conductor.is_sent)
        return;
    conductor.deadline_ns = clock_now_ns() + CONDUCTOR_TIME_S * SECOND_NS;
    if (send(conductor.watch.fd, request->text, strlen(request->text), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
        conductor.is_sent = true;
        watch_set(&run.loop, &conductor.watch, EPOLLIN);
    } else if (errno == EAGAIN) {
        watch_set(&run.loop, &conductor.watch, EPOLLOUT);
    } else {
        say("cannot send to the conductor at %s: %s", run.plan.conductor, strerror(errno));
        conductor_close();
    }
}

static void conductor_ready(struct watch *watch, uint32_t events)
{
    (void)events; /* a call that is not possible yet fails with EAGAIN */
    if (conductor.first && !conductor.is_sent) {
        request_send();
        return;
    }
    ssize_t bytes = recv(watch->fd, conductor.answer, CONTROL_ANSWER_BYTES - 1, MSG_DONTWAIT);
    if (bytes < 0 && errno == EAGAIN)
        return;
    if (bytes <= 0 || !conductor.first) {
        say("the conductor at %s closed the connection", run.plan.conductor);
        conductor_close();
        return;
    }
    conductor.answer[bytes] = '\0';
    request_end(conductor.answer);
    if (conductor.first)
        request_send();
    else
        watch_close(watch);
}

static bool conductor_connect(void)
{
    if (conductor.watch.fd < 0)
        conductor.watch.fd = control_connect(run.plan.conductor);
    return conductor.watch.fd >= 0;
}

bool conductor_find(void)
{
    conductor.last = &conductor.first;
    conductor.watch.ready = conductor_ready;
    conductor.is_there = conductor_connect();
    if (!conductor.is_there && errno == EACCES)
        say("the conductor's socket %s refuses you: only its group (conductor --group) may run jobs",
            run.plan.conductor);
    watch_close(&conductor.watch);
    return conductor.is_there;
}

bool conductor_is_there(void)
{
    return conductor.is_there;
}

void conductor_request(const char *text, void (*answered)(void *context, const char *answer), void *context)
{
    struct request *request = conductor.is_there ? calloc(1, sizeof(*request)) : NULL;

    if (!request || !conductor_connect()) {
        free(request);
        answered(context, NULL);
        return;
    }
    snprintf(request->text, sizeof(request->text), "%s", text);
    request->answered = answered;
    request->context = context;
    *conductor.last = request;
    conductor.last = &request->next;
    request_send();
}

void conductor_tick(void)
{
    if (!conductor.first || run.now_ns < conductor.deadline_ns)
        return;
    say("the conductor at %s timed out after %u s; it may be busy with other clients", run.plan.conductor,
        CONDUCTOR_TIME_S);
    conductor_close();
}
