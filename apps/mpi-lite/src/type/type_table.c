/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_table.c: the predefined data types: the C language's, those of fixed width, Fortran's with gfortran's
 * sizes, C++'s, the pairs of MPI_MINLOC and MPI_MAXLOC, which are C structures of a value and an index, and
 * the markers of MPI-1.
 *
 * Source: MPI 3.1 §3.2.2 (basic types), §5.9.4 (pairs), §17.1.9 (Fortran's sizes).
 */
#include "type/type_layout.h"
#include <wchar.h>

#define BASIC(upper, lower, kind_of, type)        \
    struct mpi_datatype mpi_lite_type_##lower = { \
        .references = 1,                          \
        .name = "MPI_" #upper,                    \
        .kind = kind_of,                          \
        .bytes = sizeof(type),                    \
        .extent = sizeof(type),                   \
        .true_extent = sizeof(type),              \
        .alignment = _Alignof(type),              \
        .elements = 1,                            \
        .committed = true,                        \
        .predefined = true,                       \
        .dense = true,                            \
    }

BASIC(CHAR, char, (char)-1 < 0 ? KIND_SIGNED : KIND_UNSIGNED, char); /* sums are an extension of the standard
                                                                      */
BASIC(SIGNED_CHAR, signed_char, KIND_SIGNED, signed char);
BASIC(UNSIGNED_CHAR, unsigned_char, KIND_UNSIGNED, unsigned char);
BASIC(SHORT, short, KIND_SIGNED, short);
BASIC(UNSIGNED_SHORT, unsigned_short, KIND_UNSIGNED, unsigned short);
BASIC(INT, int, KIND_SIGNED, int);
BASIC(UNSIGNED, unsigned, KIND_UNSIGNED, unsigned);
BASIC(LONG, long, KIND_SIGNED, long);
BASIC(UNSIGNED_LONG, unsigned_long, KIND_UNSIGNED, unsigned long);
BASIC(LONG_LONG_INT, long_long, KIND_SIGNED, long long);
BASIC(UNSIGNED_LONG_LONG, unsigned_long_long, KIND_UNSIGNED, unsigned long long);
BASIC(FLOAT, float, KIND_FLOAT, float);
BASIC(DOUBLE, double, KIND_FLOAT, double);
BASIC(LONG_DOUBLE, long_double, KIND_FLOAT, long double);
BASIC(WCHAR, wchar, KIND_CHARACTER, wchar_t);
BASIC(C_BOOL, c_bool, KIND_LOGICAL, _Bool);
BASIC(C_COMPLEX, c_float_complex, KIND_COMPLEX, float _Complex);
BASIC(C_DOUBLE_COMPLEX, c_double_complex, KIND_COMPLEX, double _Complex);
BASIC(C_LONG_DOUBLE_COMPLEX, c_long_double_complex, KIND_COMPLEX, long double _Complex);
BASIC(INT8_T, int8_t, KIND_SIGNED, int8_t);
BASIC(INT16_T, int16_t, KIND_SIGNED, int16_t);
BASIC(INT32_T, int32_t, KIND_SIGNED, int32_t);
BASIC(INT64_T, int64_t, KIND_SIGNED, int64_t);
BASIC(UINT8_T, uint8_t, KIND_UNSIGNED, uint8_t);
BASIC(UINT16_T, uint16_t, KIND_UNSIGNED, uint16_t);
BASIC(UINT32_T, uint32_t, KIND_UNSIGNED, uint32_t);
BASIC(UINT64_T, uint64_t, KIND_UNSIGNED, uint64_t);
BASIC(AINT, aint, KIND_SIGNED, MPI_Aint);
BASIC(COUNT, count, KIND_SIGNED, MPI_Count);
BASIC(OFFSET, offset, KIND_SIGNED, MPI_Offset);
BASIC(BYTE, byte, KIND_BYTE, unsigned char);
BASIC(PACKED, packed, KIND_BYTE, unsigned char);
BASIC(CXX_BOOL, cxx_bool, KIND_LOGICAL, _Bool);
BASIC(CXX_FLOAT_COMPLEX, cxx_float_complex, KIND_COMPLEX, float _Complex);
BASIC(CXX_DOUBLE_COMPLEX, cxx_double_complex, KIND_COMPLEX, double _Complex);
BASIC(CXX_LONG_DOUBLE_COMPLEX, cxx_long_double_complex, KIND_COMPLEX, long double _Complex);

/* Types of Fortran. */
BASIC(INTEGER, integer, KIND_SIGNED, int32_t);
BASIC(REAL, real, KIND_FLOAT, float);
BASIC(DOUBLE_PRECISION, double_precision, KIND_FLOAT, double);
BASIC(COMPLEX, complex, KIND_COMPLEX, float _Complex);
BASIC(DOUBLE_COMPLEX, double_complex, KIND_COMPLEX, double _Complex);
BASIC(LOGICAL, logical, KIND_LOGICAL, int32_t);
BASIC(CHARACTER, character, KIND_CHARACTER, char);
BASIC(INTEGER1, integer1, KIND_SIGNED, int8_t);
BASIC(INTEGER2, integer2, KIND_SIGNED, int16_t);
BASIC(INTEGER4, integer4, KIND_SIGNED, int32_t);
BASIC(INTEGER8, integer8, KIND_SIGNED, int64_t);
BASIC(REAL4, real4, KIND_FLOAT, float);
BASIC(REAL8, real8, KIND_FLOAT, double);
BASIC(COMPLEX8, complex8, KIND_COMPLEX, float _Complex);
BASIC(COMPLEX16, complex16, KIND_COMPLEX, double _Complex);
/* C has no such types: they are sent as they are, and no operation is defined for them. */
BASIC(
    REAL16, real16, KIND_OPAQUE, struct { _Alignas(16) char bytes[16]; });
BASIC(
    COMPLEX32, complex32, KIND_OPAQUE, struct { _Alignas(16) char bytes[32]; });

/*
 * A pair's data is its value and its index without padding: a block if there is none, else a list of two. A
 * layout is a structure with an array at its end, whose size an initialiser may give.
 */
#define PAIR(upper, lower, value_type, index_type)                                                 \
    struct pair_##lower {                                                                          \
        value_type value;                                                                          \
        index_type index;                                                                          \
    };                                                                                             \
    static struct mpi_layout value_##lower = { .references = 1, .bytes = sizeof(value_type) };     \
    static struct mpi_layout index_##lower = { .references = 1, .bytes = sizeof(index_type) };     \
    static struct mpi_layout layout_##lower = {                                                    \
        .references = 1,                                                                           \
        .kind = LAYOUT_LIST,                                                                       \
        .bytes = sizeof(value_type) + sizeof(index_type),                                          \
        .count = 2,                                                                                \
        .parts = { { 0, 0, &value_##lower },                                                       \
                   { offsetof(struct pair_##lower, index), sizeof(value_type), &index_##lower } }, \
    };                                                                                             \
    struct mpi_datatype mpi_lite_type_##lower = {                                                  \
        .references = 1,                                                                           \
        .name = "MPI_" #upper,                                                                     \
        .kind = KIND_PAIR,                                                                         \
        .bytes = sizeof(value_type) + sizeof(index_type),                                          \
        .extent = sizeof(struct pair_##lower),                                                     \
        .true_extent = offsetof(struct pair_##lower, index) + sizeof(index_type),                  \
        .alignment = _Alignof(struct pair_##lower),                                                \
        .elements = 2,                                                                             \
        .committed = true,                                                                         \
        .predefined = true,                                                                        \
        .dense = sizeof(struct pair_##lower) == sizeof(value_type) + sizeof(index_type),           \
        .layout = &layout_##lower,                                                                 \
    }

PAIR(FLOAT_INT, float_int, float, int);
PAIR(DOUBLE_INT, double_int, double, int);
PAIR(LONG_INT, long_int, long, int);
PAIR(2INT, 2int, int, int);
PAIR(SHORT_INT, short_int, short, int);
PAIR(LONG_DOUBLE_INT, long_double_int, long double, int);
PAIR(2REAL, 2real, float, float);
PAIR(2DOUBLE_PRECISION, 2double_precision, double, double);
PAIR(2INTEGER, 2integer, int32_t, int32_t);

#define MARKER(upper, lower)                      \
    struct mpi_datatype mpi_lite_type_##lower = { \
        .references = 1,                          \
        .name = "MPI_" #upper,                    \
        .kind = KIND_MARKER,                      \
        .alignment = 1,                           \
        .committed = true,                        \
        .predefined = true,                       \
        .dense = true,                            \
    }
MARKER(LB, lb);
MARKER(UB, ub);
