/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.c: the folders and files that tests of LMDB and libuv find where they are started, made there before
 * main(): they start in an empty folder, on a node and on Linux.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void file_made(const char *path, const char *text, size_t length)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    if (file < 0 || write(file, text, length) != (ssize_t)length)
        _exit(99);
    close(file);
}

__attribute__((constructor)) static void place_made(void)
{
    static const char text[] = "What a test copies, reads and watches.\n";

    mkdir("testdb", 0755);
    mkdir("test", 0755);
    mkdir("test/fixtures", 0755);
    file_made("test/fixtures/empty_file", "", 0);
    file_made("test/fixtures/load_error.node", text, sizeof text - 1);
    file_made("test/fixtures/lorem_ipsum.txt", text, sizeof text - 1);
}
