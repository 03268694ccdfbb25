/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * state_file.c: see state_file.h. Writes FOLDER/NAME.new, then renames it.
 */
#include "service/conductor/state_file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int state_file_open(const char *folder, const char *name)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Writes all bytes into a new file, and that to the disk. Returns 0, or -1 with errno. */
static int bytes_store(int folder, const char *name, const char *bytes, size_t count, mode_t mode)
{
    if (unlinkat(folder, name, 0) && errno != ENOENT)
        return -1;
    const int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    ssize_t written = 0;

    if (file < 0)
        return -1;
    for (size_t done = 0; done < count && written >= 0; done += written > 0 ? (size_t)written : 0)
        written = write(file, bytes + done, count - done);
    if (written >= 0 && fsync(file))
        written = -1;
    const int error = errno;
    close(file);
    errno = error;
    return written < 0 ? -1 : 0;
}

const char *state_file_replace(const char *folder, const char *name, const char *bytes, size_t count,
                               mode_t mode)
{
    char fresh[NAME_MAX + 1];

    snprintf(fresh, sizeof(fresh), "%s.new", name);
    if (mkdir(folder, 0755) && errno != EEXIST)
        return strerror(errno);
    const int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return strerror(errno);
    const bool is_stored = bytes_store(directory, fresh, bytes, count, mode) == 0 &&
                           renameat(directory, fresh, directory, name) == 0 && fsync(directory) == 0;
    const int error = errno;
    close(directory);
    return is_stored ? NULL : strerror(error);
}
