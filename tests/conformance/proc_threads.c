/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_threads.c: the threads of a process in /proc: /proc/self/task, /proc/thread-self. */
#include "conform.h"

#include <dirent.h>
#include <sys/prctl.h>

#define WORKERS 3
#define LISTED  64

static int tids[WORKERS], ends[2];
static volatile bool churning;

struct record {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

/* A path in the directory of a thread. */
static const char *at(int tid, const char *name)
{
    static char path[80];

    snprintf(path, sizeof(path), "/proc/self/task/%d%s", tid, name);
    return path;
}

/* What a file says, without the end of its last line; its bytes, or an errno. */
static long said(long folder, const char *path, char *to, size_t room)
{
    long file = sys(SYS_openat, folder, path, O_RDONLY), bytes;

    to[0] = 0;
    if (file < 0)
        return file;
    bytes = sys(SYS_read, file, to, room - 1);
    to[bytes > 0 ? bytes : 0] = 0;
    if (bytes > 0 && to[bytes - 1] == '\n')
        to[bytes - 1] = 0;
    sys(SYS_close, file);
    return bytes;
}

static long written(const char *path, const char *words, size_t bytes)
{
    long file = sys(SYS_openat, AT_FDCWD, path, O_WRONLY), done;

    if (file < 0)
        return file;
    done = sys(SYS_write, file, words, bytes);
    sys(SYS_close, file);
    return done;
}

static void *worker(void *number)
{
    char link[64] = "", own[64], name[32];
    long i = (long)number;

    tids[i] = (int)sys(SYS_gettid);
    sys(SYS_prctl, PR_SET_NAME, "worker");
    sys(SYS_readlink, "/proc/thread-self", link, sizeof(link) - 1);
    snprintf(own, sizeof(own), "%ld/task/%d", sys(SYS_getpid), tids[i]);
    said(AT_FDCWD, "/proc/thread-self/comm", name, sizeof(name));
    /* Before its tid is seen by others. */
    sys(SYS_write, ends[1], strcmp(link, own) ? "l" : strcmp(name, "worker") ? "n" : "+", 1);
    while (sys(SYS_read, ends[0], own, 1) == 1 && *own != '.')
        sys(SYS_write, ends[1], own, 1);
    return NULL;
}

static void *short_lived(void *nothing)
{
    return nothing;
}

static void *churn(void *nothing)
{
    pthread_t thread;

    while (churning)
        if (pthread_create(&thread, NULL, short_lived, NULL) == 0)
            pthread_join(thread, NULL);
    return nothing;
}

/* Reads the folder, `room` bytes a call; how many threads, or -1 where one comes twice, or the order or a
 * name is wrong. */
static int listed(int list[LISTED], size_t room)
{
    long file = sys(SYS_open, "/proc/self/task", O_RDONLY | O_DIRECTORY), got;
    char records[1024] __attribute__((aligned(8)));
    int count = 0, others = 0;

    while ((got = sys(SYS_getdents64, file, records, room)) > 0)
        for (long i = 0; i < got; i += ((struct record *)(records + i))->bytes) {
            const struct record *record = (void *)(records + i);
            int tid = atoi(record->name);

            if (record->name[0] == '.') {
                others++;
                continue;
            }
            for (int j = 0; j < count; j++)
                if (list[j] == tid)
                    count = LISTED;
            if (tid <= 0 || record->type != DT_DIR || count >= LISTED)
                return -1;
            list[count++] = tid;
        }
    sys(SYS_close, file);
    return got == 0 && others == 2 ? count : -1;
}

static bool has(const int *list, int count, int tid)
{
    for (int i = 0; i < count; i++)
        if (list[i] == tid)
            return true;
    return false;
}

static bool all_listed(size_t room)
{
    int list[LISTED], count = listed(list, room);
    bool all = has(list, count, (int)sys(SYS_getpid));

    for (int i = 0; i < WORKERS; i++)
        all &= has(list, count, tids[i]);
    return all;
}

/* Linux goes on by how many threads it has listed: it passes one over where another ends at that moment. */
static bool listed_while_others_end(size_t room)
{
    for (int i = 0; i < 8; i++)
        if (all_listed(room))
            return true;
    return false;
}

static bool says(int tid, const char *name, const char *words)
{
    char content[4096];

    return said(AT_FDCWD, at(tid, name), content, sizeof(content)) > 0 && strstr(content, words);
}

static bool sleeps(int tid)
{
    for (int i = 0; i < 5000; i++, rest_ms(1))
        if (says(tid, "/stat", "(worker) S ") && says(tid, "/status", "State:\tS (sleeping)\n"))
            return true;
    return false;
}

static void what_they_say(void)
{
    int pid = (int)sys(SYS_getpid), other = tids[1], count;
    char words[80], content[4096];
    struct stat one, two;
    int list[LISTED];

    /* Threads of an earlier test may be about to end. */
    for (int i = 0; (count = listed(list, 1024)) != WORKERS + 1 && i < 5000; i++)
        rest_ms(1);
    result("as many as there are", count);
    holds("all of them", all_listed(1024));
    holds("one by one", all_listed(32));
    snprintf(words, sizeof(words), "\nThreads:\t%d\n", WORKERS + 1);
    holds("as the status says", says(other, "/status", words));
    snprintf(words, sizeof(words), "\nTgid:\t%d\n", pid);
    holds("its process", says(other, "/status", words));
    snprintf(words, sizeof(words), "\nPid:\t%d\n", other);
    holds("the thread", says(other, "/status", words));
    snprintf(words, sizeof(words), "%d (worker) ", other);
    said(AT_FDCWD, at(other, "/stat"), content, sizeof(content));
    holds("its stat", strncmp(content, words, strlen(words)) == 0);
    holds("which sleeps", sleeps(other));
    holds("the caller runs", says(pid, "/stat", ") R "));
    result("a folder", sys(SYS_stat, at(other, ""), &one) == 0 && S_ISDIR(one.st_mode));
    sys(SYS_stat, at(tids[2], ""), &two);
    holds("each its own", one.st_ino != two.st_ino);
    sys(SYS_stat, "/proc/thread-self", &one);
    sys(SYS_stat, at(pid, "/."), &two);
    holds("the caller's by its link", one.st_ino == two.st_ino);
    result("a link", sys(SYS_lstat, "/proc/thread-self", &one) == 0 && S_ISLNK(one.st_mode));
    result("mode of its name", sys(SYS_stat, at(other, "/comm"), &one) ? -1 : (long)one.st_mode);
    result("may be written", sys(SYS_access, at(other, "/comm"), W_OK));
}

static void names(void)
{
    int pid = (int)sys(SYS_getpid), other = tids[0];
    char name[64];

    result("name", said(AT_FDCWD, at(other, "/comm"), name, sizeof(name)));
    text("it", name);
    result("named", written(at(other, "/comm"), "other", 5));
    said(AT_FDCWD, at(other, "/comm"), name, sizeof(name));
    text("its new name", name);
    said(AT_FDCWD, at(tids[1], "/comm"), name, sizeof(name));
    text("the next one's", name);
    result("too long", written(at(other, "/comm"), "0123456789abcdefghij", 20));
    said(AT_FDCWD, at(other, "/comm"), name, sizeof(name));
    text("cut", name);
    result("with an end of line", written(at(other, "/comm"), "line\n", 5));
    result("which stays", said(AT_FDCWD, at(other, "/comm"), name, sizeof(name)));
    result("to nothing", written(at(other, "/comm"), "", 0));
    result("from nobody's", written(at(other, "/comm"), NOWHERE, 4));
    result("the process", written("/proc/self/comm", "conforming", 10));
    said(AT_FDCWD, at(pid, "/comm"), name, sizeof(name));
    text("is its first thread", name);
    sys(SYS_prctl, PR_GET_NAME, name);
    text("as prctl says", name);
    sys(SYS_prctl, PR_SET_NAME, "conform");
}

static void where_they_are(void)
{
    long folder = sys(SYS_open, at(tids[1], ""), O_RDONLY | O_DIRECTORY), file;
    char name[64], path[80];

    holds("opened", folder >= 0);
    said(folder, "comm", name, sizeof(name));
    text("from its folder", name);
    result("above it", sys(SYS_openat, folder, "../../comm", O_RDONLY) >= 0);
    snprintf(path, sizeof(path), "../%d/comm", tids[0]);
    result("beside it", said(folder, path, name, sizeof(name)));
    snprintf(path, sizeof(path), "/proc/self/fd/%ld/comm", folder);
    said(AT_FDCWD, path, name, sizeof(name));
    text("by its descriptor's link", name);
    result("into it", sys(SYS_chdir, at(tids[1], "")));
    said(AT_FDCWD, "comm", name, sizeof(name));
    text("from there", name);
    said(AT_FDCWD, "/proc/self/cwd/comm", name, sizeof(name));
    text("by the link to there", name);
    result("a name for it", sys(SYS_getcwd, path, sizeof(path)) > 0 && strstr(path, "/task/"));
    result("out of it", sys(SYS_chdir, "/"));
    result("into none", sys(SYS_chdir, "/proc/self/task/4194302"));
    result("is still there", sys(SYS_getcwd, path, sizeof(path)));
    file = sys(SYS_openat, folder, "comm", O_RDONLY);
    snprintf(name, sizeof(name), "/proc/self/fd/%ld", file);
    path[sys(SYS_readlink, name, path, sizeof(path) - 1)] = 0;
    snprintf(name, sizeof(name), "/task/%d/comm", tids[1]);
    holds("an open one's name", strstr(path, name));
    sys(SYS_close, file);
    sys(SYS_close, folder);
}

static void none(void)
{
    int pid = (int)sys(SYS_getpid);
    struct stat status;
    char path[80], name[32];

    result("no such thread", sys(SYS_stat, at(4194302, ""), &status));
    result("its name", said(AT_FDCWD, at(4194302, "/comm"), name, sizeof(name)));
    result("may it be read", sys(SYS_access, at(4194302, "/comm"), R_OK));
    result("a number too large", sys(SYS_stat, "/proc/self/task/4294967297", &status));
    snprintf(path, sizeof(path), "/proc/self/task/0%d", pid);
    result("with a zero before", sys(SYS_stat, path, &status));
    result("0", sys(SYS_stat, at(0, ""), &status));
    result("no number", sys(SYS_stat, "/proc/self/task/first", &status));
    result("no such file", sys(SYS_stat, at(pid, "/nothing"), &status));
    result("a folder as a file", sys(SYS_stat, at(pid, "/comm/x"), &status));
    holds("a new one", sys(SYS_mkdir, at(5, ""), 0755) < 0);
    holds("removed", sys(SYS_rmdir, at(pid, "")) < 0 && sys(SYS_unlink, at(pid, "/comm")) < 0);
    holds("renamed", sys(SYS_rename, at(pid, ""), "/tmp/x") < 0);
}

CONFORM(proc_threads)
{
    pthread_t threads[WORKERS], churner;
    char own[WORKERS + 1] = "", name[32];
    long folder, file;
    bool all = true;

    /* One pipe for both ways: a worker that has said its byte waits for the next. */
    int back[2];
    sys(SYS_pipe2, ends, 0);
    sys(SYS_pipe2, back, 0);
    int to_workers = ends[1];
    ends[1] = back[1];
    for (long i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    for (int i = 0; i < WORKERS; i++)
        sys(SYS_read, back[0], own + i, 1);
    text("/proc/thread-self of each", own);
    what_they_say();
    names();
    where_they_are();
    none();

    churning = true;
    pthread_create(&churner, NULL, churn, NULL);
    for (int i = 0; i < 200 && all; i++)
        all = listed_while_others_end(i % 2 ? 64 : 1024);
    holds("those that stay are listed while others come and go, and nobody twice", all);
    churning = false;
    pthread_join(churner, NULL);

    folder = sys(SYS_open, at(tids[2], ""), O_RDONLY | O_DIRECTORY);
    file = sys(SYS_open, at(tids[2], "/comm"), O_WRONLY);
    for (int i = 0; i < WORKERS; i++)
        sys(SYS_write, to_workers, ".", 1);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    /* Who joins it may be faster than the kernel is with its end. */
    for (int i = 0; i < 5000 && sys(SYS_access, at(tids[2], ""), F_OK) == 0; i++)
        rest_ms(1);
    result("a thread that has ended", sys(SYS_access, at(tids[2], ""), F_OK));
    result("from its folder then", said(folder, "comm", name, sizeof(name)));
    result("named then", sys(SYS_write, file, "late", 4));
}
