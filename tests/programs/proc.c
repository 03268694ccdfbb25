/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.c: checks that /proc and /sys tell the truth about the process, its memory and its CPUs. Run as `proc
 * one "two words" ""`.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char text[1 << 20];

/* Reads a whole file, NUL-terminated; returns its length, or -1. */
static ssize_t file_read(const char *path)
{
    int file = open(path, O_RDONLY);
    ssize_t got, all = 0;

    text[0] = 0;
    if (file < 0)
        return -1;
    while ((got = read(file, text + all, sizeof(text) - 1 - (size_t)all)) > 0)
        all += got;
    close(file);
    text[all] = 0;
    return all;
}

/* Returns the target of a descriptor's link; "" if there is none. */
static const char *link_of(int descriptor)
{
    static char target[256];
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
    ssize_t bytes = readlink(path, target, sizeof(target) - 1);
    target[bytes < 0 ? 0 : bytes] = 0;
    return target;
}

/* ---- Memory ---- */

/* Returns whether a line of the maps covers `address` with these rights and this word at its end. */
static int maps_has(const void *address, const char *rights, const char *name)
{
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        unsigned long start, end, offset, inode;
        char found[8], path[256] = "", device[16];

        if (sscanf(line, "%lx-%lx %7s %lx %15s %lu %255[^\n]", &start, &end, found, &offset, device, &inode,
                   path) < 6)
            return 0;
        if ((unsigned long)address >= start && (unsigned long)address < end)
            return !strcmp(found, rights) && strstr(path, name);
    }
    return 0;
}

static void maps_list_every_range(void)
{
    const size_t page = MACHINE_PAGE, pages = 500;
    static int data = 1;
    char *many = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned wrong = 0;

    PROMISE(many != MAP_FAILED, "memory");
    for (size_t i = 0; i < pages; i += 2)
        mprotect(many + i * page, page, PROT_READ);
    ssize_t bytes = file_read("/proc/self/maps");
    PROMISE(bytes > 16384, "a long file: %ld bytes", (long)bytes);
    for (size_t i = 0; i < pages; i++)
        wrong += !maps_has(many + i * page, i % 2 ? "rw-p" : "r--p", "");
    PROMISE(wrong == 0, "%u of %zu pages", wrong, pages);
    PROMISE(maps_has((void *)(uintptr_t)maps_list_every_range, "r-xp", "/"), "code");
    PROMISE(maps_has(&data, "rw-p", "/"), "data");
    PROMISE(maps_has(&wrong, "rw-p", "[stack]"), "the stack");
    PROMISE(maps_has((void *)getauxval(AT_SYSINFO_EHDR), "r-xp", "[vdso]"), "the vDSO");
    munmap(many, pages * page);

    /* glibc reads it to find the main thread's stack. */
    pthread_attr_t attributes;
    void *stack;
    size_t stack_bytes;
    PROMISE(pthread_getattr_np(pthread_self(), &attributes) == 0, "the main thread's attributes");
    pthread_attr_getstack(&attributes, &stack, &stack_bytes);
    PROMISE((char *)&stack >= (char *)stack && (char *)&stack < (char *)stack + stack_bytes,
            "its stack at %p", stack);
}

static unsigned long meminfo(const char *name)
{
    unsigned long kib = 0;

    file_read("/proc/meminfo");
    char *line = strstr(text, name);
    if (line)
        sscanf(line + strlen(name), ": %lu kB", &kib);
    return kib;
}

static void memory_is_the_process_s_own(void)
{
    const size_t bytes = 16 << 20;
    /* Tables may be taken or be given back, too. */
    unsigned long before = meminfo("MemFree");
    void *taken = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long after = meminfo("MemFree"), available = meminfo("MemAvailable");

    PROMISE(taken != MAP_FAILED && before - after + 64 >= bytes / 1024 && before - after <= bytes / 1024 + 64,
            "%lu KiB less", before - after);
    PROMISE(available == after && meminfo("MemTotal") > after, "%lu KiB available", available);
    PROMISE(meminfo("MemTotal") == (unsigned long)sysconf(_SC_PHYS_PAGES) * (MACHINE_PAGE / 1024),
            "as sysinfo says");
    for (int i = 0; i < 2; i++) {
        struct rlimit limit = { 0, 0 };
        PROMISE(getrlimit(i ? RLIMIT_AS : RLIMIT_DATA, &limit) == 0 &&
                    limit.rlim_cur == meminfo("MemTotal") * 1024,
                "%lu", (unsigned long)limit.rlim_cur);
    }
    munmap(taken, bytes);
}

/* Returns the sum of the numbers after a word in the text. */
static unsigned long sum_of(const char *word)
{
    unsigned long sum = 0;

    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        sum += strtoul(at + strlen(word), NULL, 10);
    return sum;
}

/* Compares sums. The program has one thread and changes nothing meanwhile but the files' own memory. */
static void files_about_memory_agree(void)
{
    void *unusable = mmap(NULL, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int file = open("/dev/shm/proc", O_RDWR | O_CREAT, 0600);

    PROMISE(ftruncate(file, 256 << 10) == 0 &&
                mmap(NULL, 256 << 10, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) != MAP_FAILED,
            "a shared mapping");
    file_read("/proc/self/status");
    unsigned long resident = sum_of("VmRSS:\t");
    PROMISE(file_read("/proc/self/smaps") > 0 && sum_of("\nRss: ") == resident, "%lu of %lu KiB",
            sum_of("\nRss: "), resident);
    PROMISE(sum_of("\nShared_Dirty: ") == 256 && sum_of("\nSize: ") > resident + 65536, "shared: %lu KiB",
            sum_of("\nShared_Dirty: "));
    PROMISE(file_read("/proc/self/smaps_rollup") > 0 && strstr(text, "[rollup]") &&
                sum_of("\nRss: ") == resident,
            "%s", text);
    PROMISE(file_read("/proc/self/numa_maps") > 0 && sum_of(" N0=") * (MACHINE_PAGE / 1024) == resident,
            "%lu pages", sum_of(" N0="));
    munmap(unusable, 64 << 20);
    close(file);
    unlink("/dev/shm/proc");
}

/* ---- The process ---- */

static void names_are_the_process_s(int count, char **arguments)
{
    static char expected[4096];
    size_t bytes = 0;
    char path[64];

    for (int i = 0; i < count; i++)
        bytes += (size_t)sprintf(expected + bytes, "%s", arguments[i]) + 1;
    PROMISE(file_read("/proc/self/cmdline") == (ssize_t)bytes && memcmp(text, expected, bytes) == 0,
            "cmdline: %s", text);
    snprintf(path, sizeof(path), "/proc/%d/cmdline", getpid());
    PROMISE(file_read(path) == (ssize_t)bytes && memcmp(text, expected, bytes) == 0, "%s: %s", path, text);
    PROMISE(arguments[count - 1] > arguments[0] && arguments[1] == arguments[0] + strlen(arguments[0]) + 1,
            "one after the other");
    PROMISE(file_read("/proc/31999/cmdline") == -1 && errno == ENOENT, "nobody else");
    snprintf(path, sizeof(path), "/proc/%d9/cmdline", getpid());
    PROMISE(file_read(path) == -1 && errno == ENOENT, "nor %s", path);
    arguments[0][0] = 'X';
    PROMISE(file_read("/proc/self/cmdline") > 0 && text[0] == 'X', "a new name");

    ssize_t environment = file_read("/proc/self/environ");
    PROMISE(environment > 0 && memmem(text, (size_t)environment, "PROMISE_TEST=a value", 21), "environ: %s",
            text);
    PROMISE(prctl(PR_SET_NAME, "other name") == 0 && file_read("/proc/self/comm") > 0 &&
                !strcmp(text, "other name\n"),
            "comm: %s", text);
    ssize_t vector = file_read("/proc/self/auxv");
    unsigned long *entry = (unsigned long *)text, entries = 0;
    for (; entry[0] && entries < 64; entry += 2, entries++)
        /* For AT_HWCAP glibc answers in bits of its own. */
        PROMISE(entry[0] == AT_HWCAP || getauxval(entry[0]) == entry[1], "auxv %lu: %lx", entry[0], entry[1]);
    PROMISE(entries > 10 && vector >= (ssize_t)(entries + 1) * 16, "%lu entries in %ld bytes", entries,
            (long)vector);
}

static void stat_has_every_field(void)
{
    unsigned long user, system, bytes;
    long pages, threads;
    int pid, fields = 0;
    char state;

    for (volatile long i = 0; i < 10000000; i++)
        ;
    file_read("/proc/self/stat");
    char *rest = strrchr(text, ')');
    PROMISE(sscanf(text, "%d", &pid) == 1 && pid == getpid() && rest, "pid in %s", text);
    if (!rest)
        return;
    for (char *c = rest; *c; c++)
        fields += *c == ' ';
    PROMISE(fields == 50, "%d fields after the name", fields);
    int found = sscanf(
        rest + 2, "%c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %ld %*d %*u %lu %ld",
        &state, &user, &system, &threads, &bytes, &pages);
    PROMISE(found == 6 && state == 'R' && threads == 1, "%d found, state %c, %ld threads", found, state,
            threads);
    PROMISE(user + system >= 1 && bytes >= (unsigned long)pages * MACHINE_PAGE && pages > 10,
            "user %lu ticks, %lu bytes, %ld pages", user, bytes, pages);
    file_read("/proc/self/statm");
    unsigned long size, resident;
    PROMISE(sscanf(text, "%lu %lu", &size, &resident) == 2 && size == bytes / MACHINE_PAGE &&
                resident == (unsigned long)pages,
            "statm: %s", text);
    file_read("/proc/self/status");
    PROMISE(strstr(text, "\nVmRSS:\t") && strstr(text, "\nThreads:\t1\n") &&
                strstr(text, "\nnonvoluntary_ctxt_switches:\t0\n"),
            "status: %s", text);
    struct rlimit limit;
    char expected[64];
    getrlimit(RLIMIT_NOFILE, &limit);
    snprintf(expected, sizeof(expected), "Max open files            %-20lu ", (unsigned long)limit.rlim_cur);
    PROMISE(file_read("/proc/self/limits") > 0 && strstr(text, expected), "limits: %s", text);
}

/* ---- The node ---- */

static void cpus_are_the_process_s_own(void)
{
    cpu_set_t set;
    char expected[32];
    unsigned lines = 0;

    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    PROMISE(sysconf(_SC_NPROCESSORS_ONLN) == CPU_COUNT(&set), "%ld online, %d allowed",
            sysconf(_SC_NPROCESSORS_ONLN), CPU_COUNT(&set));
    file_read("/proc/stat");
    for (char *line = text; (line = strstr(line, "cpu")); line++)
        lines += line[3] >= '0' && line[3] <= '9';
    PROMISE((int)lines == CPU_COUNT(&set), "%u in stat", lines);
    file_read("/proc/self/status");
    if (CPU_COUNT(&set) == 1) {
        snprintf(expected, sizeof(expected), "\nCpus_allowed_list:\t%d\n", sched_getcpu());
        PROMISE(strstr(text, expected), "status: %s", text);
    }
}

/* Goes through CPUs' directories, which are one for all: the lookup tells them apart. */
static void cpus_have_directories(void)
{
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    DIR *folder = opendir("/sys/devices/system/cpu");
    char path[512], here[512];
    unsigned listed_cpus = 0, others = 0;
    ino_t numbers[2] = { 0, 0 };

    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        const int is_cpu = !strncmp(entry->d_name, "cpu", 3);

        others += !is_cpu;
        if (is_cpu && atoi(entry->d_name + 3) < 2)
            numbers[atoi(entry->d_name + 3)] = entry->d_ino;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s/topology/core_id", entry->d_name);
        listed_cpus += is_cpu && access(path, R_OK) == 0;
    }
    if (folder)
        closedir(folder);
    PROMISE(listed_cpus == (unsigned)cpus && others >= 5, "%u of %ld CPUs, %u others", listed_cpus, cpus,
            others);
    PROMISE(numbers[0] != numbers[1], "inodes %lu", (unsigned long)numbers[0]);
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%ld/topology", cpus - 1);
    IS(chdir(path), 0);
    PROMISE(getcwd(here, sizeof(here)) && !strcmp(here, path), "in %s", here);
    PROMISE(file_read("thread_siblings_list") > 0 &&
                file_read("../topology/../../cpu0/topology/core_cpus") > 0,
            "from there: %s", text);
    int file = open("core_id", O_RDONLY);
    strcat(path, "/core_id");
    PROMISE(!strcmp(link_of(file), path), "%s is %s", path, link_of(file));
    close(file);
    IS(chdir(".."), 0);
    IS(chdir(".."), 0);
    PROMISE(getcwd(here, sizeof(here)) && !strcmp(here, "/sys/devices/system/cpu"), "in %s", here);
    snprintf(path, sizeof(path), "cpu%ld", cpus);
    FAILS(chdir(path), ENOENT);
    FAILS(chdir("cpu00"), ENOENT);
    FAILS(chdir("cpu"), ENOENT);
    FAILS(chdir("cpu8388608"), ENOENT);
    FAILS(chdir("/proc/self/task/8388608"), ENOENT);
    FAILS(chdir("/proc/self/task/8388609"), ENOENT);
    IS(chdir("/"), 0);
}

/* ---- Sockets ---- */

static void sockets_are_the_process_s_own(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0proc" };
    int listener = socket(AF_INET, SOCK_STREAM, 0), other = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t bytes = sizeof(at);
    char expected[128];

    snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "proc.%d", getpid());
    IS(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    IS(listen(listener, 5), 0);
    IS(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
    IS(bind(other, (struct sockaddr *)&name, (socklen_t)(3 + strlen(name.sun_path + 1))), 0);
    snprintf(expected, sizeof(expected), "   0: 0100007F:%04X 00000000:0000 0A ", ntohs(at.sin_port));
    PROMISE(file_read("/proc/net/tcp") > 0 && strstr(text, expected), "no \"%s\" in %s", expected, text);
    snprintf(expected, sizeof(expected), " %lu 1 0\n",
             strtoul(link_of(listener) + strlen("socket:["), NULL, 10));
    PROMISE(strstr(text, expected), "no inode \"%s\" in %s", expected, text);
    PROMISE(file_read("/proc/net/unix") > 0 && strstr(text, " @proc."), "%s", text);
    PROMISE(file_read("/proc/net/sockstat") > 0 &&
                strstr(text, "sockets: used 2\nTCP: inuse 1\nUDP: inuse 0\n"),
            "%s", text);
    PROMISE(file_read("/proc/net/udp") > 0 && !strstr(text, "\n   0:"), "%s", text);
    close(listener);
    close(other);
}

/* ---- Descriptors ---- */

static int opened_again(int descriptor, int flags)
{
    char path[32];

    snprintf(path, sizeof(path), "/dev/fd/%d", descriptor);
    return open(path, flags);
}

/* Returns the number of descriptors in the folder, except the one that reads it. */
static unsigned long listed(void)
{
    unsigned long set = 0;
    DIR *folder = opendir("/proc/self/fd");

    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder))
            set |= 1UL << atoi(entry->d_name);
    if (folder)
        closedir(folder);
    return set;
}

static void descriptors_are_links_to_what_they_stand_for(void)
{
    int ends[2], file, again, out = dup(1);
    char path[32], bytes[8] = "";
    unsigned long before = listed();

    snprintf(path, sizeof(path), "/tmp/proc.%d", (int)getpid());
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    PROMISE(file > 2 && write(file, "12345", 5) == 5 && !strcmp(link_of(file), path), "%s of %s",
            link_of(file), path);
    PROMISE(listed() == (before | 1UL << file), "%lx, was %lx", listed(), before);
    again = opened_again(file, O_RDONLY);
    PROMISE(again > 2 && read(again, bytes, 8) == 5 && !memcmp(bytes, "12345", 5), "from its beginning: %s",
            bytes);
    PROMISE(write(again, "x", 1) == -1 && lseek(file, 0, SEEK_CUR) == 5, "an open file of its own");
    close(again);
    PROMISE(dup2(file, 1) == 1 && (again = open("/dev/stdout", O_WRONLY | O_APPEND)) > 2,
            "standard output: %d", errno);
    PROMISE(write(again, "67", 2) == 2 && pread(file, bytes, 8, 0) == 7 && !memcmp(bytes, "1234567", 7),
            "is where it leads: %s", bytes);
    dup2(out, 1);
    close(again);
    PROMISE(unlink(path) == 0 && strstr(link_of(file), "(deleted)"), "removed: %s", link_of(file));
    again = opened_again(file, O_RDONLY);
    PROMISE(again > 2 && read(again, bytes, 1) == 1, "and still there: %d", errno);
    close(again);
    close(file);
    PROMISE(opened_again(file, O_RDONLY) == -1 && errno == ENOENT && !*link_of(file), "closed: %d, %s", errno,
            link_of(file));
    PROMISE(pipe(ends) == 0 && !strncmp(link_of(ends[0]), "pipe:[", 6), "a pipe: %s", link_of(ends[0]));
    PROMISE(opened_again(ends[0], O_RDONLY) == -1 && errno == ENXIO, "has no place: %d", errno);
    close(ends[0]);
    close(ends[1]);
    PROMISE(open("/proc/self/fd/new", O_WRONLY | O_CREAT, 0600) == -1 && unlink("/proc/self/fd/1") == -1,
            "nothing comes or goes by name");
    close(out);
    PROMISE((listed() | 1UL << out) == before, "%lx, was %lx", listed(), before);
}

static void files_stay_as_they_were(void)
{
    char first[32] = "", again[32] = "";
    int file = open("/proc/uptime", O_RDONLY);

    PROMISE(read(file, first, 31) > 0, "uptime");
    for (volatile long i = 0; i < 10000000; i++)
        ;
    PROMISE(pread(file, again, 31, 0) > 0 && !strcmp(first, again), "%s and %s", first, again);
    close(file);
    PROMISE(file_read("/proc/uptime") > 0 && atof(text) >= atof(first), "later: %s", text);
    PROMISE(open("/proc/uptime", O_RDWR) == -1 && errno == EACCES, "to read only: %d", errno);

    /* Opening and closing takes nothing for good. */
    unsigned long before = meminfo("MemFree");
    for (int i = 0; i < 200; i++)
        file_read("/proc/self/maps");
    PROMISE(meminfo("MemFree") == before, "%lu KiB are missing", before - meminfo("MemFree"));
}

int main(int count, char **arguments)
{
    if (count < 3)
        return 98;
    names_are_the_process_s(count, arguments);
    maps_list_every_range();
    memory_is_the_process_s_own();
    files_about_memory_agree();
    stat_has_every_field();
    cpus_are_the_process_s_own();
    cpus_have_directories();
    sockets_are_the_process_s_own();
    descriptors_are_links_to_what_they_stand_for();
    files_stay_as_they_were();
    return promises_kept();
}
