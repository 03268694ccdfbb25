/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files.c: files that can be written, as on Linux, where this program holds as well (but for the read-only
 * part of a node). It works in a directory of its own in the one that its first argument names.
 */
#define _GNU_SOURCE
#include "promise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static int make(const char *path, const char *text)
{
    int file = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);

    IS(write(file, text, strlen(text)), (ssize_t)strlen(text));
    return file;
}

static void make_closed(const char *path, const char *text)
{
    close(make(path, text));
}

static int holds(const char *path, const char *text)
{
    char bytes[256] = "";
    int file = open(path, O_RDONLY);
    ssize_t got = read(file, bytes, sizeof(bytes) - 1);

    close(file);
    return got == (ssize_t)strlen(text) && memcmp(bytes, text, (size_t)got) == 0;
}

static struct stat status(const char *path)
{
    struct stat answer = { 0 };

    IS(lstat(path, &answer), 0);
    return answer;
}

static void creation(void)
{
    int file = open("new", O_CREAT | O_EXCL | O_WRONLY, 0666);

    PROMISE(file >= 0, "errno %d", errno);
    FAILS(open("new", O_CREAT | O_EXCL | O_RDWR, 0666), EEXIST);
    PROMISE((status("new").st_mode & 0777) == 0644, "the mask is 022: %o", status("new").st_mode);
    FAILS(read(file, &file, 1), EBADF);
    IS(write(file, "abc", 3), 3);
    close(file);
    file = open("new", O_RDONLY);
    FAILS(write(file, "x", 1), EBADF);
    FAILS(ftruncate(file, 1), EINVAL);
    close(file);
    IS(open("new", O_CREAT | O_TRUNC, 0), file);
    close(file);
    PROMISE(status("new").st_size == 0, "cut");
    FAILS(open("none/new", O_CREAT | O_RDWR, 0644), ENOENT);
    FAILS(open("new/x", O_CREAT | O_RDWR, 0644), ENOTDIR);
    FAILS(open("slash/", O_CREAT | O_RDWR, 0644), EISDIR);
    FAILS(open(".", O_RDWR), EISDIR);
    IS(umask(077), 022);
    make_closed("narrow", "");
    PROMISE((status("narrow").st_mode & 0777) == 0600, "mode %o", status("narrow").st_mode);
    IS(umask(022), 077);
    IS(symlink("through", "dangling"), 0);
    FAILS(open("dangling", O_CREAT | O_EXCL | O_RDWR, 0644), EEXIST);
    FAILS(open("dangling", O_RDONLY), ENOENT);
    make_closed("dangling", "made through a link");
    PROMISE(holds("through", "made through a link"), "where the link leads");
}

static void contents(void)
{
    char bytes[64];
    int file = make("contents", "0123456789"), appends;

    IS(pwrite(file, "AB", 2, 3), 2);
    IS(pread(file, bytes, 20, 2), 8);
    PROMISE(memcmp(bytes, "2AB56789", 8) == 0, "%.8s", bytes);
    IS(lseek(file, 0, SEEK_CUR), 10);
    IS(lseek(file, 100, SEEK_SET), 100);
    IS(write(file, "end", 3), 3);
    IS(pread(file, bytes, 5, 98), 5);
    PROMISE(memcmp(bytes, "\0\0end", 5) == 0, "what was jumped over is zero");
    IS(lseek(file, -1, SEEK_END), 102);
    FAILS(lseek(file, -200, SEEK_CUR), EINVAL);
    IS(read(file, bytes, 9), 1);
    IS(read(file, bytes, 9), 0);
    IS(ftruncate(file, 5), 0);
    IS(ftruncate(file, 9), 0);
    IS(pread(file, bytes, 20, 0), 9);
    PROMISE(memcmp(bytes, "012AB\0\0\0\0", 9) == 0, "what was cut off is zero");
    FAILS(ftruncate(file, -1), EINVAL);
    IS(truncate("contents", 3), 0);
    PROMISE(holds("contents", "012"), "cut by its name");
    FAILS(truncate(".", 3), EISDIR);
    FAILS(truncate("nowhere", 3), ENOENT);
    IS(fallocate(file, 0, 0, 10010), 0);
    PROMISE(status("contents").st_size == 10010 && status("contents").st_blocks >= 20, "blocks %ld",
            (long)status("contents").st_blocks);
    IS(fsync(file), 0);
    IS(fdatasync(file), 0);

    struct iovec parts[3] = { { "one ", 4 }, { NULL, 0 }, { "two", 3 } };
    IS(ftruncate(file, 0), 0);
    IS(pwritev(file, parts, 3, 2), 7);
    parts[0] = (struct iovec){ bytes, 5 };
    parts[2] = (struct iovec){ bytes + 5, 20 };
    IS(preadv(file, parts, 3, 0), 9);
    PROMISE(memcmp(bytes, "\0\0one two", 9) == 0, "vectors");

    appends = open("contents", O_WRONLY | O_APPEND);
    IS(write(appends, "+", 1), 1);
    IS(lseek(appends, 0, SEEK_SET), 0);
    IS(write(appends, "+", 1), 1);
    IS(lseek(appends, 0, SEEK_CUR), 11);
    IS(pwrite(appends, "p", 1, 0), 1); /* Linux appends here, too */
    IS(pread(file, bytes, 20, 8), 4);
    PROMISE(memcmp(bytes, "o++p", 4) == 0, "%.4s", bytes);
    FAILS(write(file, (void *)8, 5), EFAULT);
    FAILS(pread(file, (void *)8, 5, 0), EFAULT);
    FAILS(pwrite(file, "x", 1, -1), EINVAL);
    close(appends);
    close(file);
}

static void large(void)
{
    enum { WORDS = 1 << 17, ROUNDS = 5 };
    uint64_t *words = malloc(WORDS * sizeof(*words)), wrong = 0;
    int file = make("large", "");

    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint64_t i = 0; i < WORDS; i++)
            words[i] = (i + round * WORDS) * 0x9e3779b97f4a7c15;
        IS(write(file, words, WORDS * sizeof(*words)), WORDS * (ssize_t)sizeof(*words));
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        IS(pread(file, words, WORDS * sizeof(*words), (off_t)(round * WORDS * sizeof(*words))),
           WORDS * (ssize_t)sizeof(*words));
        for (uint64_t i = 0; i < WORDS; i++)
            wrong += words[i] != (i + round * WORDS) * 0x9e3779b97f4a7c15;
    }
    PROMISE(wrong == 0, "%lu words differ", (unsigned long)wrong);
    const uint64_t *mapped = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE, file, 1 << 20);
    PROMISE(mapped != MAP_FAILED && mapped[7] == (WORDS + 7) * 0x9e3779b97f4a7c15, "a copy of it in memory");
    munmap((void *)(uintptr_t)mapped, 1 << 20);
    close(file);
    IS(unlink("large"), 0);
    free(words);
}

/* Writes and removes more than a node's memory: the memory of removed files is free again. */
static void reuse(void)
{
    static char block[1 << 20];

    for (int round = 0; round < 100; round++) {
        int file = make("reused", "");
        ssize_t put = 0;

        for (int i = 0; i < 8; i++)
            put += write(file, block, sizeof(block));
        if (put != 8 << 20)
            PROMISE(put == 8 << 20, "round %d: %zd bytes, errno %d", round, put, errno);
        if (round % 2)
            IS(ftruncate(file, 0), 0);
        unlink("reused");
        close(file);
    }
    for (int round = 0; round < 3000; round++) {
        char name[300];

        memset(name, 'n', sizeof(name));
        name[1 + round % 255] = '\0';
        if (mkdir(name, 0755) || rmdir(name))
            PROMISE(0, "round %d: errno %d", round, errno);
    }
}

static void removal(void)
{
    char bytes[8];
    int file = make("removed", "still here");

    IS(unlink("removed"), 0);
    FAILS(unlink("removed"), ENOENT);
    FAILS(open("removed", O_RDONLY), ENOENT);
    IS(pread(file, bytes, 5, 0), 5);
    PROMISE(memcmp(bytes, "still", 5) == 0, "open files live on");
    struct stat answer;
    IS(fstat(file, &answer), 0);
    PROMISE(answer.st_nlink == 0 && answer.st_size == 10, "links %lu", (unsigned long)answer.st_nlink);
    close(file);
    IS(mkdir("dir", 0755), 0);
    FAILS(mkdir("dir", 0755), EEXIST);
    FAILS(unlink("dir"), EISDIR);
    make_closed("dir/file", "");
    FAILS(rmdir("dir"), ENOTEMPTY);
    FAILS(rmdir("dir/file"), ENOTDIR);
    FAILS(unlink("dir/file/"), ENOTDIR);
    FAILS(rmdir("dir/."), EINVAL);
    FAILS(rmdir("dir/.."), ENOTEMPTY);
    IS(unlink("dir/file"), 0);
    IS(symlink("dir", "to_dir"), 0);
    FAILS(rmdir("to_dir"), ENOTDIR);
    IS(unlink("to_dir"), 0);
    int directory = open("dir", O_RDONLY | O_DIRECTORY);
    IS(rmdir("dir"), 0);
    FAILS(openat(directory, "x", O_CREAT | O_RDWR, 0644), ENOENT);
    FAILS(mkdirat(directory, "x", 0755), ENOENT);
    close(directory);
    FAILS(mkdir("no/where", 0755), ENOENT);
    IS(mkdir("slash/", 0755), 0);
    IS(rmdir("slash/"), 0);
    FAILS(mkdir(".", 0755), EEXIST);
    FAILS(unlink(""), ENOENT);
}

static void renaming(void)
{
    make_closed("a", "from a");
    make_closed("b", "from b");
    IS(rename("a", "b"), 0);
    PROMISE(holds("b", "from a") && access("a", F_OK), "replaced");
    FAILS(rename("a", "b"), ENOENT);
    IS(rename("b", "b"), 0);
    IS(link("b", "c"), 0);
    IS(rename("b", "c"), 0); /* one file: nothing happens */
    PROMISE(holds("b", "from a") && holds("c", "from a"), "both names stay");
    IS(mkdir("d1", 0755), 0);
    IS(mkdir("d2", 0755), 0);
    make_closed("d1/x", "x");
    FAILS(rename("b", "d1"), EISDIR);
    FAILS(rename("d1", "b"), ENOTDIR);
    FAILS(rename("d2", "d1"), ENOTEMPTY);
    FAILS(rename("d1", "d1/inner"), EINVAL);
    FAILS(rename("d1/x", "d1"), ENOTEMPTY);
    FAILS(rename("b", "b2/"), ENOTDIR);
    FAILS(rename("d1/.", "d3"), EBUSY);
    FAILS(rename("d1", "d2/.."), EBUSY);
    IS(rename("d1", "d2"), 0);
    PROMISE(holds("d2/x", "x"), "an empty directory is replaced");
    IS(rename("d2", "d3/"), 0);
    IS(mkdir("d4", 0755), 0);
    IS(rename("d3", "d4/d3"), 0);
    PROMISE(holds("d4/d3/x", "x") && holds("d4/d3/../d3/x", "x"), "moved");
    PROMISE(status("d4").st_nlink == 3 && status("d4/d3").st_nlink == 2, "links");
    FAILS(syscall(SYS_renameat2, AT_FDCWD, "b", AT_FDCWD, "c", 1), EEXIST);
    IS(syscall(SYS_renameat2, AT_FDCWD, "b", AT_FDCWD, "e", 1), 0);
    int directory = open("d4", O_RDONLY);
    IS(renameat(AT_FDCWD, "e", directory, "e"), 0);
    PROMISE(holds("d4/e", "from a"), "from one directory to another");
    close(directory);
    IS(unlink("d4/d3/x"), 0);
    IS(rmdir("d4/d3"), 0);
    IS(unlink("d4/e"), 0);
    IS(rmdir("d4"), 0);
    IS(unlink("c"), 0);
}

static void linking(void)
{
    char target[PATH_MAX], text[PATH_MAX];

    make_closed("one", "text");
    IS(link("one", "two"), 0);
    PROMISE(status("one").st_nlink == 2 && status("one").st_ino == status("two").st_ino, "two names");
    int file = open("two", O_WRONLY | O_APPEND);
    IS(write(file, "!", 1), 1);
    close(file);
    PROMISE(holds("one", "text!"), "one file");
    FAILS(link("one", "two"), EEXIST);
    FAILS(link("none", "three"), ENOENT);
    FAILS(link(".", "three"), EPERM);
    IS(unlink("one"), 0);
    PROMISE(status("two").st_nlink == 1 && holds("two", "text!"), "one name left");
    IS(symlink("two", "soft"), 0);
    PROMISE(holds("soft", "text!"), "followed");
    IS(link("soft", "soft2"), 0);
    PROMISE(S_ISLNK(status("soft2").st_mode), "a link is not followed to be linked");
    IS(linkat(AT_FDCWD, "soft", AT_FDCWD, "hard", AT_SYMLINK_FOLLOW), 0);
    PROMISE(S_ISREG(status("hard").st_mode), "but on demand");
    FAILS(symlink("x", "soft"), EEXIST);
    FAILS(symlink("", "empty"), ENOENT);
    memset(target, 't', sizeof(target));
    for (int i = 100; i < PATH_MAX; i += 100)
        target[i] = '/';
    target[PATH_MAX - 1] = '\0';
    IS(symlink(target, "long"), 0);
    IS(readlink("long", text, sizeof(text)), PATH_MAX - 1);
    PROMISE(memcmp(text, target, PATH_MAX - 1) == 0, "a target of 4095 bytes");
    IS(readlink("long", text, 10), 10);
    FAILS(readlink("two", text, 10), EINVAL);
    IS(symlink("loop2", "loop1"), 0);
    IS(symlink("loop1", "loop2"), 0);
    FAILS(open("loop1", O_RDONLY), ELOOP);
    FAILS(open("soft", O_RDONLY | O_NOFOLLOW), ELOOP);
    memset(text, 'n', 256);
    text[255] = '\0';
    make_closed(text, "a name of 255 bytes");
    IS(unlink(text), 0);
    text[255] = 'n';
    text[256] = '\0';
    FAILS(open(text, O_CREAT | O_RDWR, 0644), ENAMETOOLONG);
    FAILS(mkdir(text, 0755), ENAMETOOLONG);
    memset(text, '/', sizeof(text));
    FAILS(open(text, O_RDONLY), ENAMETOOLONG);
}

static void directories(void)
{
    char start[PATH_MAX], here[PATH_MAX], name[300];
    unsigned seen = 0, wrong = 0;
    DIR *directory;

    IS(mkdir("many", 0755), 0);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "many/%d", i);
        make_closed(name, "");
    }
    directory = opendir("many");
    for (struct dirent *entry; (entry = readdir(directory));) {
        wrong += entry->d_type != (entry->d_name[0] == '.' ? DT_DIR : DT_REG);
        if (entry->d_name[0] == '.')
            continue;
        seen++;
        snprintf(name, sizeof(name), "many/%s", entry->d_name);
        wrong += unlink(name) != 0; /* while it is read */
    }
    closedir(directory);
    PROMISE(seen == 300 && wrong == 0, "%u seen, %u wrong", seen, wrong);
    IS(rmdir("many"), 0);

    PROMISE(getcwd(start, sizeof(start)), "errno %d", errno);
    memset(name, 'd', 31);
    name[31] = '\0';
    for (int i = 0; i < 40; i++) {
        IS(mkdir(name, 0755), 0);
        IS(chdir(name), 0);
    }
    PROMISE(getcwd(here, sizeof(here)) && strlen(here) == strlen(start) + 40 * 32, "%zu", strlen(here));
    FAILS(syscall(SYS_getcwd, here, 100), ERANGE);
    for (int i = 0; i < 40; i++) {
        IS(chdir(".."), 0);
        IS(rmdir(name), 0);
    }
    PROMISE(getcwd(here, sizeof(here)) && strcmp(here, start) == 0, "%s", here);
    int file = open(".", O_RDONLY);
    IS(mkdir("left", 0755), 0);
    IS(chdir("left"), 0);
    IS(rmdir("../left"), 0);
    FAILS(syscall(SYS_getcwd, here, sizeof(here)), ENOENT);
    FAILS(open("x", O_CREAT | O_RDWR, 0644), ENOENT);
    IS(fchdir(file), 0);
    PROMISE(getcwd(here, sizeof(here)) && strcmp(here, start) == 0, "%s", here);
    close(file);
    file = make("plain", "");
    FAILS(fchdir(file), ENOTDIR);
    FAILS(chdir("plain"), ENOTDIR);
    close(file);
}

static void attributes(void)
{
    struct timespec times[2] = { { 1000000000, 123456789 }, { -5, 7 } };
    int file = make("attributes", "x");
    time_t now = time(NULL);
    struct stat answer = status("attributes");

    PROMISE(answer.st_mtime >= now - 2 && answer.st_mtime <= now + 2, "made now: %ld", (long)answer.st_mtime);
    IS(chmod("attributes", 0751), 0);
    IS(fchmod(file, 04640), 0);
    PROMISE((status("attributes").st_mode & 07777) == 04640, "%o", status("attributes").st_mode);
    IS(utimensat(AT_FDCWD, "attributes", times, 0), 0);
    answer = status("attributes");
    PROMISE(answer.st_atim.tv_sec == 1000000000 && answer.st_atim.tv_nsec == 123456789 &&
                answer.st_mtim.tv_sec == -5 && answer.st_mtim.tv_nsec == 7,
            "%ld.%ld %ld.%ld", (long)answer.st_atim.tv_sec, answer.st_atim.tv_nsec,
            (long)answer.st_mtim.tv_sec, answer.st_mtim.tv_nsec);
    times[0].tv_nsec = UTIME_OMIT;
    times[1].tv_nsec = UTIME_NOW;
    IS(futimens(file, times), 0);
    answer = status("attributes");
    PROMISE(answer.st_atim.tv_sec == 1000000000 && answer.st_mtim.tv_sec >= now - 2, "one left, one now");
    times[0].tv_nsec = 1000000000;
    FAILS(utimensat(AT_FDCWD, "attributes", times, 0), EINVAL);
    struct utimbuf seconds = { 7, 8 };
    IS(utime("attributes", &seconds), 0);
    PROMISE(status("attributes").st_mtime == 8, "utime");
    IS(write(file, "y", 1), 1);
    PROMISE(status("attributes").st_mtime >= now - 2, "writing is a modification");
    if (geteuid() == 0) {
        IS(chown("attributes", 3, 4), 0);
        IS(chown("attributes", (uid_t)-1, 5), 0);
        PROMISE(status("attributes").st_uid == 3 && status("attributes").st_gid == 5, "owners");
    }
    IS(access("attributes", R_OK | W_OK), 0);
    FAILS(access("nothing", F_OK), ENOENT);
    struct statfs space;
    IS(statfs(".", &space), 0);
    IS(fstatfs(file, &space), 0);
    PROMISE(space.f_bsize > 0 && space.f_blocks >= space.f_bfree && space.f_namelen == 255, "space");
    close(file);
}

static int lock(int file, int command, short type, off_t start, off_t bytes)
{
    struct flock requested = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = bytes };

    return fcntl(file, command, &requested);
}

static void locks(void)
{
    int file = make("locks", "0123456789"), other = open("locks", O_RDWR), reads = open("locks", O_RDONLY);
    struct flock answer = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    /* A process is in no conflict with itself; open files are. */
    IS(lock(file, F_SETLK, F_WRLCK, 0, 5), 0);
    IS(lock(other, F_SETLK, F_RDLCK, 2, 5), 0);
    FAILS(lock(reads, F_SETLK, F_WRLCK, 0, 1), EBADF);
    FAILS(lock(file, F_SETLK, 9, 0, 1), EINVAL);
    FAILS(lock(file, F_SETLK, F_WRLCK, -5, 1), EINVAL);
    FAILS(lock(other, F_OFD_SETLK, F_WRLCK, 0, 1), EAGAIN);
    IS(lock(other, F_OFD_SETLK, F_RDLCK, 3, 1), 0); /* along with another reader */
    IS(fcntl(other, F_OFD_GETLK, &answer), 0);
    PROMISE(answer.l_type == F_WRLCK && answer.l_start == 0 && answer.l_len == 2 && answer.l_pid == getpid(),
            "type %d start %ld bytes %ld", answer.l_type, (long)answer.l_start, (long)answer.l_len);
    close(reads); /* all of the process's locks go; those of the open file stay */
    answer = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
    IS(fcntl(file, F_GETLK, &answer), 0);
    PROMISE(answer.l_type == F_RDLCK && answer.l_start == 3 && answer.l_len == 1 && answer.l_pid == -1,
            "type %d start %ld pid %d", answer.l_type, (long)answer.l_start, answer.l_pid);
    FAILS(lock(file, F_SETLK, F_WRLCK, 0, 0), EAGAIN);
    IS(lock(other, F_OFD_SETLK, F_UNLCK, 0, 0), 0);
    IS(lock(file, F_SETLKW, F_WRLCK, 0, 0), 0);
    IS(lock(file, F_SETLK, F_UNLCK, 3, 2), 0); /* cut in two */
    IS(lock(other, F_OFD_SETLK, F_WRLCK, 3, 2), 0);
    FAILS(lock(other, F_OFD_SETLK, F_WRLCK, 5, 1), EAGAIN);
    IS(flock(file, LOCK_EX), 0); /* another domain */
    FAILS(flock(other, LOCK_SH | LOCK_NB), EWOULDBLOCK);
    IS(flock(file, LOCK_SH), 0);
    IS(flock(other, LOCK_SH | LOCK_NB), 0);
    FAILS(flock(other, LOCK_EX | LOCK_NB), EWOULDBLOCK);
    close(file);
    IS(flock(other, LOCK_EX | LOCK_NB), 0);
    close(other);
}

static void unnamed(void)
{
    char byte = 0;
    struct stat answer;
    int file = memfd_create("name", MFD_CLOEXEC);

    PROMISE(file >= 0 && fcntl(file, F_GETFD) == FD_CLOEXEC, "errno %d", errno);
    IS(ftruncate(file, 100000), 0);
    IS(pwrite(file, "z", 1, 99999), 1);
    IS(pread(file, &byte, 1, 99999), 1);
    IS(fstat(file, &answer), 0);
    PROMISE(byte == 'z' && answer.st_size == 100000 && answer.st_nlink == 0 && S_ISREG(answer.st_mode),
            "links %lu", (unsigned long)answer.st_nlink);
    IS(fcntl(file, F_GET_SEALS), F_SEAL_SEAL);
    FAILS(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
    FAILS(memfd_create("x", 0x4000), EINVAL);
    close(file);
    /* Ranks share /dev/shm and come here at the same time: each has a name of its own. */
    char name[32];
    snprintf(name, sizeof(name), "/tacet-test-%d", getpid());
    int shared = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    PROMISE(shared >= 0, "errno %d", errno);
    IS(ftruncate(shared, 4096), 0);
    IS(shm_unlink(name), 0);
    close(shared);
}

static void read_only(void)
{
    struct statfs space;

    FAILS(open("/new", O_CREAT | O_RDWR, 0644), EROFS);
    FAILS(open("/proc/self/exe", O_RDWR), EROFS);
    FAILS(mkdir("/new", 0755), EROFS);
    FAILS(mkdir("/dev", 0755), EEXIST);
    FAILS(unlink("/proc/self/exe"), EROFS);
    FAILS(rmdir("/dev"), EROFS);
    FAILS(rmdir("/tmp"), EBUSY);
    FAILS(chmod("/dev", 0700), EROFS);
    FAILS(symlink("x", "/y"), EROFS);
    make_closed("here", "");
    FAILS(rename("here", "/there"), EXDEV);
    FAILS(link("here", "/there"), EXDEV);
    FAILS(access("/", W_OK), EROFS);
    IS(statfs("/", &space), 0);
    PROMISE(space.f_blocks == 0, "no blocks at all");
}

static void exhaustion(void)
{
    int file = make("full", "");
    static char block[1 << 20];
    ssize_t put = 0;

    while ((put = write(file, block, sizeof(block))) > 0)
        ;
    PROMISE(put == -1 && errno == ENOSPC, "errno %d", errno);
    FAILS(ftruncate(file, 1L << 40), ENOSPC);
    IS(ftruncate(file, 0), 0);
    void *memory = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    PROMISE(memory != MAP_FAILED, "it is all there again: errno %d", errno);
    close(file);
    unlink("full");
}

static void remove_all(const char *path)
{
    DIR *directory = opendir(path);
    char inner[PATH_MAX + 300];

    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (unlink(inner))
            remove_all(inner);
    }
    closedir(directory);
    rmdir(path);
}

int main(int count, char **arguments)
{
    const char *rank = getenv("TACET_RANK");
    char own[PATH_MAX];

    umask(022);
    snprintf(own, sizeof(own), "%s/files-%s-%d", count > 1 ? arguments[1] : "/tmp", rank ? rank : "linux",
             getpid());
    IS(mkdir(own, 0755), 0);
    IS(chdir(own), 0);
    creation();
    contents();
    large();
    reuse();
    removal();
    renaming();
    linking();
    directories();
    attributes();
    locks();
    unnamed();
    if (rank) {
        read_only();
        exhaustion();
    }
    IS(chdir("/"), 0);
    remove_all(own);
    FAILS(access(own, F_OK), ENOENT);
    return promises_kept();
}
