/* SPDX-License-Identifier: BSD-2-Clause */
/* sysv_messages.c: queues of messages of System V. */
#include "sysv.h"

static struct {
    long type;
    char text[9000];
} out, in;

static long queue, answer;
static volatile bool done;

static long put(long type, const char *words, int flags)
{
    out.type = type;
    strcpy(out.text, words);
    return sys(SYS_msgsnd, queue, &out, strlen(words), flags);
}

/* Receives, and prints the type and the text. */
static void take(const char *what, size_t room, long type, int flags)
{
    char line[64];

    memset(&in, 0, sizeof(in));
    long got = sys(SYS_msgrcv, queue, &in, room, type, flags | IPC_NOWAIT);
    if (got < 0) {
        result(what, got);
        return;
    }
    snprintf(line, sizeof(line), "%ld bytes of type %ld: %.20s", got, in.type, in.text);
    text(what, line);
}

static void by_type(void)
{
    put(5, "five", 0);
    put(3, "three", 0);
    put(9, "nine", 0);
    put(3, "three again", 0);
    put(5, "five again", 0);
    take("of type 3", 100, 3, 0);
    take("of none that is there", 100, 4, 0);
    take("but type 5", 100, 5, MSG_EXCEPT);
    take("up to type 5", 100, -5, 0);
    take("up to the highest type", 100, LONG_MIN, 0);
    take("up to type 2", 100, -2, 0);
    take("too little room", 2, 0, 0);
    take("cut", 2, 0, MSG_NOERROR);
    take("from an empty queue", 100, 0, 0);
    put(1, "", 0);
    take("an empty one", 0, 0, 0);
}

static void wrong(void)
{
    result("type 0", put(0, "x", 0));
    result("a negative type", put(-1, "x", 0));
    out.type = 1;
    result("too long", sys(SYS_msgsnd, queue, &out, 8193, 0));
    result("a negative length", sys(SYS_msgsnd, queue, &out, -1, 0));
    result("from nobody's memory", sys(SYS_msgsnd, queue, NOWHERE, 1, 0));
    memset(edge(8), 1, 8); /* a type */
    result("from the end of memory", sys(SYS_msgsnd, queue, edge(8), 1, 0));
    result("no such queue", sys(SYS_msgsnd, -1, &out, 1, 0));
    result("receive from no such queue", sys(SYS_msgrcv, -1, &in, 1, 0, 0));
    result("receive a negative length", sys(SYS_msgrcv, queue, &in, -1, 0, IPC_NOWAIT));
    put(1, "lost", 0);
    result("receive to nobody's memory", sys(SYS_msgrcv, queue, NOWHERE, 4, 0, IPC_NOWAIT));
    take("after that", 100, 0, 0);
}

static void facts(void)
{
    struct msqid_ds status;
    struct msginfo limits;

    put(7, "status", 0);
    memset(&status, 0xff, sizeof(status));
    result("status", sys(SYS_msgctl, queue, IPC_STAT, &status));
    result("messages", (long)status.msg_qnum);
    result("bytes at most", (long)status.msg_qbytes);
    result("mode", status.msg_perm.mode);
    holds("sent by", status.msg_lspid == getpid() && status.msg_stime > 1000000000);
    take("then", 100, 0, 0);
    status.msg_qbytes = 100;
    status.msg_perm.mode = 0666;
    result("set", sys(SYS_msgctl, queue, IPC_SET, &status));
    sys(SYS_msgctl, queue, IPC_STAT, &status);
    result("bytes that were set", (long)status.msg_qbytes);
    result("mode that was set", status.msg_perm.mode);
    holds("received by", status.msg_lrpid == getpid() && status.msg_rtime > 1000000000);
    holds("limits",
          sys(SYS_msgctl, 0, IPC_INFO, &limits) >= 0 && limits.msgmax == 8192 && limits.msgmnb == 16384);
    holds("limits in /proc", limit_in("/proc/sys/kernel/msgmax", 0) == (unsigned long)limits.msgmax &&
                                 limit_in("/proc/sys/kernel/msgmnb", 0) == (unsigned long)limits.msgmnb &&
                                 limit_in("/proc/sys/kernel/msgmni", 0) == (unsigned long)limits.msgmni);
    result("no such command", sys(SYS_msgctl, queue, 99, 0));
}

static void *sender(void *argument)
{
    static struct {
        long type;
        char text[60];
    } message = { 2, "later" };

    (void)argument;
    answer = sys(SYS_msgsnd, queue, &message, 60, 0);
    return NULL;
}

static void *receiver(void *argument)
{
    (void)argument;
    answer = sys(SYS_msgrcv, queue, &in, 100, 8, 0);
    done = true;
    return NULL;
}

static void ignore(int signal)
{
    (void)signal;
}

static void full(void)
{
    const struct sigaction action = { .sa_handler = ignore, .sa_flags = SA_RESTART };
    pthread_t thread;

    memset(out.text, 'a', 60);
    out.type = 1;
    result("60 of 100 bytes", sys(SYS_msgsnd, queue, &out, 60, IPC_NOWAIT));
    result("60 more", sys(SYS_msgsnd, queue, &out, 60, IPC_NOWAIT));
    result("40 more", sys(SYS_msgsnd, queue, &out, 40, IPC_NOWAIT));
    pthread_create(&thread, NULL, sender, NULL);
    take("make room", 100, 0, 0);
    pthread_join(thread, NULL);
    result("who waited for it", answer);
    take("the next", 100, 0, 0);
    take("what it sent", 100, 0, 0);

    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, receiver, NULL);
    while (!done) { /* the first may come before it waits */
        pthread_kill(thread, SIGUSR1);
        rest_ms(2);
    }
    pthread_join(thread, NULL);
    result("interrupted, with SA_RESTART", answer);
    pthread_create(&thread, NULL, receiver, NULL);
    rest_ms(20);
    result("remove", sys(SYS_msgctl, queue, IPC_RMID, 0));
    pthread_join(thread, NULL);
    holds("the waiter", answer == -EIDRM || answer == -EINVAL);
    result("gone", put(1, "x", 0));
}

static void whole(void)
{
    unsigned sent = 0;

    out.type = 1;
    memset(out.text, 'b', 8192);
    out.text[8191] = 'c';
    result("the longest", sys(SYS_msgsnd, queue, &out, 8192, IPC_NOWAIT));
    result("it comes whole", sys(SYS_msgrcv, queue, &in, 9000, 0, IPC_NOWAIT));
    holds("its bytes", memcmp(in.text, out.text, 8192) == 0);
    while (sys(SYS_msgsnd, queue, &out, 4, IPC_NOWAIT) == 0)
        sent++;
    result("short ones until it is full", sent);
    while (sys(SYS_msgrcv, queue, &in, 4, 0, IPC_NOWAIT) == 4)
        sent--;
    result("all come", sent);
}

CONFORM(sysv_messages)
{
    result("no such key", sys(SYS_msgget, KEY(3), 0));
    queue = sys(SYS_msgget, KEY(3), IPC_CREAT | 0600);
    holds("made", queue >= 0);
    holds("found", sys(SYS_msgget, KEY(3), IPC_CREAT) == queue);
    result("made again", sys(SYS_msgget, KEY(3), IPC_CREAT | IPC_EXCL));
    by_type();
    wrong();
    whole();
    facts();
    full();
}
