/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cgroup.c: a job's control group (launchd.h), cgroups(7) version 2: a folder in the group of tacet-launchd
 * itself, which needs no controllers. Linux kills all processes of a group at once (cgroup.kill, Linux 5.14),
 * also those that keep starting others. The folder's name has the job's number and tacet-launchd's PID, so
 * that the next tacet-launchd can end what a killed one has left.
 */
#include "service/launchd/launchd.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME         "tacet-job-%u-%d"
#define REMOVE_TRIES 100
#define REMOVE_US    1000 /* a group stays busy for a moment after its last process was waited for */

static char own[PATH_MAX];         /* the group of this process; "": there is none that can be used */
static char of_job[PATH_MAX + 64]; /* "": there is no job */
static int procs = -1;             /* its cgroup.procs, for the ranks */

/* Reads the path of this process's group. Returns false if it has none of version 2. */
static bool path_read(char path[PATH_MAX])
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    bool is_found = false;
    char line[PATH_MAX + 8];

    while (file && !is_found && fgets(line, sizeof(line), file))
        is_found = sscanf(line, "0::%4095[^\n]", path) == 1;
    if (file)
        fclose(file);
    return is_found;
}

/* Writes the folder of the group with this path. A mount may show a part of all groups, from `root` on. */
static bool folder_find(const char *path)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[2 * PATH_MAX + 256], root[PATH_MAX], place[PATH_MAX];
    bool is_found = false;

    while (file && !is_found && fgets(line, sizeof(line), file)) {
        if (!strstr(line, " - cgroup2 ") || sscanf(line, "%*s %*s %*s %4095s %4095s", root, place) != 2)
            continue;
        const size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
        is_found = strncmp(path, root, length) == 0 && (path[length] == '/' || !path[length]) &&
                   snprintf(own, sizeof(own), "%s%s", place, path + length) < (int)sizeof(own);
    }
    if (file)
        fclose(file);
    if (!is_found)
        own[0] = '\0';
    return is_found;
}

static bool group_write(const char *group, const char *name, const char *text)
{
    char path[PATH_MAX + 128];

    snprintf(path, sizeof(path), "%s/%s", group, name);
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    const bool is_done = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        close(file);
    return is_done;
}

static void group_remove(const char *group)
{
    for (unsigned i = 0; i < REMOVE_TRIES && rmdir(group) && errno == EBUSY; i++)
        usleep(REMOVE_US);
}

static void group_end(const char *group)
{
    group_write(group, "cgroup.kill", "1");
    group_remove(group);
}

static void folder_remove(const char *folder)
{
    rmdir(folder); /* if the job has left files, it stays */
}

/* Ends what jobs of earlier tacet-launchds have left in a folder, which were killed: entries whose names have
 * this form, with the job's number and a PID that no process has. */
static void leavings_end(const char *place, const char *form, void (*end)(const char *path))
{
    DIR *folder = opendir(place);
    char path[PATH_MAX + 300];
    const struct dirent *entry;
    unsigned job;
    int pid;

    while (folder && (entry = readdir(folder))) {
        if (sscanf(entry->d_name, form, &job, &pid) != 2 || kill(pid, 0) == 0 || errno != ESRCH)
            continue;
        snprintf(path, sizeof(path), "%s/%s", place, entry->d_name);
        end(path);
    }
    if (folder)
        closedir(folder);
}

const char *cgroup_find(void)
{
    char path[PATH_MAX];
    const char *why;

    const bool is_found = path_read(path) && folder_find(path);
    if (is_found)
        leavings_end(own, NAME, group_end);
    leavings_end(JOB_FOLDERS, JOB_FOLDER, folder_remove);
    if (!is_found)
        return "no cgroup v2 is mounted";
    why = cgroup_make(0) ? NULL : strerror(errno);
    cgroup_remove();
    if (why)
        own[0] = '\0';
    return why;
}

bool cgroup_make(uint32_t job)
{
    char path[PATH_MAX + 128];

    if (!own[0])
        return true;
    snprintf(of_job, sizeof(of_job), "%s/" NAME, own, job, (int)getpid());
    if (mkdir(of_job, 0755)) {
        of_job[0] = '\0';
        return false;
    }
    snprintf(path, sizeof(path), "%s/cgroup.kill", of_job);
    if (access(path, W_OK))
        return false;
    snprintf(path, sizeof(path), "%s/cgroup.procs", of_job);
    procs = open(path, O_WRONLY | O_CLOEXEC);
    return procs >= 0;
}

bool cgroup_join(void)
{
    return procs < 0 || write(procs, "0", 1) == 1;
}

bool cgroup_kill(void)
{
    return of_job[0] && group_write(of_job, "cgroup.kill", "1");
}

void cgroup_remove(void)
{
    if (procs >= 0)
        close(procs);
    procs = -1;
    if (of_job[0])
        group_remove(of_job);
    of_job[0] = '\0';
}
