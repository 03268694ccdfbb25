/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * windows.c: the objects of one-sided communication: how they are made, their properties, what a program
 * attaches to them, and the errors of their calls. [MPI 3.1 §11.2, §6.7.3, §6.8, §8.3.2]
 */
#include "check.h"

#define REFUSED(call, expected) refused((call), (expected), #call, __LINE__)

static void refused(int error, int expected, const char *call, int line)
{
    int class = -1;

    MPI_Error_class(error, &class);
    if (class == expected)
        return;
    fprintf(stderr, "windows.c:%d: rank %d: %s has the class %d, not %d\n", line, rank, call, class,
            expected);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void says(MPI_Win win, void *base, MPI_Aint bytes, int unit, int flavor)
{
    void *value = NULL;
    int flag = 0;

    MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag);
    CHECK(flag && (value == base || !bytes));
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag);
    CHECK(flag);
    CHECK_EQUAL(*(MPI_Aint *)value, bytes);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag);
    CHECK(flag && *(int *)value == unit);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag);
    CHECK(flag && *(int *)value == flavor);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag);
    CHECK(flag && *(int *)value == MPI_WIN_UNIFIED);
}

static void flavors(void)
{
    MPI_Win win;
    MPI_Group group, world;
    int order = -1;
    char bytes[40], *base = NULL;

    MPI_Win_create(bytes, rank % 2 ? 0 : 40, 1 + rank, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    says(win, bytes, rank % 2 ? 0 : 40, 1 + rank, MPI_WIN_FLAVOR_CREATE);
    MPI_Win_get_group(win, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &order);
    CHECK_EQUAL(order, MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
    MPI_Win_allocate(1024 * (rank + 1), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    says(win, base, 1024 * (rank + 1), 8, MPI_WIN_FLAVOR_ALLOCATE);
    memset(base, rank, 1024 * ((size_t)rank + 1));
    MPI_Win_free(&win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    says(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    MPI_Win_free(&win);
    MPI_Win_allocate(0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win);
    MPI_Win_free(&win);
    passed("flavors");
}

/* Checks that what each rank of the node has written is visible to all others. */
static void parts_agree(MPI_Win win, MPI_Comm node, long *own, const int *counts)
{
    int node_rank, node_size, unit;
    MPI_Aint bytes;
    long *part;

    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_size(node, &node_size);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i < counts[node_rank]; i++)
        own[i] = 1000 * node_rank + i;
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    for (int by = 0; by < node_size; by++) {
        MPI_Win_shared_query(win, by, &bytes, &unit, &part);
        CHECK_EQUAL(bytes, counts[by] * (MPI_Aint)sizeof(long));
        CHECK_EQUAL(unit, sizeof(long));
        CHECK(by != node_rank || part == own || !bytes);
        for (int i = 0; i < counts[by]; i++)
            CHECK_EQUAL(part[i], 1000 * by + i);
    }
    MPI_Barrier(node);
    MPI_Win_unlock_all(win);
}

static void shared(void)
{
    int node_rank, node_size, unit = 0, counts[64];
    long *own, *first, *last;
    MPI_Aint bytes = 0;
    MPI_Info info;
    MPI_Comm node;
    MPI_Win win;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_size(node, &node_size);
    CHECK(node_size <= 64);
    for (int i = 0; i < node_size; i++) /* the first rank's part is empty */
        counts[i] = 5 * i;
    MPI_Win_allocate_shared(counts[node_rank] * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, node,
                            &own, &win);
    says(win, own, counts[node_rank] * (MPI_Aint)sizeof(long), sizeof(long), MPI_WIN_FLAVOR_SHARED);
    parts_agree(win, node, own, counts);
    if (node_size > 2) { /* the parts are one array */
        MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &first);
        CHECK_EQUAL(bytes, 5 * (MPI_Aint)sizeof(long));
        MPI_Win_shared_query(win, 2, &bytes, &unit, &last);
        CHECK(first + 5 == last);
    }
    MPI_Win_free(&win);
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    counts[0] = 3;
    MPI_Win_allocate_shared(counts[node_rank] * (MPI_Aint)sizeof(long), sizeof(long), info, node, &own, &win);
    parts_agree(win, node, own, counts);
    MPI_Info_free(&info);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
    passed("shared");
}

static int copied, deleted;

static int copy(MPI_Win win, int keyval, void *state, void *from, void *to, int *flag)
{
    (void)win, (void)keyval, (void)state, (void)from, (void)to;
    copied++;
    *flag = 0;
    return MPI_SUCCESS;
}

static int delete (MPI_Win win, int keyval, void *value, void *state)
{
    (void)win, (void)keyval, (void)value;
    CHECK(*(int *)state == 77);
    deleted++;
    return MPI_SUCCESS;
}

static void kept(void)
{
    int key = MPI_KEYVAL_INVALID, state = 77, flag = -1, length = -1, value = 5;
    char name[MPI_MAX_OBJECT_NAME] = "x";
    void *found = NULL;
    MPI_Info info;
    MPI_Win win;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_name(win, "halo");
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 4 && strcmp(name, "halo") == 0);
    MPI_Win_create_keyval(copy, delete, &key, &state);
    MPI_Win_get_attr(win, key, &found, &flag);
    CHECK(!flag);
    MPI_Win_set_attr(win, key, &value);
    MPI_Win_get_attr(win, key, &found, &flag);
    CHECK(flag && found == &value);
    MPI_Win_delete_attr(win, key);
    CHECK_EQUAL(deleted, 1);
    MPI_Win_set_attr(win, key, &value);
    MPI_Win_free_keyval(&key);
    CHECK_EQUAL(key, MPI_KEYVAL_INVALID);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "false");
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_get_info(win, &info);
    CHECK(info != MPI_INFO_NULL);
    MPI_Info_free(&info);
    MPI_Win_free(&win);
    CHECK(deleted == 2 && copied == 0);
    passed("kept");
}

static int heard, heard_class;
static MPI_Win heard_win;

static void hear(MPI_Win *win, int *error, ...)
{
    heard_win = *win;
    MPI_Error_class(*error, &heard_class);
    heard++;
}

static void handlers(void)
{
    MPI_Errhandler handler, got;
    MPI_Win win;
    int value = 0;

    MPI_Win_create(&value, sizeof(value), sizeof(value), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_errhandler(win, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL); /* whatever the communicator's handler is */
    MPI_Errhandler_free(&got);
    MPI_Win_create_errhandler(hear, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Win_get_errhandler(win, &got);
    CHECK(got == handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win);
    CHECK(heard == 1 && heard_class == MPI_ERR_RANK && heard_win == win);
    MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    CHECK(heard == 2 && heard_class == MPI_ERR_OTHER);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    passed("handlers");
}

static void errors(void)
{
    static long memory[4];
    void *base = NULL;
    MPI_Group group;
    MPI_Win win = MPI_WIN_NULL, dynamic;
    MPI_Aint bytes;
    int unit;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    REFUSED(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
    REFUSED(MPI_Win_create(memory, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
    REFUSED(MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    REFUSED(MPI_Win_allocate(-5, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_SIZE);
    REFUSED(MPI_Win_get_group(MPI_WIN_NULL, &group), MPI_ERR_WIN);
    REFUSED(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
    REFUSED(MPI_Win_free(&win), MPI_ERR_WIN);
    MPI_Win_create(memory, sizeof(memory), sizeof(memory[0]), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    REFUSED(MPI_Win_attach(win, memory, sizeof(memory)), MPI_ERR_RMA_FLAVOR);
    REFUSED(MPI_Win_shared_query(win, 0, &bytes, &unit, &base), MPI_ERR_RMA_FLAVOR);
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
    REFUSED(MPI_Win_attach(dynamic, memory, -1), MPI_ERR_SIZE);
    CHECK_EQUAL(MPI_Win_attach(dynamic, memory, sizeof(memory)), MPI_SUCCESS);
    CHECK_EQUAL(MPI_Win_detach(dynamic, memory), MPI_SUCCESS);
    MPI_Win_free(&dynamic);
    MPI_Win_free(&win);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    passed("errors");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    flavors();
    shared();
    kept();
    handlers();
    errors();
    MPI_Finalize();
    return 0;
}
