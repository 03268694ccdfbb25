/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epoch_file.c: see epoch_file.h.
 */
#include "service/conductor/epoch_file.h"
#include "service/conductor/state_file.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGITS 20

const char *epoch_file_read(const char *folder, uint64_t *epoch)
{
    char text[DIGITS + 2] = "";
    const int file = state_file_open(folder, "epoch");

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

const char *epoch_file_write(const char *folder, uint64_t epoch)
{
    char text[DIGITS + 2];

    snprintf(text, sizeof(text), "%0*" PRIu64 "\n", DIGITS, epoch);
    return state_file_replace(folder, "epoch", text, DIGITS + 1, 0644);
}
