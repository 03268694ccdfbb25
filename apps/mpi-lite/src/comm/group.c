/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.c: groups, which are ordered sets of processes, and operations on them.
 *
 * A group lists the world ranks of its members. An operation that needs the reverse, the rank of a process in
 * a group, first makes an index by world rank, so that no operation is quadratic. A group never changes after
 * group_seal. Groups and communicators that use one share it by its reference count.
 *
 * Runs under the library's lock.
 *
 * Source: MPI 3.1 §6.3.
 */
#include "comm/comm.h"
#include <stdlib.h>
#include <string.h>

struct mpi_group mpi_lite_group_empty = { .references = 1, .rank = MPI_UNDEFINED };

struct mpi_group *group_make(int size, const int *world)
{
    if (size == 0) {
        group_hold(MPI_GROUP_EMPTY);
        return MPI_GROUP_EMPTY;
    }
    struct mpi_group *group = object_make(sizeof(*group) + (size_t)size * sizeof(int));
    if (!group)
        return NULL;
    *group = (struct mpi_group){ 1, size, MPI_UNDEFINED, (int *)(group + 1) };
    if (world) {
        memcpy(group + 1, world, (size_t)size * sizeof(int));
        group_seal(group);
    }
    return group;
}

int *group_ranks(struct mpi_group *group)
{
    return group == MPI_GROUP_EMPTY ? NULL : (int *)(group + 1);
}

void group_seal(struct mpi_group *group)
{
    for (int i = 0; i < group->size; i++)
        if (group->world[i] == mpi_world.rank)
            group->rank = i;
}

void group_hold(struct mpi_group *group)
{
    group->references++;
}

void group_release(struct mpi_group *group)
{
    if (--group->references || group == MPI_GROUP_EMPTY)
        return;
    handle_release(group);
    object_end(group, sizeof(*group) + (size_t)group->size * sizeof(int));
}

int group_given(const struct mpi_group *group)
{
    mpi_live[LIVE_GROUP] += group && group != MPI_GROUP_EMPTY;
    return group ? MPI_SUCCESS : mpi_out_of_memory();
}

int *group_index(const struct mpi_group *group)
{
    int *index = calloc((size_t)mpi_world.size, sizeof(*index));

    for (int i = 0; index && i < group->size; i++)
        index[group->world[i]] = i + 1;
    return index;
}

int group_order(const struct mpi_group *one, const struct mpi_group *two)
{
    int order = MPI_IDENT;

    if (one == two)
        return MPI_IDENT;
    if (one->size != two->size)
        return MPI_UNEQUAL;
    for (int i = 0; i < one->size && order == MPI_IDENT; i++)
        if (one->world[i] != two->world[i])
            order = MPI_SIMILAR;
    if (order == MPI_IDENT)
        return order;
    int *index = group_index(one);
    if (!index)
        return -1;
    for (int i = 0; i < two->size && order == MPI_SIMILAR; i++)
        if (!index[two->world[i]])
            order = MPI_UNEQUAL;
    free(index);
    return order;
}

int check_group(const struct mpi_group *group, const char *argument)
{
    int error = check_comm(MPI_COMM_WORLD);

    if (!error && group == MPI_GROUP_NULL)
        error = mpi_error(MPI_ERR_GROUP, "argument %s: MPI_GROUP_NULL", argument);
    return error ? error : check_live(group->references, MPI_ERR_GROUP, argument);
}

/* ---- What a group is ---- */

static int Group_size(MPI_Group group, int *size)
{
    *size = group->size;
    return MPI_SUCCESS;
}
MPI_CALL(Group_size);

static int Group_rank(MPI_Group group, int *rank)
{
    *rank = group->rank;
    return MPI_SUCCESS;
}
MPI_CALL(Group_rank);

static int check_group_rank(int rank, const struct mpi_group *group)
{
    if (rank < 0 || rank >= group->size)
        return mpi_error(MPI_ERR_RANK, "argument ranks: %d is no rank of a group of %d", rank, group->size);
    return MPI_SUCCESS;
}

static int check_two_groups(const struct mpi_group *one, const struct mpi_group *two)
{
    int error = check_group(one, "group1");

    return error ? error : check_group(two, "group2");
}

static int ranks_translate(const struct mpi_group *from, int count, const int *ranks,
                           const struct mpi_group *to, int *found)
{
    int error = MPI_SUCCESS;

    if (count < 0)
        return mpi_error(MPI_ERR_ARG, "argument n: %d is negative", count);
    if (count)
        error = check_output(found, "ranks2");
    if (error)
        return error;
    int *index = group_index(to);
    if (!index)
        return mpi_out_of_memory();
    for (int i = 0; i < count && !error; i++) {
        if (ranks[i] == MPI_PROC_NULL) {
            found[i] = MPI_PROC_NULL;
            continue;
        }
        error = check_group_rank(ranks[i], from);
        if (!error) {
            int place = index[from->world[ranks[i]]];

            found[i] = place ? place - 1 : MPI_UNDEFINED;
        }
    }
    free(index);
    return error;
}

static int Group_translate_ranks(MPI_Group from, int count, const int ranks[], MPI_Group to, int found[])
{
    return ranks_translate(from, count, ranks, to, found);
}
MPI_CALL(Group_translate_ranks);

static int Group_compare(MPI_Group one, MPI_Group two, int *result)
{
    *result = group_order(one, two);
    return *result < 0 ? mpi_out_of_memory() : MPI_SUCCESS;
}
MPI_CALL(Group_compare);

static int Group_free(MPI_Group *group)
{
    int error = check_group(*group, "group");
    if (error)
        return error;
    mpi_live[LIVE_GROUP] -= *group != MPI_GROUP_EMPTY; /* the program need not free MPI_GROUP_EMPTY */
    group_release(*group);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}
MPI_CALL(Group_free);

/* ---- Sets ---- */

/* Writes the members of `group` that are in the index, or with `in` false are not; returns how many. */
static int members_pick(const struct mpi_group *group, const int *index, bool in, int *to)
{
    int count = 0;

    for (int i = 0; i < group->size; i++)
        if ((index[group->world[i]] != 0) == in)
            to[count++] = group->world[i];
    return count;
}

enum group_set { SET_UNION, SET_INTERSECTION, SET_DIFFERENCE };

static int set_make(enum group_set set, const struct mpi_group *one, const struct mpi_group *two,
                    struct mpi_group **made)
{
    size_t room = (size_t)one->size + (size_t)two->size + 1;
    int *index = group_index(set == SET_UNION ? one : two), *members = malloc(room * sizeof(int));
    int count = 0;

    *made = NULL;
    if (index && members && set == SET_UNION) {
        for (; count < one->size; count++)
            members[count] = one->world[count];
        count += members_pick(two, index, false, members + count);
    } else if (index && members) {
        count = members_pick(one, index, set == SET_INTERSECTION, members);
    }
    if (index && members)
        *made = group_make(count, members);
    free(index);
    free(members);
    return group_given(*made);
}

static int set_call(const char *name, enum group_set set, struct mpi_group *one, struct mpi_group *two,
                    struct mpi_group **made)
{
    mpi_enter();
    int error = check_two_groups(one, two);
    if (!error)
        error = check_output(made, "newgroup");
    if (!error)
        error = set_make(set, one, two, made);
    return mpi_leave_with(NULL, name, error);
}

int PMPI_Group_union(MPI_Group one, MPI_Group two, MPI_Group *made)
{
    return set_call("MPI_Group_union", SET_UNION, one, two, made);
}
MPI_ALIAS(Group_union);

int PMPI_Group_intersection(MPI_Group one, MPI_Group two, MPI_Group *made)
{
    return set_call("MPI_Group_intersection", SET_INTERSECTION, one, two, made);
}
MPI_ALIAS(Group_intersection);

int PMPI_Group_difference(MPI_Group one, MPI_Group two, MPI_Group *made)
{
    return set_call("MPI_Group_difference", SET_DIFFERENCE, one, two, made);
}
MPI_ALIAS(Group_difference);

/* ---- Choices by rank ---- */

/* Ranks of a group that a call names, each at most once. */
struct choice {
    const struct mpi_group *group;
    int count;
    int *world;  /* of the named ranks, in their order */
    bool *named; /* by rank */
};

static int choice_begin(struct choice *choice, const struct mpi_group *group)
{
    *choice = (struct choice){ .group = group };
    choice->world = malloc(((size_t)group->size + 1) * sizeof(int));
    choice->named = calloc((size_t)group->size + 1, sizeof(bool));
    return choice->world && choice->named ? MPI_SUCCESS : mpi_out_of_memory();
}

static int choice_add(struct choice *choice, int rank)
{
    int error = check_group_rank(rank, choice->group);

    if (error)
        return error;
    if (choice->named[rank])
        return mpi_error(MPI_ERR_RANK, "argument ranks: %d is named twice", rank);
    choice->named[rank] = true;
    choice->world[choice->count++] = choice->group->world[rank];
    return MPI_SUCCESS;
}

static int choice_add_range(struct choice *choice, const int range[3])
{
    int error = MPI_SUCCESS;

    if (range[2] == 0)
        return mpi_error(MPI_ERR_ARG, "argument ranges: a stride is 0");
    for (int64_t rank = range[0]; !error && (range[2] > 0 ? rank <= range[1] : rank >= range[1]);
         rank += range[2])
        error = choice_add(choice, rank > INT32_MAX || rank < 0 ? -1 : (int)rank);
    return error;
}

/* Makes the group of the named ranks, or of the others in the order of the group. */
static int choice_make(struct choice *choice, bool includes, struct mpi_group **made)
{
    if (!includes) {
        choice->count = 0;
        for (int i = 0; i < choice->group->size; i++)
            if (!choice->named[i])
                choice->world[choice->count++] = choice->group->world[i];
    }
    *made = group_make(choice->count, choice->world);
    return group_given(*made);
}

/* Does a call with a list of ranks or of ranges; the other one is NULL. */
static int choice_call(const char *name, struct mpi_group *group, int count, const int *ranks,
                       int (*ranges)[3], bool includes, struct mpi_group **made)
{
    struct choice choice = { 0 };

    mpi_enter();
    int error = check_group(group, "group");
    if (!error)
        error = check_output(made, "newgroup");
    if (!error && count < 0)
        error = mpi_error(MPI_ERR_ARG, "argument n: %d is negative", count);
    if (!error)
        error = choice_begin(&choice, group);
    for (int i = 0; i < count && !error; i++)
        error = ranges ? choice_add_range(&choice, ranges[i]) : choice_add(&choice, ranks[i]);
    if (!error)
        error = choice_make(&choice, includes, made);
    free(choice.world);
    free(choice.named);
    return mpi_leave_with(NULL, name, error);
}

int PMPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group *made)
{
    return choice_call("MPI_Group_incl", group, count, ranks, NULL, true, made);
}
MPI_ALIAS(Group_incl);

int PMPI_Group_excl(MPI_Group group, int count, const int ranks[], MPI_Group *made)
{
    return choice_call("MPI_Group_excl", group, count, ranks, NULL, false, made);
}
MPI_ALIAS(Group_excl);

int PMPI_Group_range_incl(MPI_Group group, int count, int ranges[][3], MPI_Group *made)
{
    return choice_call("MPI_Group_range_incl", group, count, NULL, ranges, true, made);
}
MPI_ALIAS(Group_range_incl);

int PMPI_Group_range_excl(MPI_Group group, int count, int ranges[][3], MPI_Group *made)
{
    return choice_call("MPI_Group_range_excl", group, count, NULL, ranges, false, made);
}
MPI_ALIAS(Group_range_excl);
