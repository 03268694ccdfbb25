/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communicators.c: groups and their sets; communicators that are copied, split, made of groups; the
 * separation of their messages; intercommunicators. [MPI 3.1 chapter 6]
 */
#include "check.h"

static void check_members(MPI_Group group, const int *expected, int count)
{
    MPI_Group world;
    int members = -1, ranks[64], found[64];

    MPI_Group_size(group, &members);
    CHECK_EQUAL(members, count);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < count; i++)
        ranks[i] = i;
    MPI_Group_translate_ranks(group, count, ranks, world, found);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(found[i], expected[i]);
    MPI_Group_free(&world);
}

static void groups(void)
{
    MPI_Group world, even, odd, reversed, back, all, none;
    int evens[64], odds[64], order[64], backwards[64], even_count = 0, odd_count = 0, result = -1, own = -1;

    for (int i = 0; i < size; i++) {
        if (i % 2)
            odds[odd_count++] = i;
        else
            evens[even_count++] = i;
        backwards[i] = size - 1 - i;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, even_count, evens, &even);
    MPI_Group_excl(world, even_count, evens, &odd);
    MPI_Group_incl(world, size, backwards, &reversed);
    check_members(even, evens, even_count);
    check_members(odd, odds, odd_count);
    check_members(reversed, backwards, size);
    MPI_Group_rank(reversed, &own);
    CHECK_EQUAL(own, size - 1 - rank);
    MPI_Group_rank(odd, &own);
    CHECK_EQUAL(own, rank % 2 ? rank / 2 : MPI_UNDEFINED);
    MPI_Group_union(odd, even, &all);
    for (int i = 0; i < size; i++)
        order[i] = i < odd_count ? odds[i] : evens[i - odd_count];
    check_members(all, order, size);
    MPI_Group_compare(all, world, &result);
    CHECK_EQUAL(result, size == 1 ? MPI_IDENT : MPI_SIMILAR);
    MPI_Group_compare(even, world, &result);
    CHECK_EQUAL(result, size == 1 ? MPI_IDENT : MPI_UNEQUAL);
    MPI_Group_intersection(reversed, even, &back);
    for (int i = 0; i < even_count; i++)
        order[i] = evens[even_count - 1 - i];
    check_members(back, order, even_count);
    MPI_Group_difference(even, world, &none);
    MPI_Group_compare(none, MPI_GROUP_EMPTY, &result);
    CHECK_EQUAL(result, MPI_IDENT);
    int range[1][3] = { { size - 1, 0, -1 } };
    MPI_Group ranged;
    MPI_Group_range_incl(world, 1, range, &ranged);
    MPI_Group_compare(ranged, reversed, &result);
    CHECK_EQUAL(result, MPI_IDENT);
    MPI_Group_free(&ranged);
    MPI_Group_range_excl(world, 1, range, &ranged);
    MPI_Group_size(ranged, &own);
    CHECK_EQUAL(own, 0);
    MPI_Group *all_groups[] = { &world, &even, &odd, &reversed, &back, &all };
    for (unsigned i = 0; i < sizeof(all_groups) / sizeof(all_groups[0]); i++) {
        MPI_Group_free(all_groups[i]);
        CHECK(*all_groups[i] == MPI_GROUP_NULL);
    }
    passed("groups");
}

/* Splits the world into communicators of every third rank, in reverse order. */
static void split(void)
{
    MPI_Comm part, none;
    int own = -1, members = -1, sum = 0, expected = 0, count = 0;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 3, -rank, &part);
    MPI_Comm_rank(part, &own);
    MPI_Comm_size(part, &members);
    for (int i = rank % 3; i < size; i += 3) {
        expected += i;
        count++;
    }
    CHECK_EQUAL(members, count);
    CHECK_EQUAL(own, count - 1 - rank / 3);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
    CHECK_EQUAL(sum, expected);
    int first = own == 0 ? rank : -1;
    MPI_Bcast(&first, 1, MPI_INT, 0, part);
    CHECK_EQUAL(first, rank % 3 + 3 * (count - 1));
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 7, 0, &none);
    CHECK((none == MPI_COMM_NULL) == (rank == 0));
    if (none != MPI_COMM_NULL)
        MPI_Comm_free(&none);
    MPI_Comm_free(&part);
    CHECK(part == MPI_COMM_NULL);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &part);
    MPI_Comm_size(part, &members);
    CHECK(members >= 1 && members <= size);
    MPI_Comm_free(&part);
    passed("split");
}

/* Tests that messages of a copy are separate from the original's; a receive under way when the copy is freed
 * completes. */
static void copies(void)
{
    MPI_Comm copy;
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, one = 1, two = 2, got = 0, result = -1;
    MPI_Request first, second, last;
    MPI_Status status;

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_compare(MPI_COMM_WORLD, copy, &result);
    CHECK_EQUAL(result, MPI_CONGRUENT);
    MPI_Comm_compare(copy, copy, &result);
    CHECK_EQUAL(result, MPI_IDENT);
    MPI_Isend(&one, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &first);
    MPI_Isend(&two, 1, MPI_INT, next, 1, copy, &second);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &status);
    CHECK(got == 2 && status.MPI_SOURCE == previous);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(got == 1 && status.MPI_SOURCE == previous);
    MPI_Wait(&first, MPI_STATUS_IGNORE);
    MPI_Wait(&second, MPI_STATUS_IGNORE);
    MPI_Irecv(&got, 1, MPI_INT, previous, 3, copy, &last);
    MPI_Isend(&two, 1, MPI_INT, next, 3, copy, &first);
    MPI_Comm_free(&copy);
    MPI_Wait(&last, MPI_STATUS_IGNORE);
    MPI_Wait(&first, MPI_STATUS_IGNORE);
    CHECK_EQUAL(got, 2);
    for (int i = 0; i < 50; i++) { /* freed communicators give their contexts back */
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_free(&copy);
    }
    passed("copies");
}

static void of_groups(void)
{
    MPI_Group world, lower;
    MPI_Comm made;
    int range[1][3] = { { 0, size / 2, 1 } }, sum = 0, members = size / 2 + 1;

    if (members > size)
        members = size;
    range[0][1] = members - 1;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &lower);
    MPI_Comm_create(MPI_COMM_WORLD, lower, &made);
    CHECK((made == MPI_COMM_NULL) == (rank >= members));
    if (made != MPI_COMM_NULL) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made);
        CHECK_EQUAL(sum, members * (members - 1) / 2);
        MPI_Comm_free(&made);
    }
    if (rank < members) {
        MPI_Comm_create_group(MPI_COMM_WORLD, lower, 5, &made);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made);
        CHECK_EQUAL(sum, members * (members - 1) / 2);
        MPI_Comm_free(&made);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&lower);
    passed("of groups");
}

/* Tests an intercommunicator of even and odd ranks, and its merge. */
static void between(void)
{
    MPI_Comm side, inter, whole;
    int remote = -1, is_inter = 0, got = -1, own = -1, members = -1;

    if (size < 2) {
        passed("between");
        return;
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 12, &inter);
    MPI_Comm_test_inter(inter, &is_inter);
    CHECK(is_inter);
    MPI_Comm_remote_size(inter, &remote);
    CHECK_EQUAL(remote, rank % 2 ? (size + 1) / 2 : size / 2);
    MPI_Comm_rank(inter, &own);
    CHECK_EQUAL(own, rank / 2);
    if (own < remote) { /* this rank has a partner on the other side */
        MPI_Status status;

        MPI_Sendrecv(&rank, 1, MPI_INT, own, 1, &got, 1, MPI_INT, own, 1, inter, &status);
        CHECK(got == (rank % 2 ? rank - 1 : rank + 1) && status.MPI_SOURCE == own);
    }
    MPI_Intercomm_merge(inter, rank % 2, &whole);
    MPI_Comm_size(whole, &members);
    MPI_Comm_rank(whole, &own);
    CHECK_EQUAL(members, size);
    CHECK_EQUAL(own, rank % 2 ? (size + 1) / 2 + rank / 2 : rank / 2);
    MPI_Barrier(whole);
    MPI_Comm_free(&whole);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&side);
    passed("between");
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    MPI_Comm copy;

    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_name(copy, "a copy");
    MPI_Comm_get_name(copy, name, &length);
    CHECK(strcmp(name, "a copy") == 0 && length == 6);
    MPI_Comm_free(&copy);
    passed("names");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    groups();
    split();
    copies();
    of_groups();
    between();
    names();
    MPI_Finalize();
    return 0;
}
