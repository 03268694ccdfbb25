/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conform.c [--list] [NAME…]: runs the conformance tests of this folder one after the other, by name, or
 * those that are named; conform.h states the rules. The last line says how many ran, so that an end half-way
 * cannot pass for a whole run.
 */
#include "conform.h"
#include "tests/programs/raw_call.h"

#include <stdarg.h>
#include <sys/mount.h>

/* Of a line that a test prints. */
#define LINE_MAX_BYTES 1024

extern const struct conform_test *const __start_conform_tests[], *const __stop_conform_tests[];

static const struct conform_test *running;

long sys_bare(long number, long a, long b, long c, long d, long e, long f)
{
    return bare(number, (const uint64_t[6]){ (uint64_t)a, (uint64_t)b, (uint64_t)c, (uint64_t)d, (uint64_t)e,
                                             (uint64_t)f });
}

/* Two C libraries know the names of errors in two ways. */
static const char *error_name(long value)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
#define NAME(e) { e, #e }
        NAME(EPERM),
        NAME(ENOENT),
        NAME(ESRCH),
        NAME(EINTR),
        NAME(EIO),
        NAME(ENXIO),
        NAME(E2BIG),
        NAME(ENOEXEC),
        NAME(EBADF),
        NAME(ECHILD),
        NAME(EAGAIN),
        NAME(ENOMEM),
        NAME(EACCES),
        NAME(EFAULT),
        NAME(EBUSY),
        NAME(EEXIST),
        NAME(EXDEV),
        NAME(ENODEV),
        NAME(ENOTDIR),
        NAME(EISDIR),
        NAME(EINVAL),
        NAME(ENFILE),
        NAME(EMFILE),
        NAME(ENOTTY),
        NAME(EFBIG),
        NAME(ENOSPC),
        NAME(ESPIPE),
        NAME(EROFS),
        NAME(EMLINK),
        NAME(EPIPE),
        NAME(EDOM),
        NAME(ERANGE),
        NAME(EDEADLK),
        NAME(ENAMETOOLONG),
        NAME(ENOSYS),
        NAME(ENOTEMPTY),
        NAME(ELOOP),
        NAME(EOVERFLOW),
        NAME(EOPNOTSUPP),
        NAME(ETIMEDOUT),
        NAME(EOWNERDEAD),
        NAME(ENODATA),
        NAME(ENOTSOCK),
        NAME(EDESTADDRREQ),
        NAME(EMSGSIZE),
        NAME(EPROTOTYPE),
        NAME(ENOPROTOOPT),
        NAME(EPROTONOSUPPORT),
        NAME(ESOCKTNOSUPPORT),
        NAME(EAFNOSUPPORT),
        NAME(EADDRINUSE),
        NAME(EADDRNOTAVAIL),
        NAME(ENETUNREACH),
        NAME(ECONNABORTED),
        NAME(ECONNRESET),
        NAME(ENOBUFS),
        NAME(EISCONN),
        NAME(ENOTCONN),
        NAME(ETOOMANYREFS),
        NAME(ECONNREFUSED),
        NAME(EHOSTUNREACH),
        NAME(EALREADY),
        NAME(EINPROGRESS),
        NAME(ECANCELED),
        NAME(EBADFD),
#undef NAME
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].number == -value)
            return names[i].name;
    return NULL;
}

/* Prints one line of the running test, whole. A timer of the test may still be running: stdio drops a line
 * whose write a signal ends with EINTR, so that the line is written here, again as long as that happens. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list values;
    int head = snprintf(line, sizeof(line), "%s: ", running->name), length;

    va_start(values, format);
    length = head + vsnprintf(line + head, sizeof(line) - (size_t)head, format, values);
    va_end(values);
    if (length >= (int)sizeof(line))
        exit(70);
    for (int written = 0; written < length;) {
        ssize_t more = write(STDOUT_FILENO, line + written, (size_t)(length - written));

        if (more < 0 && errno != EINTR)
            exit(70);
        written += more > 0 ? (int)more : 0;
    }
}

void result(const char *what, long value)
{
    const char *name = value < 0 && value >= -4095 ? error_name(value) : NULL;

    if (name)
        say("%s: %s\n", what, name);
    else
        say("%s: %ld\n", what, value);
}

void holds(const char *what, bool it)
{
    say("%s: %s\n", what, it ? "yes" : "NO");
}

void text(const char *what, const char *value)
{
    say("%s: \"%s\"\n", what, value);
}

char *edge(size_t bytes)
{
    static char *pages;

    if (!pages) {
        pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE) != 0)
            exit(70);
    }
    return pages + PAGE - bytes;
}

char *read_only(void)
{
    static char *page;

    if (!page) {
        page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            exit(70);
    }
    return page;
}

bool in_tmp(void)
{
    char path[64];

    snprintf(path, sizeof(path), "/tmp/%s", running->name);
    if (sys(SYS_mkdir, path, 0755) == 0 && sys(SYS_chdir, path) == 0)
        return true;
    holds("a folder in /tmp", false);
    return false;
}

int file_made(const char *name, const char *content)
{
    int file = (int)sys(SYS_open, name, O_RDWR | O_CREAT | O_TRUNC, 0644);

    if (file >= 0 &&
        (sys(SYS_write, file, content, strlen(content)) < 0 || sys(SYS_lseek, file, 0, SEEK_SET) < 0))
        holds("a file with content", false);
    return file;
}

uint64_t now_ns(void)
{
    struct timespec now = { 0, 0 };

    sys(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void rest_ms(unsigned ms)
{
    const struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

    sys(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
}

/* The same ground for every test, whatever the one before has left. */
static void ground_made(void)
{
    const uint64_t none = 0;
    struct sigaction dull;

    for (int fd = 3; fd < 64; fd++)
        sys(SYS_close, fd);
    sys(SYS_chdir, "/");
    sys(SYS_umask, 022);
    sys(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, SIGSET_BYTES);
    memset(&dull, 0, sizeof(dull));
    for (int number = 1; number < 32; number++)
        if (number != SIGKILL && number != SIGSTOP)
            sigaction(number, &dull, NULL);
}

static void run(const struct conform_test *test)
{
    running = test;
    ground_made();
    test->run();
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct conform_test *const *)a)->name,
                  (*(const struct conform_test *const *)b)->name);
}

int main(int count, char **arguments)
{
    size_t known = (size_t)(__stop_conform_tests - __start_conform_tests), ran = 0;
    const struct conform_test **tests = malloc(known * sizeof(const struct conform_test *));
    int null = open("/dev/null", O_RDWR);

    /* Both systems start in a directory of their own choice. */
    if (!tests || null < 0 || dup2(null, 0) != 0 || chdir("/") != 0)
        return 70;
    setvbuf(stdout, NULL, _IOLBF, 0);
    memcpy(tests, __start_conform_tests, known * sizeof(const struct conform_test *));
    qsort(tests, known, sizeof(const struct conform_test *), by_name);
    if (count > 1 && strcmp(arguments[1], "--list") == 0) {
        for (size_t i = 0; i < known; i++)
            puts(tests[i]->name);
        return 0;
    }
    for (size_t i = 0; i < known; i++) {
        bool selected = count == 1;

        for (int a = 1; a < count; a++)
            selected |= strcmp(arguments[a], tests[i]->name) == 0;
        if (!selected)
            continue;
        run(tests[i]);
        ran++;
    }
    printf("conform: %zu tests ran\n", ran);
    return ran == (count == 1 ? known : (size_t)count - 1) ? 0 : 64;
}
