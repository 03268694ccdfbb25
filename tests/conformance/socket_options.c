/* SPDX-License-Identifier: BSD-2-Clause */
/* socket_options.c: setsockopt on a pair of sockets: what it accepts, and time limits, which really end a
 * wait. */
#include "sockets.h"

static long set(int end, int name, int value)
{
    return sys(SYS_setsockopt, end, SOL_SOCKET, name, &value, sizeof(value));
}

static long switched(int end, int name)
{
    int value = -1, room = sizeof(value);
    long error = sys(SYS_getsockopt, end, SOL_SOCKET, name, &value, &room);

    return error ? error : value;
}

static long limit(int end, int name, long seconds, long microseconds)
{
    struct timeval time = { seconds, microseconds };

    return sys(SYS_setsockopt, end, SOL_SOCKET, name, &time, sizeof(time));
}

/* Microseconds, or an errno. */
static long limit_of(int end, int name)
{
    struct timeval time = { -1, -1 };
    int room = sizeof(time);
    long error = sys(SYS_getsockopt, end, SOL_SOCKET, name, &time, &room);

    return error ? error : room != sizeof(time) ? -1 : time.tv_sec * 1000000 + time.tv_usec;
}

static void note(int number)
{
    (void)number;
}

static void *send_late(void *words)
{
    rest_ms(40);
    sent(ends[0], words, 0);
    return NULL;
}

static volatile bool back;

/* Some of the signals come while the thread waits; one ends the wait if any may. */
static void *signal_often(void *thread)
{
    for (int i = 0; i < 500 && !back; i++) {
        pthread_kill(*(pthread_t *)thread, SIGUSR1);
        rest_ms(20);
    }
    return NULL;
}

static void *signal_then_send(void *thread)
{
    for (int i = 0; i < 10; i++) {
        pthread_kill(*(pthread_t *)thread, SIGUSR1);
        rest_ms(20);
    }
    sent(ends[0], "late", 0);
    return NULL;
}

#define SLOWLY_BYTES (5 << 16)

static void *receive_slowly(void *nothing)
{
    static char much[1 << 16];

    for (long moved, all = 0; all<SLOWLY_BYTES; all += moved> 0 ? moved : 0) {
        rest_ms(100);
        moved = sys(SYS_recvfrom, ends[1], much, sizeof(much), MSG_DONTWAIT, NULL, NULL);
    }
    return nothing;
}

static void switches(void)
{
    static const int names[] = { SO_REUSEADDR, SO_BROADCAST, SO_KEEPALIVE };
    static const char *const shown[] = { "SO_REUSEADDR", "SO_BROADCAST", "SO_KEEPALIVE" };

    for (int i = 0; i < 3; i++) {
        char what[40];

        result(shown[i], switched(ends[0], names[i]));
        snprintf(what, sizeof(what), "%s on", shown[i]);
        result(what, set(ends[0], names[i], 7));
        snprintf(what, sizeof(what), "%s read back", shown[i]);
        result(what, switched(ends[0], names[i]));
    }
    result("off again", set(ends[0], SO_KEEPALIVE, 0));
    result("is off", switched(ends[0], SO_KEEPALIVE));
    result("another stays on", switched(ends[0], SO_REUSEADDR));
    result("but not at the other end", switched(ends[1], SO_REUSEADDR));
    result("a buffer to send", set(ends[0], SO_SNDBUF, 32768));
    result("a buffer to receive", set(ends[0], SO_RCVBUF, 1));
    holds("there are some", switched(ends[0], SO_SNDBUF) >= 32768 && switched(ends[0], SO_RCVBUF) > 0);
    result("credentials off", set(ends[0], SO_PASSCRED, 0));
    result("are off", switched(ends[0], SO_PASSCRED));
    result("the type", set(ends[0], SO_TYPE, SOCK_STREAM));
    result("an error", set(ends[0], SO_ERROR, 0));
    result("no such option", set(ends[0], 1000, 1));
    result("no such option, 2^32 - 1", set(ends[0], -1, 1));
}

static void bad_arguments(void)
{
    int one = 1, ordinary = (int)sys(SYS_open, "/dev/null", O_RDWR);
    struct timeval time = { 1, 0 };

    result("too short", sys(SYS_setsockopt, ends[0], SOL_SOCKET, SO_REUSEADDR, &one, 3));
    result("of no bytes", sys(SYS_setsockopt, ends[0], SOL_SOCKET, SO_REUSEADDR, &one, 0));
    result("of -1 bytes", sys(SYS_setsockopt, ends[0], SOL_SOCKET, SO_REUSEADDR, &one, -1));
    result("from nobody's", sys(SYS_setsockopt, ends[0], SOL_SOCKET, SO_REUSEADDR, NOWHERE, 4));
    result("no such level", sys(SYS_setsockopt, ends[0], 1000, SO_REUSEADDR, &one, 4));
    result("no socket", sys(SYS_setsockopt, ordinary, SOL_SOCKET, SO_REUSEADDR, &one, 4));
    result("no descriptor", sys(SYS_setsockopt, 99, SOL_SOCKET, SO_REUSEADDR, &one, 4));
    result("half a time", sys(SYS_setsockopt, ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, 8));
    result("a time from nobody's", sys(SYS_setsockopt, ends[0], SOL_SOCKET, SO_RCVTIMEO, NOWHERE, 16));
    result("a million microseconds", limit(ends[0], SO_RCVTIMEO, 0, 1000000));
    result("less than none", limit(ends[0], SO_SNDTIMEO, 0, -1));
}

CONFORM(socket_options)
{
    static char much[1 << 20];
    struct sigaction action = { .sa_handler = note, .sa_flags = SA_RESTART };
    pthread_t other, self = pthread_self();
    char words[32];
    uint64_t begin;
    long moved;

    made("made", SOCK_STREAM);
    switches();
    bad_arguments();
    result("no limit", limit_of(ends[1], SO_RCVTIMEO));
    result("of 100 ms", limit(ends[1], SO_RCVTIMEO, 0, 100000));
    result("of 2 s", limit(ends[1], SO_SNDTIMEO, 2, 0));
    result("read back", limit_of(ends[1], SO_RCVTIMEO));
    result("to send, too", limit_of(ends[1], SO_SNDTIMEO));
    result("not at the other end", limit_of(ends[0], SO_RCVTIMEO));

    begin = now_ns();
    result("nothing comes", got(ends[1], words, sizeof(words), 0));
    holds("not before 100 ms are over", now_ns() - begin >= 75000000);
    begin = now_ns();
    result("nor for read", sys(SYS_read, ends[1], words, 1));
    holds("nor before", now_ns() - begin >= 75000000);
    begin = now_ns();
    sent(ends[0], "part", 0);
    result("a part of what is wanted", got(ends[1], words, sizeof(words), MSG_WAITALL));
    holds("about 100 ms of waiting for the rest", now_ns() - begin >= 75000000);

    limit(ends[1], SO_RCVTIMEO, 20, 0);
    begin = now_ns();
    pthread_create(&other, NULL, send_late, "late");
    result("what comes in time", got(ends[1], words, sizeof(words), 0));
    holds("does not wait for the limit", now_ns() - begin < 15000000000);
    pthread_join(other, NULL);

    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&other, NULL, signal_often, &self);
    result("a signal ends the wait, with SA_RESTART", got(ends[1], words, sizeof(words), 0));
    back = true;
    pthread_join(other, NULL);
    limit(ends[1], SO_RCVTIMEO, 0, 0);
    result("none again", limit_of(ends[1], SO_RCVTIMEO));
    pthread_create(&other, NULL, signal_then_send, &self);
    result("without a limit it starts again", got(ends[1], words, sizeof(words), 0));
    pthread_join(other, NULL);
    result("a negative one", limit(ends[1], SO_RCVTIMEO, -1, 0));
    result("is read as none", limit_of(ends[1], SO_RCVTIMEO));
    result("and does not wait", got(ends[1], words, sizeof(words), 0));

    limit(ends[0], SO_SNDTIMEO, 0, 200000);
    begin = now_ns();
    moved = sys(SYS_sendto, ends[0], much, sizeof(much), 0, NULL, 0);
    holds("as much as there is room for", moved > 0 && moved < (long)sizeof(much));
    holds("about 200 ms of waiting for more", now_ns() - begin >= 150000000);
    while (sys(SYS_sendto, ends[0], much, 1, MSG_DONTWAIT, NULL, 0) > 0)
        ;
    result("then nothing", sys(SYS_sendto, ends[0], much, 1, 0, NULL, 0));
    while (sys(SYS_recvfrom, ends[1], much, sizeof(much), MSG_DONTWAIT, NULL, NULL) > 0)
        ;
    limit(ends[0], SO_SNDTIMEO, 20, 0);
    pthread_create(&other, NULL, receive_slowly, NULL);
    moved = sys(SYS_sendto, ends[0], much, SLOWLY_BYTES, 0, NULL, 0);
    result("to who receives slowly, all", moved);
    pthread_join(other, NULL);
    closed();

    made("of messages", SOCK_DGRAM);
    limit(ends[1], SO_RCVTIMEO, 0, 40000);
    result("no message", got(ends[1], words, sizeof(words), 0));
    sent(ends[0], "one", 0);
    result("one", got(ends[1], words, sizeof(words), 0));
    closed();
}
