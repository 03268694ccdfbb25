/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu_mask.h: sets of CPUs, a bit for each of ARCH_CPUS_MAX.
 *
 * A set says which of its words it uses, and every loop visits only these: so the cost of a set depends on
 * the CPUs that have ever been in it, not on ARCH_CPUS_MAX; those of a rank stand in one or two words. A word
 * that is used stays used when its last CPU leaves, until the set is assigned as a whole.
 *
 * The functions whose names end in _atomic may change a set on several CPUs at once; all are sequentially
 * consistent. Code that only reads a set may run at the same time, and sees each word as it was at some time
 * meanwhile, also if it reads plainly or copies the set: each CPU's bit is in one byte. A CPU that was in the
 * set all the time is seen. None of this is a barrier on every machine: code that changes a set and then
 * reads something else, or the other way round, needs one between the two.
 */
#ifndef TACET_CPU_MASK_H
#define TACET_CPU_MASK_H

#include "arch/platform.h"
#include <stdbool.h>
#include <stdint.h>

#define CPU_MASK_WORDS ((ARCH_CPUS_MAX + 63) / 64)
#define CPU_MASK_END   (CPU_MASK_WORDS * 64u) /* no CPU */

_Static_assert(CPU_MASK_WORDS <= 64, "the words in use are a bit each of one word");

struct cpu_mask {
    uint64_t used; /* a bit for each of `words`: one that is clear stands for a word that is 0 */
    uint64_t words[CPU_MASK_WORDS];
};

/* For each word in use of a set. */
#define CPU_MASK_WORDS_EACH(word, mask)                                                     \
    for (uint64_t word##_left = __atomic_load_n(&(mask)->used, __ATOMIC_RELAXED), word = 0; \
         word##_left && (word = (uint64_t)__builtin_ctzll(word##_left), 1); word##_left &= word##_left - 1)

static inline uint64_t cpu_mask_bit(unsigned cpu)
{
    return 1ULL << cpu % 64;
}

/* ---- One CPU ---- */

static inline bool cpu_mask_test(const struct cpu_mask *mask, unsigned cpu)
{
    return __atomic_load_n(&mask->words[cpu / 64], __ATOMIC_RELAXED) >> cpu % 64 & 1;
}

static inline void cpu_mask_set(struct cpu_mask *mask, unsigned cpu)
{
    mask->words[cpu / 64] |= cpu_mask_bit(cpu);
    mask->used |= 1ULL << cpu / 64;
}

static inline void cpu_mask_clear(struct cpu_mask *mask, unsigned cpu)
{
    mask->words[cpu / 64] &= ~cpu_mask_bit(cpu);
}

/* Adds a CPU. Marks its word as used first, so that no reader passes over a word that has the CPU. */
static inline void cpu_mask_set_atomic(struct cpu_mask *mask, unsigned cpu)
{
    const uint64_t word = 1ULL << cpu / 64;

    if (!(__atomic_load_n(&mask->used, __ATOMIC_SEQ_CST) & word))
        __atomic_fetch_or(&mask->used, word, __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&mask->words[cpu / 64], cpu_mask_bit(cpu), __ATOMIC_SEQ_CST);
}

static inline void cpu_mask_clear_atomic(struct cpu_mask *mask, unsigned cpu)
{
    __atomic_fetch_and(&mask->words[cpu / 64], ~cpu_mask_bit(cpu), __ATOMIC_SEQ_CST);
}

/* ---- Whole sets ---- */

/* Returns CPUs 0 to count - 1. */
static inline struct cpu_mask cpu_mask_below(unsigned count)
{
    struct cpu_mask mask = { 0 };

    for (unsigned word = 0; word * 64 < count && word < CPU_MASK_WORDS; word++) {
        mask.words[word] = count - word * 64 < 64 ? (1ULL << (count - word * 64)) - 1 : UINT64_MAX;
        mask.used |= 1ULL << word;
    }
    return mask;
}

static inline struct cpu_mask cpu_mask_and(const struct cpu_mask *a, const struct cpu_mask *b)
{
    struct cpu_mask both = { .used = 0 };

    CPU_MASK_WORDS_EACH(word, a)
        if ((both.words[word] = a->words[word] & b->words[word]))
            both.used |= 1ULL << word;
    return both;
}

/* Returns whether there is a CPU in it other than this one. */
static inline bool cpu_mask_has_others(const struct cpu_mask *mask, unsigned cpu)
{
    CPU_MASK_WORDS_EACH(word, mask)
        if (__atomic_load_n(&mask->words[word], __ATOMIC_RELAXED) &
            ~(word == cpu / 64 ? cpu_mask_bit(cpu) : 0))
            return true;
    return false;
}

static inline bool cpu_mask_is_empty(const struct cpu_mask *mask)
{
    return !cpu_mask_has_others(mask, CPU_MASK_END);
}

static inline bool cpu_mask_intersects(const struct cpu_mask *a, const struct cpu_mask *b)
{
    CPU_MASK_WORDS_EACH(word, a)
        if (__atomic_load_n(&a->words[word], __ATOMIC_RELAXED) & b->words[word])
            return true;
    return false;
}

static inline unsigned cpu_mask_count(const struct cpu_mask *mask)
{
    unsigned count = 0;

    CPU_MASK_WORDS_EACH(word, mask)
        for (uint64_t left = mask->words[word]; left; left &= left - 1)
            count++;
    return count;
}

/* ---- Going through a set ---- */

/* For each CPU of a set, in ascending order; for each that is in both. A set may change meanwhile. */
#define CPU_MASK_EACH(cpu, mask) CPU_MASK_EACH_COMMON(cpu, mask, mask)
#define CPU_MASK_EACH_COMMON(cpu, a, b)                                                       \
    for (uint64_t cpu##_words = (a)->used & (b)->used, cpu##_bits = 0, cpu##_at = 0, cpu = 0; \
         cpu_mask_step((a), (b), &cpu##_words, &cpu##_bits, &cpu##_at, &cpu);)

/* Does one step of such a loop: takes the next of the `bits` of the word at `at`, or of the next of
 * `words`. */
static inline __attribute__((always_inline)) bool cpu_mask_step(const struct cpu_mask *a,
                                                                const struct cpu_mask *b, uint64_t *words,
                                                                uint64_t *bits, uint64_t *at, uint64_t *cpu)
{
    while (!*bits) {
        if (!*words)
            return false;
        uint64_t word = (uint64_t)__builtin_ctzll(*words);

        *words &= *words - 1;
        *at = word * 64;
        *bits = __atomic_load_n(&a->words[word], __ATOMIC_RELAXED) &
                __atomic_load_n(&b->words[word], __ATOMIC_RELAXED);
    }
    *cpu = *at + (uint64_t)__builtin_ctzll(*bits);
    *bits &= *bits - 1;
    return true;
}

/* ---- Looking for CPUs ---- */

/* Returns the first CPU from `from` on; CPU_MASK_END: there is none. */
static inline unsigned cpu_mask_next(const struct cpu_mask *mask, unsigned from)
{
    CPU_MASK_EACH(cpu, mask)
        if (cpu >= from)
            return (unsigned)cpu;
    return CPU_MASK_END;
}

static inline unsigned cpu_mask_first(const struct cpu_mask *mask)
{
    return cpu_mask_next(mask, 0);
}

/* Returns the first CPU from `from` on, else the first of all: in turns around the set. */
static inline unsigned cpu_mask_next_around(const struct cpu_mask *mask, unsigned from)
{
    unsigned next = cpu_mask_next(mask, from);

    return next != CPU_MASK_END ? next : cpu_mask_first(mask);
}

#endif
