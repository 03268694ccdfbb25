/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz.h: shared by the fuzz targets: the entry point's prototype, and PROMISE, which ends the run if its
 * condition is false.
 */
#ifndef TACET_FUZZ_H
#define TACET_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C"
#endif
    int
    LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define PROMISE(condition)                                                                  \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                        \
        }                                                                                   \
    } while (0)

#endif
