/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descendants.c: see descendants.h. A scan of /proc is not atomic: the next scan finds what one has missed.
 */
#include "service/lib/descendants.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOKS_MAX 64 /* scans in one call */

/* State, parent, and the 22nd field: when it started. */
#define STAT_AFTER_NAME " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu"

struct seen {
    pid_t pid, parent;
    unsigned long long started; /* with the PID this is unique */
    bool is_ours, has_ended;
};

static struct seen *table; /* kept for the next scan */
static size_t room;

int descendants_adopt(void)
{
    return access("/proc/self/stat", R_OK) || prctl(PR_SET_CHILD_SUBREAPER, 1) ? -1 : 0;
}

/* Reads /proc/PID/stat. The process's name is in parentheses and may contain any byte; state and parent
 * follow the last ')'. */
static bool process_read(const char *name, struct seen *seen)
{
    char path[64], text[1024];

    snprintf(path, sizeof(path), "/proc/%.20s/stat", name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    const ssize_t bytes = read(file, text, sizeof(text) - 1);
    close(file);
    text[bytes < 0 ? 0 : bytes] = '\0';
    const char *end = strrchr(text, ')');
    char state;
    int parent;
    unsigned long long started;
    if (!end || sscanf(end + 1, STAT_AFTER_NAME, &state, &parent, &started) != 3)
        return false;
    *seen = (struct seen){
        .pid = (pid_t)atol(name), .parent = parent, .started = started, .has_ended = strchr("ZX", state)
    };
    return true;
}

static size_t look(void)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    size_t count = 0;

    while (folder && (entry = readdir(folder))) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        if (count == room) {
            struct seen *larger = realloc(table, (room + 256) * sizeof(*table));

            if (!larger)
                break;
            table = larger;
            room += 256;
        }
        count += process_read(entry->d_name, &table[count]);
    }
    if (folder)
        closedir(folder);
    return count;
}

static bool is_ours(pid_t pid, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (table[i].pid == pid)
            return table[i].is_ours;
    return false;
}

/* Marks this process's children, then all whose parent is marked, until nothing changes. */
static void mark(size_t count)
{
    const pid_t self = getpid();
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t i = 0; i < count; i++)
            if (!table[i].is_ours && (table[i].parent == self || is_ours(table[i].parent, count)))
                table[i].is_ours = changed = true;
    }
}

/* Sends a signal to the process that was seen, and to no later one of the same PID. */
static void signal_send(const struct seen *seen, int number)
{
    const int process = (int)syscall(SYS_pidfd_open, seen->pid, 0);
    struct seen now;
    char name[24];

    if (process < 0 && errno == ENOSYS) /* before Linux 5.3 */
        kill(seen->pid, number);
    if (process < 0)
        return;
    snprintf(name, sizeof(name), "%d", (int)seen->pid);
    if (process_read(name, &now) && now.started == seen->started)
        syscall(SYS_pidfd_send_signal, process, number, NULL, 0);
    close(process);
}

/* Processes that have got the signal. A child's PID is not reused before the child is waited for. */
struct signalled {
    pid_t *pids;
    size_t count;
};

static bool has_it(const struct signalled *signalled, pid_t pid)
{
    for (size_t i = 0; i < signalled->count; i++)
        if (signalled->pids[i] == pid)
            return true;
    return false;
}

static bool signal_new(struct signalled *signalled, const struct seen *seen, int number)
{
    pid_t *larger = realloc(signalled->pids, (signalled->count + 1) * sizeof(pid_t));

    signal_send(seen, number);
    if (!larger)
        return false;
    signalled->pids = larger;
    larger[signalled->count++] = seen->pid;
    return true;
}

void descendants_signal(int number)
{
    struct signalled signalled = { 0 };
    bool found = true;

    for (unsigned looks = 0; found && looks < LOOKS_MAX; looks++) {
        const size_t count = look();

        mark(count);
        found = false;
        for (size_t i = 0; i < count; i++)
            if (table[i].is_ours && !table[i].has_ended && !has_it(&signalled, table[i].pid))
                found |= signal_new(&signalled, &table[i], number);
    }
    free(signalled.pids);
}

bool descendants_others(bool (*is_known)(pid_t pid))
{
    const size_t count = look();

    for (size_t i = 0; i < count; i++)
        if (table[i].parent == getpid() && !table[i].has_ended && !is_known(table[i].pid))
            return true;
    return false;
}
