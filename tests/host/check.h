/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.h: the harness of the host tests: a test is a function named after the promise that it holds.
 *
 *     TEST(zero_length_is_refused) { CHECK(f(0) == -EINVAL); }
 *     int main(void) { RUN(zero_length_is_refused); return check_report("f"); }
 *
 * A test passes when none of its checks failed; the first few failures of each are printed, line by line. A
 * binary that hangs is ended with SIGTERM (run.py) and says in which test it was. Included once per binary.
 *
 * A binary that takes long can run in parts, side by side: check_part reads "2/3" from its command line, the
 * second third of its tests.
 */
#ifndef TACET_CHECK_H
#define TACET_CHECK_H

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_FAILURES_SHOWN 5

static struct {
    const char *test;
    unsigned failures; /* of the running test */
    unsigned passed, failed;
    unsigned part, parts; /* from 1; no parts: all tests run */
    unsigned seen;        /* tests, of all parts */
} check_state;

/* Returns true if a failure should still be printed. */
static inline bool check_failed(const char *file, int line)
{
    if (++check_state.failures > CHECK_FAILURES_SHOWN)
        return false;
    fprintf(stderr, "%s:%d: %s: ", file, line, check_state.test);
    return true;
}

/* Checks `held`; returns it, so that a test can stop if it makes no sense to go on. */
static inline bool check_true(bool held, const char *what, const char *file, int line)
{
    if (!held && check_failed(file, line))
        fprintf(stderr, "not true: %s\n", what);
    return held;
}

static inline bool check_equal(int64_t left, int64_t right, const char *what, const char *file, int line)
{
    if (left != right && check_failed(file, line))
        fprintf(stderr, "%s: %" PRId64 " (0x%" PRIx64 ") is not %" PRId64 " (0x%" PRIx64 ")\n", what, left,
                (uint64_t)left, right, (uint64_t)right);
    return left == right;
}

static inline bool check_text(const char *left, const char *right, const char *what, const char *file,
                              int line)
{
    bool held = left && right && strcmp(left, right) == 0;

    if (!held && check_failed(file, line))
        fprintf(stderr, "%s: \"%s\" is not \"%s\"\n", what, left ? left : "(null)", right ? right : "(null)");
    return held;
}

static inline bool check_contains(const char *text, const char *part, const char *file, int line)
{
    bool held = strstr(text, part) != NULL;

    if (!held && check_failed(file, line))
        fprintf(stderr, "\"%s\" does not say \"%s\"\n", text, part);
    return held;
}

#define CHECK(condition)           check_true((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(left, right)   check_equal((int64_t)(left), (int64_t)(right), #left, __FILE__, __LINE__)
#define CHECK_TEXT(left, right)    check_text((left), (right), #left, __FILE__, __LINE__)
#define CHECK_CONTAINS(text, part) check_contains((text), (part), __FILE__, __LINE__)
#define TEST(name)                 static void name(void)
#define RUN(name)                  check_run(#name, name)

/* Ends the binary because it takes too long. */
static inline void check_interrupted(int number)
{
    const char *const parts[] = { "interrupted in ", check_state.test, "\n" };

    (void)number;
    for (size_t i = 0; i < 3; i++)
        if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
            break;
    _exit(EXIT_FAILURE);
}

/* Takes the part that the command line names; without one all tests run. */
static inline void check_part(int count, char **words)
{
    if (count < 2)
        return;
    if (count != 2 || sscanf(words[1], "%u/%u", &check_state.part, &check_state.parts) != 2 ||
        check_state.part < 1 || check_state.part > check_state.parts) {
        fprintf(stderr, "usage: %s [PART/PARTS]\n", words[0]);
        exit(2);
    }
}

static inline void check_run(const char *name, void (*test)(void))
{
    if (check_state.parts && check_state.seen++ % check_state.parts != check_state.part - 1)
        return;
    if (!check_state.test) {
        setvbuf(stdout, NULL, _IOLBF, 0);
        signal(SIGTERM, check_interrupted);
    }
    check_state.test = name;
    check_state.failures = 0;
    test();
    if (check_state.failures == 0) {
        check_state.passed++;
        return;
    }
    check_state.failed++;
    fprintf(stderr, "FAILED %s: %u checks\n", name, check_state.failures);
}

/* Prints the line that the test runner reads; answers the exit status. */
static inline int check_report(const char *binary)
{
    printf("%s: %u passed, %u failed\n", binary, check_state.passed, check_state.failed);
    return check_state.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Returns random numbers, the same in every run (splitmix64). */
static inline uint64_t check_random(uint64_t *state)
{
    uint64_t mixed = (*state += 0x9e3779b97f4a7c15u);

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

#endif
