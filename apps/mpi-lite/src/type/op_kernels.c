/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * op_kernels.c: the loops of the predefined operations, one for each operation and each C type, in a form
 * that compilers vectorize.
 *
 * Integer sums and products wrap around. Of equal values MINLOC and MAXLOC keep the lower index [§5.9.4].
 */
#include "type/op_kernels.h"

#define LOOP(type, expression)               \
    do {                                     \
        const type *left = from;             \
        type *right = to;                    \
                                             \
        for (size_t i = 0; i < count; i++) { \
            type a = left[i], b = right[i];  \
                                             \
            right[i] = (type)(expression);   \
        }                                    \
        return true;                         \
    } while (0)

/* Parts of a kernel, which returns whether it has a loop for the operation. */
#define ORDER(type)                \
    if (op == MPI_MAX)             \
        LOOP(type, a > b ? a : b); \
    if (op == MPI_MIN)             \
        LOOP(type, a < b ? a : b);
#define ARITHMETIC(type, as)       \
    if (op == MPI_SUM)             \
        LOOP(type, (as)a + (as)b); \
    if (op == MPI_PROD)            \
        LOOP(type, (as)a *(as)b);
#define LOGIC(type)                   \
    if (op == MPI_LAND)               \
        LOOP(type, a != 0 && b != 0); \
    if (op == MPI_LOR)                \
        LOOP(type, a != 0 || b != 0); \
    if (op == MPI_LXOR)               \
        LOOP(type, (a != 0) != (b != 0));
#define BITWISE(type)      \
    if (op == MPI_BAND)    \
        LOOP(type, a &b);  \
    if (op == MPI_BOR)     \
        LOOP(type, a | b); \
    if (op == MPI_BXOR)    \
        LOOP(type, a ^ b);

#define KERNEL(name, ...)                                                               \
    static bool name(const struct mpi_op *op, const void *from, void *to, size_t count) \
    {                                                                                   \
        __VA_ARGS__                                                                     \
        return false;                                                                   \
    }
/* Sums and products are unsigned, so that they wrap around; those of 16 bits are computed in 32, so that
 * promotion does not make them signed. */
#define INTEGER(name, type, as) KERNEL(name, ORDER(type) ARITHMETIC(type, as) LOGIC(type) BITWISE(type))
INTEGER(apply_int8, int8_t, uint32_t)
INTEGER(apply_int16, int16_t, uint32_t)
INTEGER(apply_int32, int32_t, uint32_t)
INTEGER(apply_int64, int64_t, uint64_t)
INTEGER(apply_uint8, uint8_t, uint32_t)
INTEGER(apply_uint16, uint16_t, uint32_t)
INTEGER(apply_uint32, uint32_t, uint32_t)
INTEGER(apply_uint64, uint64_t, uint64_t)
#define FLOATING(name, type) KERNEL(name, ORDER(type) ARITHMETIC(type, type) LOGIC(type))
FLOATING(apply_float, float)
FLOATING(apply_double, double)
FLOATING(apply_long_double, long double)
KERNEL(apply_float_complex, ARITHMETIC(float _Complex, float _Complex))
KERNEL(apply_double_complex, ARITHMETIC(double _Complex, double _Complex))
KERNEL(apply_long_double_complex, ARITHMETIC(long double _Complex, long double _Complex))

/* Pairs of a value and an index. */
#define PAIR(name, value_type, index_type)                                                        \
    struct name {                                                                                 \
        value_type value;                                                                         \
        index_type index;                                                                         \
    };                                                                                            \
    static bool name(const struct mpi_op *op, const void *from, void *to, size_t count)           \
    {                                                                                             \
        const struct name *left = from;                                                           \
        struct name *right = to;                                                                  \
        bool is_max = op == MPI_MAXLOC;                                                           \
                                                                                                  \
        for (size_t i = 0; i < count; i++) {                                                      \
            bool wins = is_max ? left[i].value > right[i].value : left[i].value < right[i].value; \
                                                                                                  \
            if (wins || (left[i].value == right[i].value && left[i].index < right[i].index))      \
                right[i] = left[i];                                                               \
        }                                                                                         \
        return true;                                                                              \
    }
PAIR(apply_float_int, float, int)
PAIR(apply_double_int, double, int)
PAIR(apply_long_int, long, int)
PAIR(apply_2int, int, int)
PAIR(apply_short_int, short, int)
PAIR(apply_long_double_int, long double, int)
PAIR(apply_2real, float, float)
PAIR(apply_2double, double, double)

typedef bool kernel(const struct mpi_op *op, const void *from, void *to, size_t count);

static kernel *kernel_of_pair(const struct mpi_datatype *type)
{
    const struct {
        const struct mpi_datatype *type;
        kernel *run;
    } pairs[] = {
        { MPI_FLOAT_INT, apply_float_int },
        { MPI_DOUBLE_INT, apply_double_int },
        { MPI_LONG_INT, apply_long_int },
        { MPI_2INT, apply_2int },
        { MPI_SHORT_INT, apply_short_int },
        { MPI_2INTEGER, apply_2int },
        { MPI_LONG_DOUBLE_INT, apply_long_double_int },
        { MPI_2REAL, apply_2real },
        { MPI_2DOUBLE_PRECISION, apply_2double },
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (pairs[i].type == type)
            return pairs[i].run;
    return NULL;
}

static kernel *kernel_of(const struct mpi_datatype *type)
{
    static kernel *const integers[] = { apply_int8, apply_int16, apply_int32, apply_int64 };
    static kernel *const naturals[] = { apply_uint8, apply_uint16, apply_uint32, apply_uint64 };
    unsigned power = (unsigned)__builtin_ctzll(type->bytes | 16);

    switch (type->kind) {
    case KIND_SIGNED:
    case KIND_LOGICAL:
        return power < 4 ? integers[power] : NULL;
    case KIND_UNSIGNED:
    case KIND_BYTE:
        return power < 4 ? naturals[power] : NULL;
    case KIND_FLOAT:
        return type->bytes == sizeof(float)    ? apply_float
               : type->bytes == sizeof(double) ? apply_double
                                               : apply_long_double;
    case KIND_COMPLEX:
        return type->bytes == sizeof(float _Complex)    ? apply_float_complex
               : type->bytes == sizeof(double _Complex) ? apply_double_complex
                                                        : apply_long_double_complex;
    case KIND_PAIR:
        return kernel_of_pair(type);
    default:
        return NULL;
    }
}

void operation_apply(const struct mpi_op *op, const void *from, void *to, size_t count,
                     const struct mpi_datatype *type)
{
    kernel *run = kernel_of(type);

    if (!run || !run(op, from, to, count))
        mpi_abort(1, "%s has no loop for %s", op->name, type->name ? type->name : "a derived type");
}
