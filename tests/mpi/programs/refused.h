/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refused.h: what the programs about errors share: a call with a wrong argument has the class that the
 * standard names for it. REFUSED_BUT skips libraries that accept the argument, or have a class of their own:
 * what they do then differs from run to run.
 */
#ifndef TESTS_MPI_REFUSED_H
#define TESTS_MPI_REFUSED_H

#include "check.h"

enum { IN_MPICH = 1, IN_OPENMPI = 2, IN_OTHERS = IN_MPICH | IN_OPENMPI };
#if defined(MPICH_VERSION)
#define THIS_LIBRARY IN_MPICH
#elif defined(OPEN_MPI)
#define THIS_LIBRARY IN_OPENMPI
#else
#define THIS_LIBRARY 0
#endif

#define REFUSED(call, expected) refused((call), (expected), #call, __FILE__, __LINE__)
#define REFUSED_BUT(libraries, call, expected) \
    do {                                       \
        if (!((libraries)&THIS_LIBRARY))       \
            REFUSED(call, expected);           \
    } while (0)

__attribute__((unused)) static void refused(int error, int expected, const char *call, const char *file,
                                            int line)
{
    int class = -1, length = 0;
    char text[MPI_MAX_ERROR_STRING];

    MPI_Error_class(error, &class);
    if (class != expected) {
        fprintf(stderr, "%s:%d: rank %d: %s has the class %d, not %d\n", file, line, rank, call, class,
                expected);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Error_string(error, text, &length);
    CHECK(length > 0 && (size_t)length == strlen(text));
}

#endif
