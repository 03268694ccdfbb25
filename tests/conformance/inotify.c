/* SPDX-License-Identifier: BSD-2-Clause */
/* inotify.c: the events of files and folders that are watched, in their order. */
#include "conform.h"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>

#ifndef IN_MASK_CREATE
#define IN_MASK_CREATE 0x10000000
#endif

static const struct {
    uint32_t bit;
    const char *name;
} bits[] = {
    { IN_ACCESS, "ACCESS" },
    { IN_MODIFY, "MODIFY" },
    { IN_ATTRIB, "ATTRIB" },
    { IN_CLOSE_WRITE, "CLOSE_WRITE" },
    { IN_CLOSE_NOWRITE, "CLOSE_NOWRITE" },
    { IN_OPEN, "OPEN" },
    { IN_MOVED_FROM, "MOVED_FROM" },
    { IN_MOVED_TO, "MOVED_TO" },
    { IN_CREATE, "CREATE" },
    { IN_DELETE, "DELETE" },
    { IN_DELETE_SELF, "DELETE_SELF" },
    { IN_MOVE_SELF, "MOVE_SELF" },
    { IN_Q_OVERFLOW, "Q_OVERFLOW" },
    { IN_IGNORED, "IGNORED" },
    { IN_ISDIR, "ISDIR" },
};

/* Prints all events that there are, with their cookies as a, b, … */
static void printed(int queue, const char *what)
{
    char line[1000] = "", buffer[4096] __attribute__((aligned(8)));
    uint32_t first_cookie = 0;
    size_t used = 0;
    long bytes;

    while ((bytes = sys(SYS_read, queue, buffer, sizeof(buffer))) > 0)
        for (char *at = buffer; at < buffer + bytes;) {
            const struct inotify_event *event = (void *)at;

            at += sizeof(*event) + event->len;
            used += (size_t)snprintf(line + used, sizeof(line) - used, " %d", event->wd);
            for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
                if (event->mask & bits[i].bit)
                    used += (size_t)snprintf(line + used, sizeof(line) - used, " %s", bits[i].name);
            if (event->cookie && !first_cookie)
                first_cookie = event->cookie;
            if (event->cookie)
                used +=
                    (size_t)snprintf(line + used, sizeof(line) - used, " #%u", event->cookie - first_cookie);
            if (event->len)
                used += (size_t)snprintf(line + used, sizeof(line) - used, " %s/%u", event->name, event->len);
            used += (size_t)snprintf(line + used, sizeof(line) - used, ",");
        }
    text(what, line);
}

static long watch(int queue, const char *path, uint32_t mask)
{
    return sys(SYS_inotify_add_watch, queue, path, mask);
}

static void files(int queue)
{
    struct timespec times[2] = { { 1, 0 }, { 2, 0 } };
    char byte;

    result("a folder", watch(queue, ".", IN_ALL_EVENTS));
    int file = file_made("a", "abc");
    printed(queue, "created and written");
    sys(SYS_lseek, file, 0, SEEK_SET);
    sys(SYS_read, file, &byte, 1);
    sys(SYS_read, file, &byte, 1);
    sys(SYS_pread64, file, &byte, 1, 100);
    printed(queue, "read twice, and at the end");
    sys(SYS_pwrite64, file, "x", 1, 1);
    sys(SYS_ftruncate, file, 2);
    sys(SYS_truncate, "a", 1);
    sys(SYS_write, file, "x", 0);
    printed(queue, "written, truncated");
    sys(SYS_close, file);
    printed(queue, "closed");
    file = (int)sys(SYS_open, "a", O_RDONLY);
    sys(SYS_close, sys(SYS_dup, file));
    sys(SYS_close, file);
    printed(queue, "opened to read, closed twice");
    sys(SYS_close, sys(SYS_open, "a", O_WRONLY | O_TRUNC));
    printed(queue, "opened to truncate");
    sys(SYS_close, sys(SYS_open, "a", O_PATH));
    printed(queue, "only named");
    sys(SYS_chmod, "a", 0600);
    sys(SYS_utimensat, AT_FDCWD, "a", times, 0);
    times[0].tv_nsec = UTIME_OMIT;
    sys(SYS_utimensat, AT_FDCWD, "a", times, 0);
    printed(queue, "attributes");
    struct stat status;
    stat("a", &status);
    printed(queue, "its status");
}

static void names(int queue)
{
    result("a file in it", watch(queue, "a", IN_ALL_EVENTS));
    sys(SYS_link, "a", "b");
    printed(queue, "linked");
    sys(SYS_unlink, "b");
    printed(queue, "unlinked");
    sys(SYS_symlink, "a", "c");
    sys(SYS_mkdir, "d", 0755);
    printed(queue, "a link, a folder");
    sys(SYS_rename, "a", "e");
    printed(queue, "renamed");
    sys(SYS_rename, "e", "d/e");
    printed(queue, "into a folder that is not watched");
    result("that folder", watch(queue, "d", IN_ALL_EVENTS | IN_ONLYDIR));
    sys(SYS_rename, "d/e", "a");
    printed(queue, "back, now it is");
    sys(SYS_close, file_made("f", ""));
    printed(queue, "another file");
    sys(SYS_rename, "f", "a");
    printed(queue, "renamed over the watched one");
    sys(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "d", 2);
    printed(queue, "exchanged");
    sys(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "d", 2);
    printed(queue, "exchanged again");
    int folder = (int)sys(SYS_open, "d", O_RDONLY | O_DIRECTORY);
    char list[512];
    sys(SYS_getdents64, folder, list, sizeof(list));
    sys(SYS_close, folder);
    printed(queue, "listed");
    sys(SYS_rmdir, "d");
    printed(queue, "the folder removed");
    sys(SYS_unlink, "c");
    sys(SYS_unlink, "a");
    printed(queue, "all removed");
}

static void ends(int queue)
{
    int file = file_made("open", "abc");

    printed(queue, "a file that stays open");
    long number = watch(queue, "open", IN_ALL_EVENTS);
    sys(SYS_unlink, "open");
    printed(queue, "removed while open");
    sys(SYS_close, file);
    printed(queue, "and closed");
    result("it is gone", sys(SYS_inotify_rm_watch, queue, number));
    number = watch(queue, "/tmp", IN_CREATE | IN_ONESHOT);
    sys(SYS_mkdir, "/tmp/inotify2", 0755);
    sys(SYS_mkdir, "/tmp/inotify3", 0755);
    printed(queue, "once");
    result("gone, too", sys(SYS_inotify_rm_watch, queue, number));
    number = watch(queue, "/tmp/inotify2", IN_CREATE);
    holds("changed: the same number", watch(queue, "/tmp/inotify2", IN_DELETE) == number);
    sys(SYS_mkdir, "/tmp/inotify2/a", 0755);
    printed(queue, "not asked for any more");
    watch(queue, "/tmp/inotify2", IN_CREATE | IN_MASK_ADD);
    sys(SYS_mkdir, "/tmp/inotify2/b", 0755);
    sys(SYS_rmdir, "/tmp/inotify2/a");
    printed(queue, "added");
    result("there must be none", watch(queue, "/tmp/inotify2", IN_CREATE | IN_MASK_CREATE));
    result("removed", sys(SYS_inotify_rm_watch, queue, number));
    printed(queue, "its last event");
    result("once more", sys(SYS_inotify_rm_watch, queue, number));
}

static void *later_mkdir(void *unused)
{
    (void)unused;
    rest_ms(3);
    sys(SYS_mkdir, "later", 0755);
    return NULL;
}

static void waits(void)
{
    int queue = (int)sys(SYS_inotify_init1, IN_CLOEXEC), set = (int)sys(SYS_epoll_create1, 0), unread = -1;
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    char buffer[64] __attribute__((aligned(8)));
    pthread_t thread;

    watch(queue, ".", IN_CREATE | IN_DELETE);
    pthread_create(&thread, NULL, later_mkdir, NULL);
    result("read until it is made", sys(SYS_read, queue, buffer, sizeof(buffer)));
    pthread_join(thread, NULL);
    sys(SYS_rmdir, "later");
    sys(SYS_read, queue, buffer, sizeof(buffer));
    sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, queue, &event);
    result("no edge", sys(SYS_epoll_pwait, set, &event, 1, 0, NULL, SIGSET_BYTES));
    pthread_create(&thread, NULL, later_mkdir, NULL);
    result("an edge", sys(SYS_epoll_pwait, set, &event, 1, -1, NULL, SIGSET_BYTES));
    pthread_join(thread, NULL);
    result("no other", sys(SYS_epoll_pwait, set, &event, 1, 0, NULL, SIGSET_BYTES));
    result("FIONREAD", sys(SYS_ioctl, queue, FIONREAD, &unread));
    result("bytes", unread);
    sys(SYS_rmdir, "later");
    result("another", sys(SYS_epoll_pwait, set, &event, 1, 0, NULL, SIGSET_BYTES));
    result("too little room", sys(SYS_read, queue, buffer, 31));
    result("room for one", sys(SYS_read, queue, buffer, 63));
    result("the other", sys(SYS_read, queue, buffer, 64));
    result("its flags", sys(SYS_fcntl, queue, F_GETFL) & ~O_LARGEFILE);
    result("closed on exec", sys(SYS_fcntl, queue, F_GETFD));
}

/* Nobody reads: equal events are one, and at some time there are no more. */
static void overflow(void)
{
    int queue = (int)sys(SYS_inotify_init1, IN_NONBLOCK), file = file_made("full", "");
    char buffer[65536] __attribute__((aligned(8)));
    uint32_t last = 0;
    int count = 0;
    long bytes;

    watch(queue, "full", IN_MODIFY | IN_ATTRIB);
    for (int i = 0; i < 100; i++)
        sys(SYS_pwrite64, file, "x", 1, 0);
    printed(queue, "a hundred equal events");
    for (int i = 0; i < 20000; i++) {
        sys(SYS_pwrite64, file, "x", 1, 0);
        sys(SYS_fchmod, file, 0600);
    }
    while ((bytes = sys(SYS_read, queue, buffer, sizeof(buffer))) > 0)
        for (char *at = buffer; at < buffer + bytes; count++) {
            last = ((struct inotify_event *)(void *)at)->mask;
            at += sizeof(struct inotify_event) + ((struct inotify_event *)(void *)at)->len;
        }
    holds("too many", count > 1000 && count < 40000 && last == IN_Q_OVERFLOW);
    sys(SYS_fchmod, file, 0600);
    printed(queue, "and then again");
    sys(SYS_close, file);
}

CONFORM(inotify)
{
    int queue = (int)sys(SYS_inotify_init1, IN_NONBLOCK);
    char name[64] = "";

    result("made", queue);
    if (queue < 0 || !in_tmp())
        return;
    files(queue);
    names(queue);
    ends(queue);
    result("none", sys(SYS_read, queue, name, sizeof(name)));
    result("write", sys(SYS_write, queue, "", 1));
    sys(SYS_readlink, "/proc/self/fd/3", name, sizeof(name) - 1);
    text("where the link leads", name);
    result("not a folder", watch(queue, TEXT, IN_OPEN | IN_ONLYDIR));
    result("a file that nobody writes", watch(queue, TEXT, IN_OPEN) > 0);
    result("no such file", watch(queue, "none", IN_OPEN));
    result("no event", watch(queue, ".", 0));
    result("at nobody's", watch(queue, NOWHERE, IN_OPEN));
    result("to what is none", watch(0, ".", IN_OPEN));
    result("to a closed one", watch(40, ".", IN_OPEN));
    result("both", watch(queue, ".", IN_OPEN | IN_MASK_ADD | IN_MASK_CREATE));
    result("removed from what is none", sys(SYS_inotify_rm_watch, 0, 1));
    result("no such watch", sys(SYS_inotify_rm_watch, queue, 1000));
    result("no such flag", sys(SYS_inotify_init1, 1));
    sys(SYS_close, queue);
    waits();
    overflow();
}
