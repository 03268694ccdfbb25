/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * operations.c: each predefined operation on each C type for which the standard defines it, those for which
 * it does not, and the program's own. [MPI 3.1 §5.9]
 */
#include "check.h"
#include <complex.h>
#include <stdint.h>

#define COUNT 37

enum { INTEGER = 1, REAL = 2, COMPLEX = 4, LOGICAL = 8, BITS = 16, LOCATION = 32 };

struct type {
    const char *name;
    MPI_Datatype type;
    int class, bytes;
};

static int of_bits(int i)
{
    return (i * 37 + i / 5) % 23 - 7;
}

/* Small whole numbers, so that every order of operations gives the same bits. */
#define FILL(ctype, buffer, shift)  \
    for (int i = 0; i < COUNT; i++) \
    ((ctype *)(buffer))[i] = (ctype)(of_bits(i + (shift)) + low)

static int is_unsigned(MPI_Datatype type)
{
    return type == MPI_UNSIGNED_CHAR || type == MPI_UNSIGNED_SHORT || type == MPI_UNSIGNED ||
           type == MPI_UNSIGNED_LONG || type == MPI_UINT64_T || type == MPI_UINT16_T;
}

/* Fills a buffer. MPICH 4.0 compares unsigned numbers as signed ones, so these stay below the sign bit. */
static void fill(const struct type *type, void *buffer, int shift)
{
    int low = is_unsigned(type->type) ? 7 : 0;

    if (type->type == MPI_FLOAT)
        FILL(float, buffer, shift);
    else if (type->type == MPI_DOUBLE)
        FILL(double, buffer, shift);
    else if (type->type == MPI_C_FLOAT_COMPLEX)
        for (int i = 0; i < COUNT; i++)
            ((float _Complex *)buffer)[i] = (float)of_bits(i + shift) + (float)of_bits(i + 2 * shift + 1) * I;
    else if (type->type == MPI_C_DOUBLE_COMPLEX)
        for (int i = 0; i < COUNT; i++)
            ((double _Complex *)buffer)[i] =
                (double)of_bits(i + shift) + (double)of_bits(i + 2 * shift + 1) * I;
    else if (type->type == MPI_C_BOOL)
        for (int i = 0; i < COUNT; i++)
            ((_Bool *)buffer)[i] = of_bits(i + shift) > 0;
    else if (type->bytes == 1)
        FILL(int8_t, buffer, shift);
    else if (type->bytes == 2)
        FILL(int16_t, buffer, shift);
    else if (type->bytes == 4)
        FILL(int32_t, buffer, shift);
    else
        FILL(int64_t, buffer, shift);
}

static unsigned sum_of(const unsigned char *bytes, int count)
{
    unsigned sum = 2166136261u;

    for (int i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

static void tables(void)
{
    const struct type types[] = {
        { "signed char", MPI_SIGNED_CHAR, INTEGER, 1 },
        { "unsigned char", MPI_UNSIGNED_CHAR, INTEGER, 1 },
        { "short", MPI_SHORT, INTEGER, 2 },
        { "unsigned short", MPI_UNSIGNED_SHORT, INTEGER, 2 },
        { "int", MPI_INT, INTEGER, 4 },
        { "unsigned", MPI_UNSIGNED, INTEGER, 4 },
        { "long", MPI_LONG, INTEGER, 8 },
        { "unsigned long", MPI_UNSIGNED_LONG, INTEGER, 8 },
        { "long long", MPI_LONG_LONG, INTEGER, 8 },
        { "uint64_t", MPI_UINT64_T, INTEGER, 8 },
        { "int8_t", MPI_INT8_T, INTEGER, 1 },
        { "uint16_t", MPI_UINT16_T, INTEGER, 2 },
        { "float", MPI_FLOAT, REAL, 4 },
        { "double", MPI_DOUBLE, REAL, 8 },
        { "complex float", MPI_C_FLOAT_COMPLEX, COMPLEX, 8 },
        { "complex double", MPI_C_DOUBLE_COMPLEX, COMPLEX, 16 },
        { "_Bool", MPI_C_BOOL, LOGICAL, 1 },
        { "byte", MPI_BYTE, BITS, 1 },
    };
    const struct {
        const char *name;
        MPI_Op op;
        int classes;
    } ops[] = {
        { "max", MPI_MAX, INTEGER | REAL },           { "min", MPI_MIN, INTEGER | REAL },
        { "sum", MPI_SUM, INTEGER | REAL | COMPLEX }, { "prod", MPI_PROD, INTEGER | REAL | COMPLEX },
        { "land", MPI_LAND, INTEGER | LOGICAL },      { "lor", MPI_LOR, INTEGER | LOGICAL },
        { "lxor", MPI_LXOR, INTEGER | LOGICAL },      { "band", MPI_BAND, INTEGER | BITS },
        { "bor", MPI_BOR, INTEGER | BITS },           { "bxor", MPI_BXOR, INTEGER | BITS },
    };
    static _Alignas(16) unsigned char from[COUNT * 16], to[COUNT * 16];

    for (unsigned o = 0; o < sizeof(ops) / sizeof(ops[0]); o++)
        for (unsigned t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
            if (!(ops[o].classes & types[t].class))
                continue;
            fill(&types[t], from, 3);
            fill(&types[t], to, 11);
            MPI_Reduce_local(from, to, COUNT, types[t].type, ops[o].op);
            if (rank == 0)
                printf("%s of %s: %08x\n", ops[o].name, types[t].name, sum_of(to, COUNT * types[t].bytes));
        }
    passed("tables");
}

/* Tests large unsigned numbers, which MPICH 4.0 gets wrong. */
static void large(void)
{
#ifndef MPICH_VERSION
    unsigned from = 0xfffffff9u, to = 3;

    MPI_Reduce_local(&from, &to, 1, MPI_UNSIGNED, MPI_MAX);
    CHECK_EQUAL(to, from);
#endif
    passed("large");
}

static void refused(void)
{
    double from[2] = { 1, 2 }, to[2] = { 3, 4 };
    const struct {
        MPI_Op op;
        MPI_Datatype type;
    } pairs[] = { { MPI_BAND, MPI_DOUBLE }, { MPI_MAX, MPI_C_DOUBLE_COMPLEX }, { MPI_MINLOC, MPI_DOUBLE } };

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        int class = 0;

        MPI_Error_class(MPI_Reduce_local(from, to, 1, pairs[i].type, pairs[i].op), &class);
        CHECK_EQUAL(class, MPI_ERR_OP);
    }
    CHECK(to[0] == 3 && to[1] == 4);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    passed("refused");
}

#define LOCATION(name, ctype, type)                                                             \
    do {                                                                                        \
        struct {                                                                                \
            ctype value;                                                                        \
            int index;                                                                          \
        } from[3] = { { 5, 1 }, { 2, 7 }, { 9, 4 } }, to[3] = { { 3, 2 }, { 2, 3 }, { 9, 8 } }; \
                                                                                                \
        MPI_Reduce_local(from, to, 3, type, MPI_MAXLOC);                                        \
        CHECK(to[0].value == 5 && to[0].index == 1 && to[1].index == 3 && to[2].index == 4);    \
        from[0].value = 1;                                                                      \
        MPI_Reduce_local(from, to, 3, type, MPI_MINLOC);                                        \
        CHECK(to[0].value == 1 && to[0].index == 1 && to[1].index == 3 && to[2].index == 4);    \
    } while (0)

static void locations(void)
{
    LOCATION("float", float, MPI_FLOAT_INT);
    LOCATION("double", double, MPI_DOUBLE_INT);
    LOCATION("long", long, MPI_LONG_INT);
    LOCATION("int", int, MPI_2INT);
    LOCATION("short", short, MPI_SHORT_INT);
    LOCATION("long double", long double, MPI_LONG_DOUBLE_INT);
    passed("locations");
}

/* Adds 10 * from to `to`; `from` is the left operand, so this does not commute. */
static void own_function(void *from, void *to, int *count, MPI_Datatype *type)
{
    CHECK(*type == MPI_INT);
    for (int i = 0; i < *count; i++)
        ((int *)to)[i] += 10 * ((int *)from)[i];
}

static void own(void)
{
    int from[3] = { 1, 2, 3 }, to[3] = { 4, 5, 6 }, commutes = -1;
    MPI_Op op;

    MPI_Op_create(own_function, 0, &op);
    MPI_Op_commutative(op, &commutes);
    CHECK_EQUAL(commutes, 0);
    MPI_Reduce_local(from, to, 3, MPI_INT, op);
    CHECK(to[0] == 14 && to[1] == 25 && to[2] == 36);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
    MPI_Op_commutative(MPI_SUM, &commutes);
    CHECK_EQUAL(commutes, 1);
    passed("own");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    tables();
    large();
    refused();
    locations();
    own();
    MPI_Finalize();
    return 0;
}
