/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * directories.c [FOLDER]: a call costs hardly more in a directory with 20,000 files than with 1,000: making a
 * file, finding it, reading past it, removing it. Costs are compared only if TACET_RANK says that this is a
 * node, whose clock counts instructions.
 */
#include "clock.h"
#include "promise.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define FILES 20000
#define BATCH 500

static const char *name_of(int number)
{
    static char name[32];

    snprintf(name, sizeof(name), "file-%d", number);
    return name;
}

static void make(int number)
{
    int file = open(name_of(number), O_CREAT | O_EXCL | O_WRONLY, 0600);

    PROMISE(file >= 0, "%d: %s", number, strerror(errno));
    close(file);
}

static void find(int number)
{
    struct stat status;

    IS(stat(name_of(number), &status), 0);
}

static void discard(int number)
{
    IS(unlink(name_of(number)), 0);
}

/* Returns the ns for each file of a batch that begins with `first`. */
static double batch(void (*change)(int number), int first)
{
    uint64_t begin_ns = now_ns();

    for (int i = first; i < first + BATCH; i++)
        change(i);
    return (double)(now_ns() - begin_ns) / BATCH;
}

/* Returns the ns for each entry of a listing, which must have every file once. */
static double listing(int files)
{
    static unsigned char met[FILES];
    uint64_t begin_ns = now_ns();
    DIR *directory = opendir(".");
    struct dirent *entry;
    int count = 0, number;

    memset(met, 0, sizeof(met));
    while (directory && (entry = readdir(directory)))
        if (sscanf(entry->d_name, "file-%d", &number) == 1 && number < FILES)
            count += !met[number]++;
    closedir(directory);
    PROMISE(count == files, "%d of %d files are listed", count, files);
    return (double)(now_ns() - begin_ns) / files;
}

static void compare(const char *what, double few, double many)
{
    printf("%s: %.0f ns among 1,000, %.0f ns among 20,000\n", what, few, many);
    if (getenv("TACET_RANK"))
        PROMISE(many < 2 * few, "%s: %.0f ns among 20,000, %.0f among 1,000", what, many, few);
}

/* Reads a directory while files come and go: every file that stays must be listed. */
static void changing(void)
{
    DIR *directory = opendir(".");
    struct dirent *entry;
    int odd = 0, number;

    while ((entry = readdir(directory)))
        if (sscanf(entry->d_name, "file-%d", &number) == 1) {
            odd += number % 2;
            if (number % 2 == 0)
                discard(number);
        }
    closedir(directory);
    PROMISE(odd == FILES / 2, "%d files that stay are met", odd);
}

int main(int count, char **arguments)
{
    double make_few, find_few, list_few, discard_few;
    char folder[256];

    snprintf(folder, sizeof(folder), "%s/directories-%d", count > 1 ? arguments[1] : "/tmp", getpid());
    IS(mkdir(folder, 0700), 0);
    IS(chdir(folder), 0);
    for (int i = 0; i < 1000; i++)
        make(i);
    find_few = batch(find, 0);
    list_few = listing(1000);
    discard_few = batch(discard, 0);
    make_few = batch(make, 0);
    for (int i = 1000; i < FILES - BATCH; i++)
        make(i);
    compare("make", make_few, batch(make, FILES - BATCH));
    compare("find", find_few, batch(find, FILES / 2));
    compare("list", list_few, listing(FILES));
    compare("remove", discard_few, batch(discard, FILES / 2));
    batch(make, FILES / 2);
    changing();
    for (int i = 1; i < FILES; i += 2)
        discard(i);
    IS(rmdir(folder), 0);
    return promises_kept();
}
