/* SPDX-License-Identifier: BSD-2-Clause */
/* posix_queue.c: POSIX message queues. */
#include "conform.h"

#include <mqueue.h>
#include <sys/epoll.h>

#define NAME "conform_queue"

static char bytes[9000];

/* The longest queue that any user may make. */
static void limits(void)
{
    struct mq_attr most = { .mq_maxmsg = 10, .mq_msgsize = 8192 }, got;
    int queue = (int)sys(SYS_mq_open, NAME, O_RDWR | O_CREAT, 0600, &most);

    holds("the largest", queue >= 0);
    sys(SYS_close, queue);
    sys(SYS_mq_unlink, NAME);
    queue = (int)sys(SYS_mq_open, NAME, O_RDWR | O_CREAT, 0600, 0);
    sys(SYS_mq_getsetattr, queue, 0, &got);
    result("without attributes", got.mq_maxmsg * 100000 + got.mq_msgsize);
    sys(SYS_close, queue);
    sys(SYS_mq_unlink, NAME);
}

static void names(void)
{
    static char name[300];

    result("no such queue", sys(SYS_mq_open, NAME, O_RDWR, 0, 0));
    result("a slash", sys(SYS_mq_open, "a/b", O_RDWR | O_CREAT, 0600, 0));
    result("no name", sys(SYS_mq_open, "", O_RDWR | O_CREAT, 0600, 0));
    result("a dot", sys(SYS_mq_open, ".", O_RDWR | O_CREAT, 0600, 0));
    result("two dots", sys(SYS_mq_open, "..", O_RDWR | O_CREAT, 0600, 0));
    memset(name, 'n', 256);
    result("a long name", sys(SYS_mq_open, name, O_RDWR | O_CREAT, 0600, 0));
    result("a name in nobody's memory", sys(SYS_mq_open, NOWHERE, O_RDWR | O_CREAT, 0600, 0));
    result("remove no such queue", sys(SYS_mq_unlink, NAME));
    result("remove a slash", sys(SYS_mq_unlink, "a/b"));
}

static void attributes(int queue)
{
    struct mq_attr set = { .mq_flags = O_NONBLOCK, .mq_maxmsg = 99 }, old;
    struct stat status;

    result("attributes", sys(SYS_mq_getsetattr, queue, 0, &old));
    result("they are", old.mq_maxmsg * 100000 + old.mq_msgsize * 10 + old.mq_curmsgs);
    result("its flags", old.mq_flags);
    result("set them", sys(SYS_mq_getsetattr, queue, &set, &old));
    result("the old flags", old.mq_flags);
    sys(SYS_mq_getsetattr, queue, 0, &old);
    result("the new flags", old.mq_flags);
    result("as many messages as before", old.mq_maxmsg);
    holds("as F_GETFL", sys(SYS_fcntl, queue, F_GETFL) & O_NONBLOCK);
    set.mq_flags = O_APPEND;
    result("set a wrong flag", sys(SYS_mq_getsetattr, queue, &set, 0));
    result("of no queue", sys(SYS_mq_getsetattr, 1, 0, &old));
    result("closes on exec", sys(SYS_fcntl, queue, F_GETFD));
    sys(SYS_fstat, queue, &status);
    holds("a regular file", S_ISREG(status.st_mode) && (status.st_mode & 0777) == 0600);
    result("mapped", sys(SYS_mmap, 0, PAGE, PROT_READ, MAP_PRIVATE, queue, 0));
}

static long put(int queue, const char *words, unsigned priority)
{
    return sys(SYS_mq_timedsend, queue, words, strlen(words), priority, 0);
}

static void take(const char *what, int queue)
{
    unsigned priority = 99;
    char line[64];

    memset(bytes, 0, 100);
    long got = sys(SYS_mq_timedreceive, queue, bytes, 64, &priority, 0);
    if (got < 0) {
        result(what, got);
        return;
    }
    snprintf(line, sizeof(line), "%ld bytes of priority %u: %.20s", got, priority, bytes);
    text(what, line);
}

static void messages(int queue)
{
    struct pollfd set = { queue, POLLIN | POLLOUT, 0 };
    struct timespec past = { 1, 0 }, wrong = { 0, -1 };

    result("poll of an empty one", sys(SYS_poll, &set, 1, 0) * 100 + set.revents);
    take("from an empty one", queue);
    result("put", put(queue, "low", 1));
    put(queue, "high", 7);
    put(queue, "", 0);
    result("and one", put(queue, "high again", 7));
    result("one too many", put(queue, "x", 0));
    set.revents = 0;
    result("poll of a full one", sys(SYS_poll, &set, 1, 0) * 100 + set.revents);
    take("first", queue);
    take("second", queue);
    take("third", queue);
    take("fourth", queue);
    result("too long", sys(SYS_mq_timedsend, queue, bytes, 65, 0, 0));
    result("too high a priority", sys(SYS_mq_timedsend, queue, bytes, 1, 32768, 0));
    result("the highest priority", sys(SYS_mq_timedsend, queue, bytes, 1, 32767, 0));
    result("too little room", sys(SYS_mq_timedreceive, queue, bytes, 63, 0, 0));
    result("to nobody's memory", sys(SYS_mq_timedreceive, queue, NOWHERE, 64, 0, 0));
    result("from nobody's memory", sys(SYS_mq_timedsend, queue, NOWHERE, 1, 0, 0));
    result("to no queue", sys(SYS_mq_timedsend, 1, bytes, 1, 0, 0));
    sys(SYS_fcntl, queue, F_SETFL, 0);
    result("until a time that has passed", sys(SYS_mq_timedreceive, queue, bytes, 64, 0, &past));
    result("until a wrong time", sys(SYS_mq_timedreceive, queue, bytes, 64, 0, &wrong));
}

/* ---- Threads ---- */

static long answer;

static void *receiver(void *argument)
{
    answer = sys(SYS_mq_timedreceive, (long)argument, bytes, 64, 0, 0);
    return NULL;
}

static volatile int signals, code, sent;

static void caught(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    signals++;
    code = info->si_code;
    sent = info->si_value.sival_int;
}

static void notified(int queue)
{
    const struct sigaction action = { .sa_sigaction = caught, .sa_flags = SA_SIGINFO };
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
                              .sigev_signo = SIGUSR1,
                              .sigev_value.sival_int = 5 };
    pthread_t thread;

    pthread_create(&thread, NULL, receiver, (void *)(long)queue);
    rest_ms(10);
    put(queue, "wake", 3);
    pthread_join(thread, NULL);
    result("received by one that waited", answer);

    sigaction(SIGUSR1, &action, NULL);
    result("notify", sys(SYS_mq_notify, queue, &event));
    result("notify again", sys(SYS_mq_notify, queue, &event));
    result("the message", put(queue, "first", 0));
    result("signals", signals * 100 + sent);
    holds("by a queue", code == SI_MESGQ);
    put(queue, "second", 0);
    result("only once", signals);
    take("then", queue);
    take("and", queue);
    result("notify without a signal", (event.sigev_notify = SIGEV_NONE, sys(SYS_mq_notify, queue, &event)));
    result("no more", sys(SYS_mq_notify, queue, 0));
    event = (struct sigevent){ .sigev_notify = SIGEV_SIGNAL, .sigev_signo = 99 };
    result("no such signal", sys(SYS_mq_notify, queue, &event));
    result("of no queue, notify", sys(SYS_mq_notify, 1, 0));
}

CONFORM(posix_queue)
{
    struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 64 }, wrong = { .mq_maxmsg = 0, .mq_msgsize = 64 };
    int queue, reader, set = (int)sys(SYS_epoll_create1, 0);
    struct epoll_event event = { .events = EPOLLIN };

    names();
    limits();
    result("no messages", sys(SYS_mq_open, NAME, O_RDWR | O_CREAT, 0600, &wrong));
    wrong = (struct mq_attr){ .mq_maxmsg = 4, .mq_msgsize = -1 };
    result("negative messages", sys(SYS_mq_open, NAME, O_RDWR | O_CREAT, 0600, &wrong));
    queue = (int)sys(SYS_mq_open, NAME, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
    result("made", queue);
    result("made again", sys(SYS_mq_open, NAME, O_RDWR | O_CREAT | O_EXCL, 0600, &attr));
    attributes(queue);
    messages(queue);
    notified(queue);
    result("in a set", sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, queue, &event));
    put(queue, "x", 0);
    result("ready in it", sys(SYS_epoll_pwait, set, &event, 1, 0, 0, 8));
    reader = (int)sys(SYS_mq_open, NAME, O_RDONLY, 0, 0);
    result("sent by one that only reads", put(reader, "x", 0));
    result("removed", sys(SYS_mq_unlink, NAME));
    result("removed again", sys(SYS_mq_unlink, NAME));
    take("it lives on", reader);
    result("gone by its name", sys(SYS_mq_open, NAME, O_RDONLY, 0, 0));
}
