/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm.c: communicators: the two that are always there, their contexts, copies, names, hints and end.
 *
 * MPI_COMM_WORLD has the context 0, MPI_COMM_SELF 2; their objects are in this file, so that the handles are
 * constants in C. A new context is the highest number that any member proposes. Where threads make several
 * communicators at once, a process proposes in one agreement at a time; in the others it says that it is not
 * ready, and all of their members try again. Of those that wait, the lowest context goes first on every
 * process, so one of them always ends.
 *
 * Runs under the library's lock. Source: MPI 3.1 §6.2, §6.4, §6.8 (names).
 */
#include "comm/comm.h"
#include <stdlib.h>
#include <string.h>

struct mpi_comm mpi_lite_comm_world, mpi_lite_comm_self;

static int live_count;
static struct mpi_group world_group, self_group;

int comm_out_of_memory(void)
{
    return mpi_error(MPI_ERR_NO_MEM, "no memory left");
}

/* ---- Making and end ---- */

static void comm_fill(struct mpi_comm *comm, uint32_t context, struct mpi_group *group, const char *name)
{
    comm->references = 1;
    comm->context = context;
    comm->group = comm->remote = group;
    comm->rank = group->rank;
    comm->size = group->size;
    strncat(comm->name, name, sizeof(comm->name) - 1);
}

void comm_world_begin(void)
{
    int *all = calloc((size_t)mpi_world.size, sizeof(*all));

    if (!all)
        mpi_abort(1, "no memory for %d ranks", mpi_world.size);
    for (int i = 0; i < mpi_world.size; i++)
        all[i] = i;
    world_group = (struct mpi_group){ 1, mpi_world.size, mpi_world.rank, all };
    self_group = (struct mpi_group){ 1, 1, 0, all + mpi_world.rank };
    comm_fill(MPI_COMM_WORLD, 0, &world_group, "MPI_COMM_WORLD");
    comm_fill(MPI_COMM_SELF, 2, &self_group, "MPI_COMM_SELF");
}

static void comm_world_release(struct mpi_comm *comm)
{
    errhandler_release(comm->errhandler);
    comm_nodes_free(comm->nodes);
    comm->errhandler = NULL;
    comm->nodes = NULL;
}

void comm_world_end(void)
{
    comm_world_release(MPI_COMM_WORLD);
    comm_world_release(MPI_COMM_SELF);
    free((void *)(uintptr_t)world_group.world);
    world_group.world = self_group.world = NULL;
}

int comm_live_count(void)
{
    return live_count;
}

struct mpi_comm *comm_make(uint32_t context, struct mpi_group *group, struct mpi_group *remote, bool inter)
{
    struct mpi_comm *comm = object_make(sizeof(*comm));

    if (!comm)
        return NULL;
    comm_fill(comm, context, group, "");
    comm->remote = remote;
    comm->inter = inter;
    group_hold(group);
    if (remote != group)
        group_hold(remote);
    live_count++;
    return comm;
}

struct mpi_comm *comm_make_child(const struct mpi_comm *parent, uint32_t context, struct mpi_group *group,
                                 struct mpi_group *remote, bool inter)
{
    struct mpi_comm *comm = comm_make(context, group, remote, inter);

    if (comm && parent->errhandler) {
        comm->errhandler = parent->errhandler;
        comm->errhandler->references++;
    }
    return comm;
}

void comm_hold(struct mpi_comm *comm)
{
    comm->references++;
}

void comm_release(struct mpi_comm *comm)
{
    if (--comm->references)
        return;
    if (comm->local)
        comm_release(comm->local);
    if (comm->remote != comm->group)
        group_release(comm->remote);
    group_release(comm->group);
    errhandler_release(comm->errhandler);
    if (comm->topology)
        topology_free(comm->topology);
    comm_nodes_free(comm->nodes);
    live_count -= !comm->hidden;
    handle_release(comm);
    object_end(comm, sizeof(*comm));
}

void comm_hide(struct mpi_comm *comm)
{
    live_count -= !comm->hidden;
    comm->hidden = true;
}

/* ---- Contexts ---- */

/* An agreement under way in this process. A reduction gives every member the greatest of each of two values.
 */
struct agreement {
    struct agreement *next;
    struct mpi_comm *comm;
    const struct bridge *bridge;   /* or NULL */
    const struct mpi_group *group; /* or NULL */
    int tag;
    bool proposes; /* in the reduction that runs */
};

static struct agreement *agreements;
static uint32_t context_next = 4;

static bool agreement_precedes(const struct agreement *one, const struct agreement *two)
{
    if (one->comm->context != two->comm->context)
        return one->comm->context < two->comm->context;
    return one->tag < two->tag;
}

static bool agreement_may_propose(const struct agreement *agreement)
{
    for (const struct agreement *other = agreements; other; other = other->next)
        if (other != agreement && (other->proposes || agreement_precedes(other, agreement)))
            return false;
    return true;
}

int comm_swap(struct mpi_comm *comm, int tag, struct mpi_datatype *type, const void *out, int out_count,
              int to, void *in, int in_count, int from)
{
    uint32_t context = comm->context + 1;
    struct mpi_request *receive = message_receive(in, (size_t)in_count, type, from, tag, comm, context);
    struct mpi_request *send =
        receive ? message_send(SEND_STANDARD, out, (size_t)out_count, type, to, tag, comm, context) : NULL;

    if (!send)
        return comm_out_of_memory();
    int error = request_wait(&send, MPI_STATUS_IGNORE);
    int receive_error = request_wait(&receive, MPI_STATUS_IGNORE);
    return error ? error : receive_error;
}

static void values_raise(uint64_t values[2], const uint64_t others[2])
{
    for (int i = 0; i < 2; i++)
        if (others[i] > values[i])
            values[i] = others[i];
}

/* By dissemination: the greatest of values may be counted twice. [MPI 3.1 §6.4.2, MPI_Comm_create_group] */
static int group_reduce(const struct agreement *agreement, uint64_t values[2])
{
    const struct mpi_group *group = agreement->group;
    int *index = group_index(agreement->comm->group);
    int error = index ? MPI_SUCCESS : comm_out_of_memory();

    for (int distance = 1; distance < group->size && !error; distance *= 2) {
        int to = group->world[(group->rank + distance) % group->size];
        int from = group->world[(group->rank - distance + group->size) % group->size];
        uint64_t others[2] = { 0, 0 };

        error = comm_swap(agreement->comm, agreement->tag, MPI_UINT64_T, values, 2, index[to] - 1, others, 2,
                          index[from] - 1);
        values_raise(values, others);
    }
    free(index);
    return error;
}

static int agreement_reduce(const struct agreement *agreement, uint64_t values[2])
{
    uint64_t others[2] = { 0, 0 };

    if (agreement->group)
        return group_reduce(agreement, values);
    int error = PMPI_Allreduce(MPI_IN_PLACE, values, 2, MPI_UINT64_T, MPI_MAX, agreement->comm);
    if (!error && agreement->bridge) {
        error = bridge_swap(agreement->bridge, MPI_UINT64_T, values, 2, others, 2);
        values_raise(values, others);
    }
    return error;
}

static int agreement_run(struct agreement *agreement, uint32_t *context)
{
    uint64_t values[2]; /* the proposed context; whether a member was not ready */
    bool is_alone = mpi_world.thread_level < MPI_THREAD_MULTIPLE; /* no other agreement can be under way */
    int error = MPI_SUCCESS;

    /* Others must not wait for this one while a member's program has not called yet: where there are threads,
     * the first reduction only shows that all have. */
    if (!is_alone) {
        values[0] = 0;
        values[1] = 1;
        error = agreement_reduce(agreement, values);
    }
    agreement->next = agreements;
    agreements = agreement;
    while (!error) {
        agreement->proposes = agreement_may_propose(agreement);
        values[0] = context_next;
        values[1] = !agreement->proposes;
        error = agreement_reduce(agreement, values);
        agreement->proposes = false;
        if (!values[1])
            break;
        progress_yield(); /* to the thread that stands before this one */
    }
    struct agreement **link = &agreements;
    while (*link != agreement)
        link = &(*link)->next;
    *link = agreement->next;
    if (!error && values[0] >= CONTEXTS_AGREED)
        error = mpi_error(MPI_ERR_INTERN, "1073741822 communicators were made; no context is left");
    if (error)
        return error;
    *context = (uint32_t)values[0];
    if (context_next < *context + 2)
        context_next = *context + 2;
    return MPI_SUCCESS;
}

int context_agree(struct mpi_comm *comm, uint32_t *context)
{
    struct bridge bridge;
    struct agreement agreement = { .comm = comm, .tag = -1 };

    if (comm->inter) {
        bridge = bridge_of(comm);
        return context_agree_across(&bridge, context);
    }
    return agreement_run(&agreement, context);
}

int context_agree_across(const struct bridge *bridge, uint32_t *context)
{
    struct agreement agreement = { .comm = bridge->local, .bridge = bridge, .tag = -1 };

    return agreement_run(&agreement, context);
}

int context_agree_in_group(struct mpi_comm *comm, const struct mpi_group *group, int tag, uint32_t *context)
{
    struct agreement agreement = { .comm = comm, .group = group, .tag = tag_inner(tag) };

    return agreement_run(&agreement, context);
}

/* ---- What a communicator is ---- */

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    int error = check_comm(comm);

    if (!error)
        error = check_output(rank, "rank");
    if (!error)
        *rank = comm->rank;
    return error ? mpi_return(NULL, "MPI_Comm_rank", error) : MPI_SUCCESS;
}
MPI_ALIAS(Comm_rank);

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    int error = check_comm(comm);

    if (!error)
        error = check_output(size, "size");
    if (!error)
        *size = comm->size;
    return error ? mpi_return(NULL, "MPI_Comm_size", error) : MPI_SUCCESS;
}
MPI_ALIAS(Comm_size);

static int comm_give(struct mpi_comm *heard, const char *name, int error)
{
    error = mpi_return(heard, name, error);
    mpi_leave();
    return error;
}

int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    mpi_enter();
    int error = check_comm(comm);
    if (!error)
        error = check_output(group, "group");
    if (!error) {
        group_hold(comm->group);
        *group = comm->group;
        error = group_given(*group);
    }
    return comm_give(NULL, "MPI_Comm_group", error);
}
MPI_ALIAS(Comm_group);

static int comm_order(const struct mpi_comm *one, const struct mpi_comm *two)
{
    if (one == two)
        return MPI_IDENT;
    if (one->inter != two->inter)
        return MPI_UNEQUAL;
    int local = group_order(one->group, two->group);
    int remote = one->inter ? group_order(one->remote, two->remote) : local;
    if (local < 0 || remote < 0)
        return -1;
    int order = local > remote ? local : remote;
    return order == MPI_IDENT ? MPI_CONGRUENT : order;
}

int PMPI_Comm_compare(MPI_Comm one, MPI_Comm two, int *result)
{
    mpi_enter();
    int error = check_comm(one);
    struct mpi_comm *heard = error ? NULL : one;
    if (!error)
        error = check_output(result, "result");
    if (!error)
        error = check_comm(two);
    if (!error) {
        *result = comm_order(one, two);
        if (*result < 0)
            error = comm_out_of_memory();
    }
    return comm_give(heard, "MPI_Comm_compare", error);
}
MPI_ALIAS(Comm_compare);

int PMPI_Comm_set_name(MPI_Comm comm, const char *name)
{
    mpi_enter();
    int error = check_comm(comm);
    if (!error) {
        size_t length = strnlen(name, sizeof(comm->name) - 1); /* longer ones are cut */

        memmove(comm->name, name, length);
        comm->name[length] = '\0';
    }
    return comm_give(NULL, "MPI_Comm_set_name", error);
}
MPI_ALIAS(Comm_set_name);

int PMPI_Comm_get_name(MPI_Comm comm, char *name, int *length)
{
    mpi_enter();
    int error = check_comm(comm);
    if (!error)
        error = check_output(name, "comm_name");
    if (!error)
        error = check_output(length, "resultlen");
    if (!error) {
        strcpy(name, comm->name);
        *length = (int)strlen(name);
    }
    return comm_give(NULL, "MPI_Comm_get_name", error);
}
MPI_ALIAS(Comm_get_name);

/* No hint makes a difference, so none is in use. */
int PMPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    (void)info;
    mpi_enter();
    return comm_give(NULL, "MPI_Comm_set_info", check_comm(comm));
}
MPI_ALIAS(Comm_set_info);

int PMPI_Comm_get_info(MPI_Comm comm, MPI_Info *info)
{
    mpi_enter();
    int error = check_comm(comm);
    if (!error)
        error = check_output(info, "info_used");
    if (!error)
        error = PMPI_Info_create(info);
    return comm_give(NULL, "MPI_Comm_get_info", error);
}
MPI_ALIAS(Comm_get_info);

/* ---- Copies and end ---- */

int comm_end(struct mpi_comm *comm)
{
    int error = attributes_free(comm, &comm->attributes);

    if (!error)
        comm_release(comm);
    return error;
}

int comm_local_make(struct mpi_comm *comm, uint32_t context)
{
    comm->local = comm_make_child(comm, context, comm->group, comm->group, false);
    if (!comm->local)
        return comm_out_of_memory();
    comm_hide(comm->local);
    return MPI_SUCCESS;
}

static int copy_rest(struct mpi_comm *comm, struct mpi_comm *copy)
{
    if (comm->topology) {
        copy->topology = topology_copy(comm->topology);
        if (!copy->topology)
            return comm_out_of_memory();
    }
    return attributes_copy(comm, comm->attributes, &copy->attributes);
}

int comm_copy_make(struct mpi_comm *comm, uint32_t context, uint32_t local_context, struct mpi_comm **copy)
{
    struct mpi_comm *made = comm_make_child(comm, context, comm->group, comm->remote, comm->inter);
    int error = MPI_SUCCESS;

    *copy = MPI_COMM_NULL;
    if (!made)
        return comm_out_of_memory();
    if (comm->inter)
        error = comm_local_make(made, local_context);
    if (!error)
        error = copy_rest(comm, made);
    if (error)
        comm_end(made);
    else
        *copy = made;
    return error;
}

static int comm_copy(struct mpi_comm *comm, struct mpi_comm **copy)
{
    uint32_t context, local_context = 0;
    int error = context_agree(comm, &context);

    *copy = MPI_COMM_NULL;
    if (!error && comm->inter)
        error = context_agree(comm->local, &local_context);
    return error ? error : comm_copy_make(comm, context, local_context, copy);
}

static int copy_call(const char *name, struct mpi_comm *comm, struct mpi_comm **copy)
{
    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = check_output(copy, "newcomm");
    if (!error)
        error = comm_copy(comm, copy);
    return comm_give(heard, name, error);
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy)
{
    return copy_call("MPI_Comm_dup", comm, copy);
}
MPI_ALIAS(Comm_dup);

int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *copy)
{
    (void)info;
    return copy_call("MPI_Comm_dup_with_info", comm, copy);
}
MPI_ALIAS(Comm_dup_with_info);

static int free_call(const char *name, struct mpi_comm **comm, bool waits)
{
    mpi_enter();
    int error = check_output(comm, "comm");
    if (!error)
        error = check_comm(*comm);
    struct mpi_comm *heard = error ? NULL : *comm;
    if (!error && (*comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF))
        error = mpi_error(MPI_ERR_COMM, "argument comm: %s cannot be freed", (*comm)->name);
    if (!error && waits)
        error = PMPI_Barrier(*comm);
    if (!error && waits)
        progress_wait(outputs_are_empty, NULL);
    if (!error)
        error = comm_end(*comm);
    if (!error)
        *comm = MPI_COMM_NULL;
    return comm_give(heard, name, error);
}

int PMPI_Comm_free(MPI_Comm *comm)
{
    return free_call("MPI_Comm_free", comm, false);
}
MPI_ALIAS(Comm_free);

/* As MPI_Finalize, it is called when the program has completed its communication [§10.5.4]. */
int PMPI_Comm_disconnect(MPI_Comm *comm)
{
    return free_call("MPI_Comm_disconnect", comm, true);
}
MPI_ALIAS(Comm_disconnect);

int PMPI_Comm_get_parent(MPI_Comm *parent)
{
    mpi_enter();
    int error = check_comm(MPI_COMM_WORLD);
    if (!error)
        error = check_output(parent, "parent");
    if (!error)
        *parent = MPI_COMM_NULL; /* a launcher has started this process: there is no MPI_Comm_spawn */
    return comm_give(NULL, "MPI_Comm_get_parent", error);
}
MPI_ALIAS(Comm_get_parent);
