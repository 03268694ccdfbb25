/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * intercommunicators.c: collectives between two groups of different sizes, blocking and not, with roots on
 * both sides; copies and parts of intercommunicators; arguments that their calls refuse. [MPI 3.1 chapters 5
 * and 6]
 */
#include "check.h"

#define LONG 5000 /* elements of a message that is not eager */

static MPI_Comm inter;
static int side; /* 0 or 1: every third rank of the world is on side 0 */
static int own, mine, theirs;
static int waits; /* tests the blocking calls */

/* A call in its blocking or nonblocking form. */
#define CALL(blocking, nonblocking, ...)               \
    do {                                               \
        MPI_Request request_;                          \
        if (waits) {                                   \
            MPI_##blocking(__VA_ARGS__);               \
        } else {                                       \
            MPI_##nonblocking(__VA_ARGS__, &request_); \
            MPI_Wait(&request_, MPI_STATUS_IGNORE);    \
        }                                              \
    } while (0)

/* Returns the value that rank `of` of a side has at place i. */
static int value(int of_side, int of, int i)
{
    return 100000 * (of_side + 1) + 1000 * of + i % 997;
}

static int root_of(int root_side, int root)
{
    return side != root_side ? root : own == root ? MPI_ROOT : MPI_PROC_NULL;
}

static int *numbers(int count)
{
    int *made = malloc(((size_t)count + 1) * sizeof(int));

    for (int i = 0; i < count; i++)
        made[i] = -1;
    return made;
}

static int *values(int count)
{
    int *made = numbers(count);

    for (int i = 0; i < count; i++)
        made[i] = value(side, own, i);
    return made;
}

static void one_to_all(int root_side, int count)
{
    int *data = root_of(root_side, 0) == MPI_ROOT ? values(count) : numbers(count);
    int last = (root_side == side ? mine : theirs) - 1;

    CALL(Bcast, Ibcast, data, count, MPI_INT, root_of(root_side, 0), inter);
    for (int i = 0; side != root_side && i < count; i++)
        CHECK_EQUAL(data[i], value(root_side, 0, i));
    for (int i = 0; side == root_side && own && i < count; i++)
        CHECK_EQUAL(data[i], -1);
    free(data);

    /* The last rank scatters: blocks are as long as the receiver's number plus one, with gaps. */
    int root = root_of(root_side, last), *out = values(theirs * count), *in = numbers(count + 1);
    CALL(Scatter, Iscatter, out, count, MPI_INT, in, count, MPI_INT, root, inter);
    for (int i = 0; side != root_side && i < count; i++)
        CHECK_EQUAL(in[i], value(root_side, last, own * count + i));
    int counts[64], places[64];
    for (int i = 0; i < theirs; i++) {
        counts[i] = i % (count + 1);
        places[i] = i * count;
    }
    for (int i = 0; i <= count; i++)
        in[i] = -1;
    CALL(Scatterv, Iscatterv, out, counts, places, MPI_INT, in, own % (count + 1), MPI_INT, root, inter);
    for (int i = 0; side != root_side && i <= count; i++)
        CHECK_EQUAL(in[i], i < own % (count + 1) ? value(root_side, last, own * count + i) : -1);
    free(out);
    free(in);
}

static void all_to_one(int root_side, int count)
{
    int root = root_of(root_side, 0), *out = values(count), *in = numbers(theirs * count + 1);

    CALL(Gather, Igather, out, count, MPI_INT, in, count, MPI_INT, root, inter);
    for (int i = 0; i < theirs * count; i++)
        CHECK_EQUAL(in[i], root == MPI_ROOT ? value(!side, i / count, i % count) : -1);
    int counts[64], places[64];
    for (int i = 0; i < theirs; i++) {
        counts[i] = i % (count + 1);
        places[i] = (theirs - 1 - i) * count;
    }
    for (int i = 0; i < theirs * count; i++)
        in[i] = -1;
    CALL(Gatherv, Igatherv, out, own % (count + 1), MPI_INT, in, counts, places, MPI_INT, root, inter);
    for (int i = 0; root == MPI_ROOT && i < theirs * count; i++) {
        int from = theirs - 1 - i / count;

        CHECK_EQUAL(in[i], i % count < counts[from] ? value(!side, from, i % count) : -1);
    }

    int *sum = numbers(count), ranks = theirs;
    CALL(Reduce, Ireduce, out, sum, count, MPI_INT, MPI_SUM, root, inter);
    for (int i = 0; i < count; i++) {
        int expected = 1000 * (ranks * (ranks - 1) / 2) + ranks * value(!side, 0, i);

        CHECK_EQUAL(sum[i], root == MPI_ROOT ? expected : -1);
    }
    free(out);
    free(in);
    free(sum);
}

/* Tests groups that send different amounts. */
static void gathered(int count)
{
    int gives = side ? count : 2 * count, gets = side ? 2 * count : count;
    int *out = values(gives), *in = numbers(2 * theirs * gets + 1);
    MPI_Datatype spread;

    CALL(Allgather, Iallgather, out, gives, MPI_INT, in, gets, MPI_INT, inter);
    for (int i = 0; i < theirs * gets; i++)
        CHECK_EQUAL(in[i], value(!side, i / gets, i % gets));
    /* Receives into every second element. */
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    for (int i = 0; i < 2 * theirs * gets; i++)
        in[i] = -1;
    CALL(Allgather, Iallgather, out, gives, MPI_INT, in, gets, spread, inter);
    for (int i = 0; i < 2 * theirs * gets; i++)
        CHECK_EQUAL(in[i], i % 2 ? -1 : value(!side, i / 2 / gets, i / 2 % gets));
    MPI_Type_free(&spread);

    int counts[64], places[64];
    for (int i = 0; i < theirs; i++) {
        counts[i] = (i + 1) % (gets + 1);
        places[i] = (theirs - 1 - i) * gets;
    }
    for (int i = 0; i < 2 * theirs * gets; i++)
        in[i] = -1;
    CALL(Allgatherv, Iallgatherv, out, (own + 1) % (gives + 1), MPI_INT, in, counts, places, MPI_INT, inter);
    for (int i = 0; i < theirs * gets; i++) {
        int from = theirs - 1 - i / gets;

        CHECK_EQUAL(in[i], i % gets < counts[from] ? value(!side, from, i % gets) : -1);
    }
    free(out);
    free(in);
}

static void exchanged(int count)
{
    int *out = values(theirs * count), *in = numbers(theirs * count);
    int counts[64], places[64], bytes[64];
    MPI_Datatype types[64];

    CALL(Alltoall, Ialltoall, out, count, MPI_INT, in, count, MPI_INT, inter);
    for (int i = 0; i < theirs * count; i++)
        CHECK_EQUAL(in[i], value(!side, i / count, own * count + i % count));
    for (int i = 0; i < theirs; i++) {
        counts[i] = (i + own) % (count + 1);
        places[i] = i * count;
        bytes[i] = i * count * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    for (int form = 0; form < 2; form++) {
        for (int i = 0; i < theirs * count; i++)
            in[i] = -1;
        if (form)
            CALL(Alltoallw, Ialltoallw, out, counts, bytes, types, in, counts, bytes, types, inter);
        else
            CALL(Alltoallv, Ialltoallv, out, counts, places, MPI_INT, in, counts, places, MPI_INT, inter);
        for (int i = 0; i < theirs * count; i++)
            CHECK_EQUAL(
                in[i], i % count < counts[i / count] ? value(!side, i / count, own * count + i % count) : -1);
    }
    free(out);
    free(in);
}

/* Keeps the left operand's first and the right operand's last number: associative, but not commutative. */
static void span_join(void *from, void *to, int *count, MPI_Datatype *type)
{
    const int *left = from;
    int *right = to;

    (void)type;
    for (int i = 0; i < *count; i++)
        right[2 * i] = left[2 * i];
}

static void reduced(int count)
{
    int *out = values(2 * count), *in = numbers(2 * count);
    MPI_Datatype pair;
    MPI_Op join;

    CALL(Allreduce, Iallreduce, out, in, count, MPI_INT, MPI_MAX, inter);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(in[i], value(!side, theirs - 1, i));
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(span_join, 0, &join);
    CALL(Allreduce, Iallreduce, out, in, count, pair, join, inter);
    for (int i = 0; i < 2 * count; i++)
        CHECK_EQUAL(in[i], value(!side, i % 2 ? theirs - 1 : 0, i));
    MPI_Op_free(&join);
    MPI_Type_free(&pair);
    free(out);
    free(in);
}

/* Tests reductions in which both groups have the same number of elements, which each spreads over its ranks.
 */
static void scattered(int count)
{
    int total = mine * theirs * count, part = theirs * count, counts[64];
    int *out = values(total), *in = numbers(total);

    CALL(Reduce_scatter_block, Ireduce_scatter_block, out, in, part, MPI_INT, MPI_MIN, inter);
    for (int i = 0; i < part; i++)
        CHECK_EQUAL(in[i], value(!side, 0, own * part + i));
    for (int i = 0; i < mine; i++)
        counts[i] = i == 0 ? part - (mine > 1) : part + (i == 1);
    int begin = own == 0 ? 0 : own * part - (own == 1);
    for (int i = 0; i < total; i++)
        in[i] = -1;
    CALL(Reduce_scatter, Ireduce_scatter, out, in, counts, MPI_INT, MPI_MAX, inter);
    for (int i = 0; i < part + 1 && i < total; i++)
        CHECK_EQUAL(in[i], i < counts[own] ? value(!side, theirs - 1, begin + i) : -1);
    free(out);
    free(in);
}

/* Tests that no rank leaves a barrier before all of the other side have entered it. */
static void met(void)
{
    MPI_Request request;
    int done = 0, token = 1;

    if (waits) {
        MPI_Barrier(inter);
        return;
    }
    if (side == 0 && own == 0) {
        MPI_Recv(&token, 1, MPI_INT, 0, 7, inter, MPI_STATUS_IGNORE);
        MPI_Ibarrier(inter, &request);
    } else {
        MPI_Ibarrier(inter, &request);
        for (int i = 0; side == 1 && own == 0 && i < 100; i++) { /* rank 0 of the other side has not entered
                                                                  */
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            CHECK(!done);
        }
        if (side == 1 && own == 0)
            MPI_Send(&token, 1, MPI_INT, 0, 7, inter);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Tests several collectives at once, which end in any order. */
static void at_once(void)
{
    enum { MANY = 6 };
    int in[MANY][64], out[MANY], sums[MANY];
    MPI_Request requests[2 * MANY];

    for (int i = 0; i < MANY; i++) {
        out[i] = value(side, own, i);
        MPI_Iallgather(&out[i], 1, MPI_INT, in[i], 1, MPI_INT, inter, &requests[2 * i]);
        MPI_Iallreduce(&out[i], &sums[i], 1, MPI_INT, MPI_MIN, inter, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQUAL(sums[i], value(!side, 0, i));
        for (int j = 0; j < theirs; j++)
            CHECK_EQUAL(in[i][j], value(!side, j, i));
    }
}

static void collectives(void)
{
    const int counts[] = { 1, 3, LONG };

    for (waits = 0; waits < 2; waits++)
        for (int i = 0; i < 3; i++) {
            for (int root_side = 0; root_side < 2; root_side++) {
                one_to_all(root_side, counts[i]);
                all_to_one(root_side, counts[i]);
            }
            gathered(counts[i]);
            exchanged(counts[i]);
            reduced(counts[i]);
            scattered(counts[i] == LONG ? LONG / 10 : counts[i]);
            met();
        }
    at_once();
}

/* Tests that messages on a copy are separate from those on the original. */
static void copies(void)
{
    int out[2] = { value(side, own, 1), value(side, own, 2) }, in[2][64], flag = 0, count = 0;
    MPI_Request requests[2];
    MPI_Comm copy;

    MPI_Comm_dup(inter, &copy);
    MPI_Comm_test_inter(copy, &flag);
    MPI_Comm_remote_size(copy, &count);
    CHECK(flag && count == theirs);
    MPI_Comm_compare(copy, inter, &count);
    CHECK_EQUAL(count, MPI_CONGRUENT);
    MPI_Iallgather(&out[0], 1, MPI_INT, in[0], 1, MPI_INT, inter, &requests[0]);
    MPI_Iallgather(&out[1], 1, MPI_INT, in[1], 1, MPI_INT, copy, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2 * theirs; i++)
        CHECK_EQUAL(in[i / theirs][i % theirs], value(!side, i % theirs, 1 + i / theirs));
    MPI_Comm_free(&copy);

    MPI_Comm_idup(inter, &copy, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Comm_compare(copy, inter, &count);
    CHECK_EQUAL(count, MPI_CONGRUENT);
    MPI_Allgather(&out[0], 1, MPI_INT, in[0], 1, MPI_INT, copy);
    CHECK_EQUAL(in[0][theirs - 1], value(!side, theirs - 1, 1));
    MPI_Comm_disconnect(&copy);
    CHECK(copy == MPI_COMM_NULL);
}

/* Tests a split: each color has an intercommunicator of the ranks that chose it, if there are any on both
 * sides. */
static void parts(void)
{
    int is_inter = 0, members = 0, others = 0, place = -1, sum = 0;
    MPI_Comm part;

    MPI_Comm_split(inter, own % 2, -own, &part);
    CHECK((part == MPI_COMM_NULL) == (own % 2 && theirs < 2));
    if (part != MPI_COMM_NULL) {
        int expected = own % 2 ? theirs / 2 : (theirs + 1) / 2, ranks = own % 2 ? mine / 2 : (mine + 1) / 2;

        MPI_Comm_test_inter(part, &is_inter);
        MPI_Comm_size(part, &members);
        MPI_Comm_remote_size(part, &others);
        MPI_Comm_rank(part, &place);
        CHECK(is_inter && members == ranks && others == expected && place == ranks - 1 - own / 2);
        MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, part);
        CHECK_EQUAL(sum, own % 2 ? expected * expected : expected * (expected - 1));
        MPI_Comm_free(&part);
    }
    MPI_Comm_split(inter, side ? MPI_UNDEFINED : 1, 0, &part); /* no rank of the other side takes part */
    CHECK(part == MPI_COMM_NULL);

    MPI_Group all, last, none = MPI_GROUP_EMPTY;
    int keeps = mine - 1;
    MPI_Comm_group(inter, &all);
    MPI_Group_incl(all, 1, &keeps, &last);
    MPI_Comm_create(inter, last, &part);
    CHECK((part == MPI_COMM_NULL) == (own != mine - 1));
    if (part != MPI_COMM_NULL) {
        MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, part);
        CHECK_EQUAL(sum, theirs - 1);
        MPI_Comm_free(&part);
    }
    MPI_Comm_create(inter, side ? none : last, &part);
    CHECK(part == MPI_COMM_NULL);
    MPI_Group_free(&last);
    MPI_Group_free(&all);
}

static int class_of(int code)
{
    int class = -1;

    MPI_Error_class(code, &class);
    return class;
}

/* Tests arguments that are wrong on all ranks, so that none waits for another. */
static void refusals(void)
{
    int out[64] = { 0 }, in[64] = { 0 };

    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK_EQUAL(class_of(MPI_Bcast(out, 1, MPI_INT, theirs, inter)), MPI_ERR_ROOT);
    CHECK_EQUAL(class_of(MPI_Reduce(out, in, 1, MPI_INT, MPI_SUM, theirs, inter)), MPI_ERR_ROOT);
    CHECK_EQUAL(class_of(MPI_Scan(out, in, 1, MPI_INT, MPI_SUM, inter)), MPI_ERR_COMM);
    CHECK_EQUAL(class_of(MPI_Exscan(out, in, 1, MPI_INT, MPI_SUM, inter)), MPI_ERR_COMM);
    CHECK_EQUAL(class_of(MPI_Bcast(out, -1, MPI_INT, 0, inter)), MPI_ERR_COUNT);
    CHECK_EQUAL(class_of(MPI_Alltoall(out, 1, MPI_DATATYPE_NULL, in, 1, MPI_INT, inter)), MPI_ERR_TYPE);
    CHECK_EQUAL(class_of(MPI_Allreduce(out, in, 1, MPI_INT, MPI_OP_NULL, inter)), MPI_ERR_OP);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_ARE_FATAL);
}

int main(int count, char **arguments)
{
    const char *names[] = { "collectives", "copies", "parts", "refusals" };
    void (*const tests[])(void) = { collectives, copies, parts, refusals };
    MPI_Comm local;

    begin(&count, &arguments);
    side = rank % 3 != 0;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &local);
    if (size > 1) {
        MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side ? 0 : 1, 12, &inter);
        MPI_Comm_rank(inter, &own);
        MPI_Comm_size(inter, &mine);
        MPI_Comm_remote_size(inter, &theirs);
    }
    for (int i = 0; i < 4; i++) {
        if (size > 1)
            tests[i]();
        passed(names[i]);
    }
    if (size > 1)
        MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    MPI_Finalize();
    return 0;
}
