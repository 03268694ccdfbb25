/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * users.c UID GID [GROUP ...]: the job belongs to this user, group and supplementary groups, as all calls
 * say; they restrict nothing, and cannot be changed. Where there is /mnt, makes a file there.
 */
#define _GNU_SOURCE
#include "promise.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void ids_are(uid_t uid, gid_t gid)
{
    uid_t users[3];
    gid_t groups[3];

    PROMISE(getuid() == uid && geteuid() == uid, "user %u", getuid());
    PROMISE(getgid() == gid && getegid() == gid, "group %u", getgid());
    IS(getresuid(&users[0], &users[1], &users[2]), 0);
    PROMISE(users[0] == uid && users[1] == uid && users[2] == uid, "user %u", users[0]);
    IS(getresgid(&groups[0], &groups[1], &groups[2]), 0);
    PROMISE(groups[0] == gid && groups[1] == gid && groups[2] == gid, "group %u", groups[0]);
    PROMISE(getauxval(AT_UID) == uid && getauxval(AT_EUID) == uid, "AT_UID %lu", getauxval(AT_UID));
    PROMISE(getauxval(AT_GID) == gid && getauxval(AT_EGID) == gid, "AT_GID %lu", getauxval(AT_GID));
    PROMISE((uid_t)syscall(SYS_setfsuid, -1) == uid, "setfsuid");
    PROMISE((gid_t)syscall(SYS_setfsgid, -1) == gid, "setfsgid");
}

/* Tries to become another user, by system calls: the library would ask other threads as well. */
static void ids_stay(uid_t uid, gid_t gid)
{
    const uid_t other = uid ? uid - 1 : 1;

    IS(syscall(SYS_setuid, uid), 0);
    IS(syscall(SYS_setgid, gid), 0);
    IS(syscall(SYS_setresuid, uid, -1, uid), 0);
    IS(syscall(SYS_setresgid, -1, gid, -1), 0);
    IS(syscall(SYS_setreuid, uid, uid), 0);
    FAILS(syscall(SYS_setuid, other), EPERM);
    FAILS(syscall(SYS_setuid, uid ? 0 : 1), EPERM);
    FAILS(syscall(SYS_setgid, (gid ? gid - 1 : 1)), EPERM);
    FAILS(syscall(SYS_setresuid, uid, other, uid), EPERM);
    FAILS(syscall(SYS_setresgid, gid, gid, (gid ? gid - 1 : 1)), EPERM);
    FAILS(syscall(SYS_setreuid, -1, other), EPERM);
    FAILS(syscall(SYS_setuid, -1), EINVAL);
    FAILS(syscall(SYS_setgroups, 1, &gid), EPERM);
    if (uid)
        FAILS(syscall(SYS_setgroups, 0, NULL), EPERM);
    else
        IS(syscall(SYS_setgroups, 0, NULL), 0);
}

/* Capabilities are those of the user, and stay: root has all. */
static void capabilities_are(uid_t uid)
{
    uint32_t header[2] = { 0x20080522, 0 }, sets[6]; /* capget(2) */

    IS(syscall(SYS_capget, header, sets), 0);
    for (int i = 0; i < 6; i++)
        PROMISE((sets[i] != 0) == (uid == 0 && i % 3 < 2), "capabilities %u", sets[i]);
    IS(syscall(SYS_capset, header, sets), 0);
    sets[0] ^= 1;
    FAILS(syscall(SYS_capset, header, sets), EPERM);
}

static void groups_are(int count, char **numbers)
{
    gid_t groups[300];

    IS(getgroups(0, NULL), count);
    IS(getgroups(300, groups), count);
    for (int i = 0; i < count; i++)
        PROMISE(groups[i] == strtoul(numbers[i], NULL, 10), "group %u", groups[i]);
    FAILS(syscall(SYS_getgroups, -1, groups), EINVAL);
    if (count > 1)
        FAILS(syscall(SYS_getgroups, count - 1, groups), EINVAL);
    if (count)
        FAILS(syscall(SYS_getgroups, 300, (void *)1), EFAULT);
}

static void file_is_own(const char *path, uid_t uid, gid_t gid)
{
    const int file = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
    struct stat status;

    PROMISE(file >= 0, "%s: errno %d", path, errno);
    IS(fstat(file, &status), 0);
    PROMISE(status.st_uid == uid && status.st_gid == gid, "%s: %u %u", path, status.st_uid, status.st_gid);
    close(file);
}

static void sockets_say(uid_t uid, gid_t gid)
{
    struct ucred who = { 0 };
    socklen_t bytes = sizeof(who);
    int ends[2];

    IS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    IS(getsockopt(ends[0], SOL_SOCKET, SO_PEERCRED, &who, &bytes), 0);
    PROMISE(who.pid == getpid() && who.uid == uid && who.gid == gid, "peer %u %u", who.uid, who.gid);
}

/* Looks the user and the groups up in /etc, which has names for them. */
static void names_are_there(uid_t uid, gid_t gid, int count, char **numbers)
{
    const struct passwd *user = getpwuid(uid);
    const struct group *first = getgrgid(gid);

    PROMISE(user && user->pw_uid == uid && user->pw_gid == gid && user->pw_dir[0] == '/', "user %u", uid);
    PROMISE(user && !strcmp(user->pw_name, uid ? "user" : "root"), "user %u", uid);
    PROMISE(first && !strcmp(first->gr_name, gid ? "user" : "root"), "group %u", gid);
    for (int i = 0; i < count; i++)
        PROMISE(getgrgid((gid_t)strtoul(numbers[i], NULL, 10)), "group %s", numbers[i]);
    PROMISE(getpwnam("root") && !getpwnam("nobody"), "names");
}

/* Does what Linux keeps for root. */
static void nothing_is_restricted(void)
{
    IS(setpriority(PRIO_PROCESS, 0, -5), 0);
    IS(mlockall(MCL_CURRENT), 0);
    const int low = socket(AF_INET, SOCK_STREAM, 0);
    const struct sockaddr_in port = { .sin_family = AF_INET, .sin_port = htons(80) };

    IS(bind(low, (const struct sockaddr *)&port, sizeof(port)), 0);
    close(low);
}

int main(int count, char **words)
{
    const uid_t uid = (uid_t)strtoul(words[1], NULL, 10);
    const gid_t gid = (gid_t)strtoul(words[2], NULL, 10);

    ids_are(uid, gid);
    groups_are(count - 3, words + 3);
    capabilities_are(uid);
    ids_stay(uid, gid);
    ids_are(uid, gid);
    file_is_own("/tmp/own", uid, gid);
    file_is_own("/dev/shm/own", uid, gid);
    IS(mkdir("/tmp/folder", 0700), 0);
    sockets_say(uid, gid);
    names_are_there(uid, gid, count - 3, words + 3);
    nothing_is_restricted();
    if (access("/mnt", F_OK) == 0) {
        const int file = open("/mnt/made", O_CREAT | O_WRONLY, 0600);

        printf("/mnt/made: %s\n", file < 0 ? strerror(errno) : "made");
    }
    return promises_kept();
}
