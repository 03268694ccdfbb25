/* SPDX-License-Identifier: BSD-2-Clause */
/* probed.c: calls that programs try, and the errno after which they go on; files that mknod makes. */
#include "conform.h"

#ifdef SYS_sync_file_range2
#define SYNC_RANGE(fd, offset, bytes, flags) sys(SYS_sync_file_range2, fd, flags, offset, bytes)
#else
#define SYNC_RANGE(fd, offset, bytes, flags) sys(SYS_sync_file_range, fd, offset, bytes, flags)
#endif

static void attributes(int file)
{
    char value[8];

    result("setxattr", sys(SYS_setxattr, "f", "user.a", "b", 1, 0));
    result("of nothing", sys(SYS_setxattr, "none", "user.a", "b", 1, 0));
    result("lsetxattr of a dangling link", sys(SYS_lsetxattr, "link", "user.a", "b", 1, 0) == 0);
    result("getxattr", sys(SYS_getxattr, "f", "user.a", value, 8));
    result("getxattr of nothing", sys(SYS_getxattr, "none", "user.a", value, 8));
    result("lgetxattr", sys(SYS_lgetxattr, "f", "user.a", value, 8));
    result("fgetxattr", sys(SYS_fgetxattr, file, "user.a", value, 8));
    result("fgetxattr of no descriptor", sys(SYS_fgetxattr, 40, "user.a", value, 8));
    result("fsetxattr", sys(SYS_fsetxattr, file, "user.a", "b", 1, 0));
    result("listxattr of nothing", sys(SYS_listxattr, "none", value, 8));
    result("flistxattr of no descriptor", sys(SYS_flistxattr, 40, value, 8));
    result("removexattr", sys(SYS_removexattr, "f", "user.a"));
    result("fremovexattr", sys(SYS_fremovexattr, file, "user.a"));
    result("lremovexattr of nothing", sys(SYS_lremovexattr, "none", "user.a"));
}

static void ranges(int file)
{
    int ends[2];

    result("sync_file_range", SYNC_RANGE(file, 0, 4096, 2));
    result("of all", SYNC_RANGE(file, 0, 0, 7));
    result("no such flag", SYNC_RANGE(file, 0, 0, 8));
    result("from before the start", SYNC_RANGE(file, -1, 1, 2));
    result("of less than nothing", SYNC_RANGE(file, 0, -1, 2));
    result("beyond the last byte", SYNC_RANGE(file, INT64_MAX, 1, 2));
    result("of no descriptor", SYNC_RANGE(40, 0, 0, 2));
    sys(SYS_pipe2, ends, 0);
    result("of a pipe", SYNC_RANGE(ends[0], 0, 0, 2));
    result("of a device", SYNC_RANGE(0, 0, 0, 2));
    result("splice without a pipe", sys(SYS_splice, file, NULL, 0, NULL, 8, 0));
    result("tee without a pipe", sys(SYS_tee, file, 0, 8, 0));
}

static void made(void)
{
    struct stat status;

    result("mknod of a file", sys(SYS_mknodat, AT_FDCWD, "r", S_IFREG | 0640, 0));
    sys(SYS_openat, AT_FDCWD, "r", O_RDWR);
    result("its size", fstatat(AT_FDCWD, "r", &status, 0) ? -1 : (long)status.st_size);
    result("its mode", (long)status.st_mode);
    result("again", sys(SYS_mknodat, AT_FDCWD, "r", S_IFREG | 0600, 0));
    result("without a type", sys(SYS_mknod, "plain", 0600, 0));
    result("where there is no folder", sys(SYS_mknod, "none/r", 0600, 0));
    result("a folder", sys(SYS_mknod, "folder", S_IFDIR | 0700, 0));
    result("a link", sys(SYS_mknod, "other", S_IFLNK | 0700, 0));
    result("no such type", sys(SYS_mknod, "other", 0170000 | 0700, 0));
    result("its umask", fstatat(AT_FDCWD, "plain", &status, 0) ? -1 : (long)status.st_mode);
}

CONFORM(probed)
{
    int file;

    if (!in_tmp())
        return;
    file = file_made("f", "text");
    symlink("none", "link");
    attributes(file);
    ranges(file);
    made();
    result("openat2", sys(SYS_openat2, AT_FDCWD, "none", NULL, 0) < 0);
    result("execve of what is not there", sys(SYS_execve, "none", NULL, NULL));
    result("execve of what is no program", sys(SYS_execve, "f", NULL, NULL));
}
