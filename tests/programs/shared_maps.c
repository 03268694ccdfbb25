/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shared_maps.c: ranks that map one file of /dev/shm see each other's writes, at once and without a call; so
 * do read and write. With an argument it then touches the page after the file's end, which is SIGBUS.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  MACHINE_PAGE
#define BYTES (5UL << 20) /* large pages and small ones */
#define OTHER ((void *)0x300000000000)
#define WORD  1000000 /* in the middle; one a rank from here on */
#define MINE  (77U + rank)

static unsigned rank, size = 1;

static unsigned from_environment(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);

    return text ? (unsigned)atoi(text) : otherwise;
}

static void everybody_s_word_arrives(volatile unsigned *shared)
{
    shared[WORD + rank] = MINE;
    for (unsigned other = 0; other < size; other++) {
        for (int i = 0; i < 20000 && shared[WORD + other] != 77U + other; i++) /* the rank may begin late */
            usleep(1000);
        PROMISE(shared[WORD + other] == 77U + other, "rank %u's: %u", other, shared[WORD + other]);
    }
}

static void a_read_only_descriptor_gives_no_more(int file)
{
    unsigned *seen = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, file, 0);
    unsigned *copy = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);

    PROMISE(seen[WORD + rank] == MINE, "%u", seen[WORD + rank]);
    PROMISE(mprotect(seen, PAGE, PROT_READ | PROT_WRITE) == -1 && errno == EACCES, "%s", strerror(errno));
    PROMISE(mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED && errno == EACCES, "%s",
            strerror(errno));
    PROMISE(copy[WORD + rank] == MINE, "%u", copy[WORD + rank]);
    copy[WORD + rank] = 1;
    PROMISE(seen[WORD + rank] == MINE, "a private copy is not");
    munmap(seen, BYTES);
    munmap(copy, BYTES);
}

/* Writes and runs code as just-in-time compilers with W^X do. */
static void code_written_through_one_mapping_runs_through_another(int file)
{
    static const unsigned char code[] = MACHINE_RETURN_42;
    char *written = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *executed = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    int (*function)(void) = (int (*)(void))executed;

    PROMISE(written != MAP_FAILED && executed != MAP_FAILED, "%s", strerror(errno));
    memcpy(written, code, sizeof(code)); /* the same for each rank */
    __builtin___clear_cache(executed, executed + sizeof(code));
    PROMISE(function() == 42, "it does not run");
    munmap(written, PAGE);
    munmap(executed, PAGE);
}

int main(int count, char **arguments)
{
    (void)arguments;
    rank = from_environment("TACET_RANK", 0);
    size = from_environment("TACET_SIZE", 1);

    unsigned long before = free_memory();
    int file = open("/dev/shm/shared_maps", O_RDWR | O_CREAT, 0600);
    PROMISE(file >= 0 && ftruncate(file, BYTES) == 0, "%s", strerror(errno));
    char *first = mmap(NULL, BYTES + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    PROMISE(first != MAP_FAILED, "%s", strerror(errno));
    everybody_s_word_arrives((volatile unsigned *)first);

    unsigned word = 0;
    PROMISE(pread(file, &word, sizeof(word), (off_t)sizeof(word) * (WORD + rank)) == sizeof(word) &&
                word == MINE,
            "%u", word);
    PROMISE(madvise(first, BYTES, MADV_DONTNEED) == 0 && ((unsigned *)first)[WORD + rank] == MINE,
            "the file's bytes stay");
    char *moved = mremap(first, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, OTHER);
    PROMISE(moved == OTHER && ((unsigned *)moved)[WORD + rank] == MINE, "%s", strerror(errno));

    code_written_through_one_mapping_runs_through_another(file);

    int reading = open("/dev/shm/shared_maps", O_RDONLY);
    a_read_only_descriptor_gives_no_more(reading);
    close(reading);
    if (count > 1)
        return ((volatile char *)first)[BYTES];
    munmap(moved, BYTES);
    munmap(first + BYTES, PAGE);
    close(file);
    if (size == 1) {
        unlink("/dev/shm/shared_maps");
        PROMISE(before - free_memory() <= 6 * PAGE, "%lu bytes are missing", before - free_memory());
    }
    return promises_kept();
}
