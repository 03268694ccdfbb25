/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key_file.c: see key_file.h.
 */
#include "service/lib/key_file.h"
#include "lib/bytes.h"
#include "service/lib/say.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_BYTES 256 /* more than any file of keys has */

#define MASTER_WRONG "it must hold 32 hexadecimal digits, as `openssl rand -hex 16` prints"
#define NODE_WRONG                                                                                        \
    "it must hold two lines, `beats` and `ticket`, each with 32 hexadecimal digits, as `conductorctl key" \
    " NODE` prints"

const char *key_file_check(int file)
{
    struct stat status;

    if (fstat(file, &status))
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "it is not a regular file";
    if (status.st_mode & 077)
        return "other users can read or write it; chmod 600 it";
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return "another user owns it, neither root nor the one that runs this";
    return NULL;
}

/* Reads a file without the ends of its last line. Returns NULL, or what is wrong with it. */
static const char *text_load(const char *path, char text[TEXT_BYTES])
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (file < 0)
        return strerror(errno);
    const char *why = key_file_check(file);
    const ssize_t taken = why ? 0 : read(file, text, TEXT_BYTES - 1);
    if (taken < 0)
        why = strerror(errno);
    close(file);
    if (why)
        return why;
    size_t bytes = (size_t)taken;
    while (bytes > 0 && (text[bytes - 1] == '\n' || text[bytes - 1] == '\r'))
        bytes--;
    text[bytes] = '\0';
    return bytes ? NULL : "it is empty";
}

const char *key_file_load(const char *path, uint8_t key[KEY_BYTES])
{
    char text[TEXT_BYTES];
    const char *why = text_load(path, text);

    if (why)
        return why;
    return hexadecimal_read(text, key, KEY_BYTES) ? NULL : MASTER_WRONG;
}

const char *key_file_load_identity(const char *path, uint8_t secret[IDENTITY_BYTES])
{
    char text[TEXT_BYTES];
    const char *why = text_load(path, text);

    if (why)
        return why;
    return hexadecimal_read(text, secret, IDENTITY_BYTES)
               ? NULL
               : "it must hold 64 hexadecimal digits, as `openssl rand -hex 32` prints";
}

/* Reads the line NAME KEY at *at, which is moved past it. */
static bool line_read(char **at, const char *name, uint8_t key[KEY_BYTES])
{
    char *line = strsep(at, "\n");
    const size_t length = strlen(name);

    if (!line || strncmp(line, name, length) != 0 || line[length] != ' ')
        return false;
    line[strcspn(line, "\r")] = '\0';
    return hexadecimal_read(line + length + 1, key, KEY_BYTES);
}

const char *key_file_load_node(const char *path, struct node_keys *keys)
{
    char text[TEXT_BYTES], *at = text;
    struct node_keys read;
    const char *why = text_load(path, text);

    if (why)
        return why;
    if (!line_read(&at, "beats", read.beats) || !line_read(&at, "ticket", read.ticket) || at)
        return NODE_WRONG;
    *keys = read;
    return NULL;
}

static void give_up_if(const char *path, const char *why, int failed)
{
    if (why)
        give_up(failed, "the key %s: %s", path, why);
}

void key_file_read(const char *path, uint8_t key[KEY_BYTES], int failed)
{
    give_up_if(path, key_file_load(path, key), failed);
}

void key_file_read_node(const char *path, struct node_keys *keys, int failed)
{
    give_up_if(path, key_file_load_node(path, keys), failed);
}
