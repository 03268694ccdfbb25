/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conductor.c: the connection to the conductor (control.h): requests one at a time and in order; a function
 * is called with each answer. tacetrun connects for its requests, and from "job begin" on stays connected:
 * the connection is the job's lease (lease.c). A conductor that does not answer in time is treated as if it
 * had ended. If it ends while the job has its lease, tacetrun connects again every second; requests wait for
 * RETURN_S.
 */
#include "service/lib/control.h"
#include "service/lib/json.h"
#include "service/tacetrun/tacetrun.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RETURN_S    10 /* the conductor waits as long for tacetrun */
#define RETRY_NS    SECOND_NS
#define FIRST_RETRY (SECOND_NS / 10)

struct request {
    struct request *next;
    bool has_time; /* its answer has no time limit */
    char text[CONTROL_REQUEST_BYTES];
    void (*answered)(void *context, const char *answer);
    void *context;
};

static struct conductor {
    struct watch watch; /* first */
    bool is_there;
    bool is_leased; /* the connection is the job's lease */
    bool is_lost;   /* it has ended; the conductor may come back */
    bool has_said;  /* the user knows that it is lost */
    struct request *first, **last;
    bool is_sent;         /* the first request */
    unsigned given_up;    /* requests whose answers may still come; their time is over */
    uint64_t deadline_ns; /* for the first request's answer */
    uint64_t lost_ns, retry_ns;
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
    conductor.is_there = conductor.is_leased = conductor.is_lost = false;
    watch_close(&conductor.watch);
    while (conductor.first)
        request_end(NULL);
}

/* Drops requests of the lease: they are made again with the next connection. */
static void lease_requests_drop(void)
{
    struct request **link = &conductor.first, *request;

    while ((request = *link)) {
        if (!request->has_time) {
            link = &request->next;
            continue;
        }
        *link = request->next;
        free(request);
    }
    conductor.last = link;
}

/* Handles the end of the connection: waits for the conductor if the job has its lease, else gives it up. */
static void conductor_gone(const char *why)
{
    if (!conductor.is_leased) {
        say("the conductor at %s %s", run.plan.conductor, why);
        conductor_close();
        return;
    }
    watch_close(&conductor.watch);
    lease_requests_drop();
    conductor.is_lost = true;
    conductor.is_sent = false;
    conductor.given_up = 0;
    conductor.lost_ns = clock_now_ns();
    conductor.retry_ns = conductor.lost_ns + FIRST_RETRY;
    conductor.deadline_ns = conductor.lost_ns + RETURN_S * SECOND_NS;
}

static void request_send(void)
{
    const struct request *request = conductor.first;

    if (!request || conductor.is_sent || conductor.is_lost)
        return;
    conductor.deadline_ns = clock_now_ns() + CONDUCTOR_TIME_S * SECOND_NS;
    if (send(conductor.watch.fd, request->text, strlen(request->text), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
        conductor.is_sent = true;
        watch_set(&run.loop, &conductor.watch, EPOLLIN);
    } else if (errno == EAGAIN) {
        watch_set(&run.loop, &conductor.watch, EPOLLOUT);
    } else {
        conductor.is_sent = true; /* a conductor that refuses the connection has said why */
        watch_set(&run.loop, &conductor.watch, EPOLLIN);
    }
}

/* Returns the bytes of the message that has come, or as recv(2). A connection that was refused is reset
 * before its message can be read. */
static ssize_t message_receive(int fd)
{
    ssize_t bytes = recv(fd, conductor.answer, CONTROL_ANSWER_BYTES - 1, MSG_DONTWAIT);

    if (bytes < 0 && errno == ECONNRESET)
        bytes = recv(fd, conductor.answer, CONTROL_ANSWER_BYTES - 1, MSG_DONTWAIT);
    return bytes;
}

static void conductor_ready(struct watch *watch, uint32_t events)
{
    (void)events; /* a call that is not possible yet fails with EAGAIN */
    if (conductor.first && !conductor.is_sent) {
        request_send();
        return;
    }
    ssize_t bytes = message_receive(watch->fd);
    if (bytes < 0 && errno == EAGAIN)
        return;
    if (bytes <= 0) {
        conductor_gone("closed the connection");
        return;
    }
    conductor.answer[bytes] = '\0';
    if (json_member(conductor.answer, "event")) {
        lease_event(conductor.answer);
        return;
    }
    if (conductor.given_up) {
        conductor.given_up--;
        return;
    }
    if (!conductor.first)
        return;
    request_end(conductor.answer);
    if (conductor.first)
        request_send();
    else if (!conductor.is_leased)
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
    return conductor.is_there && !conductor.is_lost;
}

void conductor_drop(void)
{
    struct request *request;

    watch_close(&conductor.watch);
    while ((request = conductor.first)) {
        conductor.first = request->next;
        free(request);
    }
    conductor.last = &conductor.first;
    conductor.is_leased = conductor.is_lost = conductor.is_sent = false;
    conductor.given_up = 0;
}

void conductor_keep(bool is_leased)
{
    conductor.is_leased = is_leased && conductor.watch.fd >= 0;
}

void conductor_tell(const char *text)
{
    if (conductor.watch.fd >= 0)
        send(conductor.watch.fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static struct request *request_make(const char *text, void (*answered)(void *context, const char *answer),
                                    void *context)
{
    struct request *request = calloc(1, sizeof(*request));

    if (!request)
        return NULL;
    snprintf(request->text, sizeof(request->text), "%s", text);
    request->answered = answered;
    request->context = context;
    return request;
}

void conductor_request(const char *text, void (*answered)(void *context, const char *answer), void *context)
{
    struct request *request = conductor.is_there ? request_make(text, answered, context) : NULL;

    if (!request || (!conductor.is_lost && !conductor_connect())) {
        free(request);
        answered(context, NULL);
        return;
    }
    if (conductor.is_lost && !conductor.first)
        conductor.deadline_ns = clock_now_ns() + RETURN_S * SECOND_NS;
    *conductor.last = request;
    conductor.last = &request->next;
    request_send();
}

void conductor_request_first(const char *text, void (*answered)(void *context, const char *answer))
{
    struct request *request = request_make(text, answered, NULL);

    if (!request)
        give_up(STATUS_FAILED, "no memory for a request to the conductor");
    request->has_time = true;
    request->next = conductor.first;
    if (!conductor.first)
        conductor.last = &request->next;
    conductor.first = request;
    request_send();
}

/* Tries to reach a conductor that has ended. Other requests follow after the job's. */
static void conductor_return(void)
{
    if (run.now_ns < conductor.retry_ns)
        return;
    conductor.retry_ns = run.now_ns + RETRY_NS;
    conductor.watch.fd = control_try(run.plan.conductor);
    if (conductor.watch.fd >= 0) {
        if (conductor.has_said)
            say("the conductor at %s is back", run.plan.conductor);
        conductor.is_lost = conductor.has_said = false;
        lease_resume();
    } else if (!conductor.has_said && run.now_ns - conductor.lost_ns > RETURN_S * SECOND_NS) {
        conductor.has_said = true;
        say("the conductor at %s is gone: job %u goes on; nodes that die are not noticed, and programs that "
            "only compute hear no kill",
            run.plan.conductor, run.job);
    }
}

void conductor_tick(void)
{
    if (conductor.is_lost)
        conductor_return();
    if (!conductor.first || conductor.first->has_time || run.now_ns < conductor.deadline_ns)
        return;
    if (!conductor.is_leased) {
        say("the conductor at %s timed out after %u s; it may be busy with other clients", run.plan.conductor,
            CONDUCTOR_TIME_S);
        conductor_close();
        return;
    }
    conductor.given_up += conductor.is_sent; /* the lease stays: the conductor would end the job */
    request_end(NULL);
    conductor.deadline_ns = run.now_ns + CONDUCTOR_TIME_S * SECOND_NS;
    request_send();
}
