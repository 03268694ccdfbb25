/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vector_x86_64.h: the part of vector.c that is of x86_64.
 */
#ifndef VECTOR_X86_64_H
#define VECTOR_X86_64_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static void control_words(void)
{
    uint16_t x87;

    __asm__ volatile("fnstcw %0" : "=m"(x87));
    PROMISE(x87 == 0x37f, "x87 control word %#x", x87);
    PROMISE(_mm_getcsr() == 0x1f80, "MXCSR %#x", _mm_getcsr());
}

/* Uses aligned moves, which fault unless the stack at main is aligned by the ABI. */
static void sse(void)
{
    double x[4] __attribute__((aligned(16))) = { 1, 2, 3, 4 };
    __m128d sum = _mm_add_pd(_mm_load_pd(x), _mm_load_pd(x + 2));
    long double precise = 1.0L / 3.0L;

    _mm_store_pd(x, sum);
    PROMISE(x[0] == 4 && x[1] == 6, "%g %g", x[0], x[1]);
    PROMISE(precise * 3.0L == 1.0L, "x87");
}

static uint8_t before[16][32] __attribute__((aligned(32))), after[16][32] __attribute__((aligned(32)));

static void fill(void)
{
    for (int r = 0; r < 16; r++)
        for (int b = 0; b < 32; b++)
            before[r][b] = (uint8_t)(r * 16 + b + 1);
    memset(after, 0, sizeof(after));
}

#define EACH_REGISTER(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define LOAD_XMM(n)      "movups " #n "*32(%[before]), %%xmm" #n "\n\t"
#define STORE_XMM(n)     "movups %%xmm" #n ", " #n "*32(%[after])\n\t"
#define LOAD_YMM(n)      "vmovups " #n "*32(%[before]), %%ymm" #n "\n\t"
#define STORE_YMM(n)     "vmovups %%ymm" #n ", " #n "*32(%[after])\n\t"
#define CLOBBER                                                                                             \
    "rcx", "r11", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
        "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

/* Checks registers over access(path) with a path that faults: the kernel takes an exception in between. */
static void registers_kept(int wide)
{
    const void *nowhere = (const void *)0x123456789000;
    long number = 21;

    fill();
    if (wide)
        __asm__ volatile(EACH_REGISTER(LOAD_YMM) "syscall\n\t" EACH_REGISTER(STORE_YMM)
                         : "+a"(number)
                         : [before] "r"(before), [after] "r"(after), "D"(nowhere), "S"(0L)
                         : CLOBBER);
    else
        __asm__ volatile(EACH_REGISTER(LOAD_XMM) "syscall\n\t" EACH_REGISTER(STORE_XMM)
                         : "+a"(number)
                         : [before] "r"(before), [after] "r"(after), "D"(nowhere), "S"(0L)
                         : CLOBBER);
    PROMISE(number == -14, "the call answers EFAULT: %ld", number);

    unsigned wrong = 0;
    for (int r = 0; r < 16; r++)
        wrong += memcmp(before[r], after[r], wide ? 32 : 16) != 0;
    PROMISE(wrong == 0, "%u registers changed in a system call", wrong);
}

__attribute__((target("avx2"))) static void avx2(void)
{
    int32_t x[8] __attribute__((aligned(32))) = { 1, 2, 3, 4, 5, 6, 7, 8 };
    __m256i sum = _mm256_add_epi32(_mm256_load_si256((const __m256i *)x), _mm256_set1_epi32(100));

    if (getpid() < 0)
        return;
    _mm256_store_si256((__m256i *)x, sum);
    PROMISE(x[0] == 101 && x[7] == 108, "%d %d", x[0], x[7]);
}

/* Returns the name of the set that was tried. */
static const char *vectors_try(void)
{
    __builtin_cpu_init();
    control_words();
    sse();
    registers_kept(0);
    if (!__builtin_cpu_supports("avx2"))
        return "sse2";
    avx2();
    registers_kept(1);
    return "avx2";
}

#endif
