/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * info.c: lists of keys and values, in the order in which the keys were set. The library accepts hints and
 * ignores them: no key changes its behaviour.
 *
 * MPI_INFO_ENV describes how the program was started; it is filled at its first use. Runs under the library's
 * lock.
 *
 * Source: MPI 3.1 chapter 9; §8.7 and §10.3.4 (the keys of MPI_INFO_ENV).
 */
#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct entry {
    char *key, *value;
};

struct mpi_info {
    bool is_live; /* false once it is freed */
    int count, room;
    struct entry *entries;
};

struct mpi_info mpi_lite_info_env = { .is_live = true };
static bool env_filled;

/* ---- Lists ---- */

static struct entry *entry_find(const struct mpi_info *info, const char *key)
{
    for (int i = 0; i < info->count; i++)
        if (strcmp(info->entries[i].key, key) == 0)
            return &info->entries[i];
    return NULL;
}

static int room_make(struct mpi_info *info)
{
    int room = info->room ? 2 * info->room : 4;
    struct entry *larger;

    if (info->count < info->room)
        return MPI_SUCCESS;
    larger = realloc(info->entries, (size_t)room * sizeof(*larger));
    if (!larger)
        return mpi_out_of_memory();
    info->entries = larger;
    info->room = room;
    return MPI_SUCCESS;
}

static int entry_set(struct mpi_info *info, const char *key, const char *value)
{
    struct entry *entry = entry_find(info, key);
    int error = entry ? MPI_SUCCESS : room_make(info);
    char *own_key = error || entry ? NULL : strdup(key), *own_value = error ? NULL : strdup(value);

    if (!own_value || (!entry && !own_key)) {
        free(own_key);
        free(own_value);
        return mpi_out_of_memory();
    }
    if (entry) {
        free(entry->value);
        entry->value = own_value;
    } else {
        info->entries[info->count++] = (struct entry){ own_key, own_value };
    }
    return MPI_SUCCESS;
}

static void entry_delete(struct mpi_info *info, struct entry *entry)
{
    struct entry *end = info->entries + info->count--;

    free(entry->key);
    free(entry->value);
    memmove(entry, entry + 1, (size_t)(end - entry - 1) * sizeof(*entry));
}

static struct mpi_info *info_make(void)
{
    struct mpi_info *info = object_make(sizeof(*info));

    if (!info)
        return NULL;
    info->is_live = true;
    mpi_live[LIVE_INFO]++;
    return info;
}

static void info_free(struct mpi_info *info)
{
    while (info->count)
        entry_delete(info, info->entries + info->count - 1);
    free(info->entries);
    handle_release(info);
    object_end(info, sizeof(*info));
    mpi_live[LIVE_INFO]--;
}

static int env_fill(struct mpi_info *info)
{
    static const char *const levels[] = { "MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                                          "MPI_THREAD_MULTIPLE" };
    char text[MPI_MAX_INFO_VAL];
    struct utsname system;
    int error;

    snprintf(text, sizeof(text), "%d", mpi_world.size);
    error = entry_set(info, "maxprocs", text);
    if (!error)
        error = entry_set(info, "thread_level", levels[mpi_world.thread_level]);
    if (!error && getcwd(text, sizeof(text)))
        error = entry_set(info, "wdir", text);
    if (!error && uname(&system) == 0) {
        error = entry_set(info, "host", system.nodename);
        if (!error)
            error = entry_set(info, "arch", system.machine);
    }
    env_filled = !error;
    return error;
}

/* ---- Checks ---- */

static int check_info(struct mpi_info *info, bool changes)
{
    int error = check_comm(MPI_COMM_WORLD);

    if (!error && info == MPI_INFO_NULL)
        error = mpi_error(MPI_ERR_INFO, "argument info: MPI_INFO_NULL");
    if (!error)
        error = check_live(info->is_live, MPI_ERR_INFO, "info");
    if (!error && info == MPI_INFO_ENV && changes)
        error = mpi_error(MPI_ERR_INFO, "argument info: MPI_INFO_ENV, which cannot be changed");
    if (!error && info == MPI_INFO_ENV && !env_filled)
        error = env_fill(info);
    return error;
}

static int check_key(const char *key)
{
    if (!key || !*key)
        return mpi_error(MPI_ERR_INFO_KEY, "argument key: it is empty");
    if (strlen(key) >= MPI_MAX_INFO_KEY)
        return mpi_error(MPI_ERR_INFO_KEY, "argument key: %zu bytes, more than %d", strlen(key),
                         MPI_MAX_INFO_KEY - 1);
    return MPI_SUCCESS;
}

static int check_value(const char *value)
{
    if (!value)
        return mpi_error(MPI_ERR_INFO_VALUE, "argument value: NULL");
    if (strlen(value) >= MPI_MAX_INFO_VAL)
        return mpi_error(MPI_ERR_INFO_VALUE, "argument value: %zu bytes, more than %d", strlen(value),
                         MPI_MAX_INFO_VAL - 1);
    return MPI_SUCCESS;
}

/* ---- Calls ---- */

static int Info_create(MPI_Info *info)
{
    *info = info_make();
    return *info ? MPI_SUCCESS : mpi_out_of_memory();
}
MPI_CALL(Info_create);

static int Info_set(MPI_Info info, const char *key, const char *value)
{
    int error = check_value(value);
    return error ? error : entry_set(info, key, value);
}
MPI_CALL(Info_set);

static int Info_delete(MPI_Info info, const char *key)
{
    if (!entry_find(info, key))
        return mpi_error(MPI_ERR_INFO_NOKEY, "argument key: \"%s\" is not in the info object", key);
    entry_delete(info, entry_find(info, key));
    return MPI_SUCCESS;
}
MPI_CALL(Info_delete);

static int Info_get(MPI_Info info, const char *key, int length, char *value, int *flag)
{
    if (length < 0)
        return mpi_error(MPI_ERR_ARG, "argument valuelen: %d is negative", length);
    int error = check_output(value, "value");
    if (error)
        return error;
    const struct entry *entry = entry_find(info, key);

    *flag = entry != NULL;
    if (entry)
        snprintf(value, (size_t)length + 1, "%s", entry->value); /* `length` is without the NUL */
    return MPI_SUCCESS;
}
MPI_CALL(Info_get);

static int Info_get_valuelen(MPI_Info info, const char *key, int *length, int *flag)
{
    const struct entry *entry = entry_find(info, key);

    *flag = entry != NULL;
    if (entry)
        *length = (int)strlen(entry->value);
    return MPI_SUCCESS;
}
MPI_CALL(Info_get_valuelen);

static int Info_get_nkeys(MPI_Info info, int *count)
{
    *count = info->count;
    return MPI_SUCCESS;
}
MPI_CALL(Info_get_nkeys);

static int Info_get_nthkey(MPI_Info info, int n, char *key)
{
    if (n < 0 || n >= info->count)
        return mpi_error(MPI_ERR_ARG, "argument n: %d is no key of %d, counted from 0", n, info->count);
    strcpy(key, info->entries[n].key);
    return MPI_SUCCESS;
}
MPI_CALL(Info_get_nthkey);

static int info_copy(struct mpi_info *from, struct mpi_info **made)
{
    struct mpi_info *copy = info_make();
    int error = copy ? MPI_SUCCESS : mpi_out_of_memory();

    for (int i = 0; i < from->count && !error; i++)
        error = entry_set(copy, from->entries[i].key, from->entries[i].value);
    if (error && copy)
        info_free(copy);
    else
        *made = copy;
    return error;
}

static int Info_dup(MPI_Info info, MPI_Info *made)
{
    return info_copy(info, made);
}
MPI_CALL(Info_dup);

static int Info_free(MPI_Info *info)
{
    int error = check_info(*info, true);
    if (error)
        return error;
    info_free(*info);
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}
MPI_CALL(Info_free);
