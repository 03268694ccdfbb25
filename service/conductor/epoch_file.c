/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epoch_file.c: see epoch_file.h.
 */
#include "service/conductor/epoch_file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS 20

/* Opens the folder's file of this name. Returns -1 with errno. */
static int file_open(const char *folder, const char *name, int flags)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0644);
}

const char *epoch_file_read(const char *folder, uint64_t *epoch)
{
    char text[DIGITS + 2] = "";
    const int file = file_open(folder, "epoch", O_RDONLY);

    *epoch = 0;
    if (file < 0)
        return errno == ENOENT ? NULL : strerror(errno);
    const ssize_t bytes = read(file, text, sizeof(text));
    const int error = errno;
    close(file);
    if (bytes < 0)
        return strerror(error);
    if (bytes != DIGITS + 1 || strspn(text, "0123456789") != DIGITS || text[DIGITS] != '\n')
        return "damaged: it must be a number of 20 digits and a newline; remove it: then the nodes tell the "
               "conductor which epoch they follow";
    *epoch = strtoull(text, NULL, 10);
    return NULL;
}

/* Writes the text into a new file, and that to the disk. Returns 0, or -1 with errno. */
static int text_store(const char *folder, const char *text)
{
    const int file = file_open(folder, "epoch.new", O_WRONLY | O_CREAT | O_TRUNC);

    if (file < 0)
        return -1;
    ssize_t bytes = write(file, text, DIGITS + 1);
    if (bytes >= 0 && bytes != DIGITS + 1) {
        errno = ENOSPC;
        bytes = -1;
    }
    if (bytes >= 0 && fsync(file))
        bytes = -1;
    const int error = errno;
    close(file);
    errno = error;
    return bytes < 0 ? -1 : 0;
}

const char *epoch_file_write(const char *folder, uint64_t epoch)
{
    char text[DIGITS + 2];

    snprintf(text, sizeof(text), "%0*" PRIu64 "\n", DIGITS, epoch);
    if (mkdir(folder, 0755) && errno != EEXIST)
        return strerror(errno);
    const int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return strerror(errno);
    const bool is_stored = text_store(folder, text) == 0 &&
                           renameat(directory, "epoch.new", directory, "epoch") == 0 && fsync(directory) == 0;
    const int error = errno;
    close(directory);
    return is_stored ? NULL : strerror(error);
}
