/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount.c: see mount.h. The calls by path: each walks to what it names, and asks for one thing. It begins
 * again if the connection breaks, unless the server may have executed the request: then it returns -EIO. Runs
 * in system calls, no locks held; memory for paths is the calling rank's.
 *
 * The requests are those that all servers have: if 9P2000.L has two for one thing (renameat, unlinkat), the
 * older.
 */
#include "ninep/mount.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "ninep/names.h"

/* One call, and what it asks for. */
struct query {
    struct mount_call *call, *to;
    bool follow, directory;
    unsigned flags;
    uint32_t mode;
    uint64_t bytes;
    const char *target;
    char *text;
    const struct mount_change *change;
    struct mount_status *status;
    struct mount_statistics *statistics;
    struct mount_file **file;
};

typedef int64_t once(struct ninep_path *path, struct query *query);

/* Does a call, again as often as the connection breaks before the server can have executed it. */
static int64_t perform(struct query *query, once *function)
{
    struct ninep_mount *mount = (struct ninep_mount *)query->call->mount; /* the first member */
    struct ninep_session *session = &mount->session;
    uint64_t deadline_ns = ninep_now_ns() + session->timeout_ns;
    struct ninep_path path;
    uint32_t generation;
    int64_t result;

    do {
        result = ninep_session_ready(session, deadline_ns, &generation);
        if (result)
            break;
        result = ninep_path_begin(&path, session, generation, query->call);
        if (!result)
            result = function(&path, query);
        ninep_path_end(&path);
    } while (ninep_is_broken(result));
    return result == -EPROTO ? -EIO : result;
}

static void name_put(struct ninep_request *request, const char *name)
{
    ninep_put_text(&request->message, name, strlen(name));
}

static int send_once(struct ninep_path *path, struct ninep_request *request)
{
    return ninep_once(ninep_path_call(path, request));
}

/* ---- Asking ---- */

/* Walks to what is meant, and asks or changes one thing of it. */
static int64_t walked_once(struct ninep_path *path, struct query *query)
{
    int result = ninep_path_walk(path, query->follow);

    if (result)
        return result;
    if (query->status)
        return ninep_attributes(path, query->status);
    if (query->change)
        return ninep_change(path, query->change);
    struct ninep_request request = ninep_path_request(path, NINEP_STATFS);
    result = ninep_path_call(path, &request);
    return result ? result : ninep_read_statistics(&request.reader, query->statistics);
}

static int ninep_status(struct mount_call *call, bool follow, struct mount_status *status)
{
    struct query query = { .call = call, .follow = follow, .status = status };
    const struct ninep_file *from = (const struct ninep_file *)call->directory; /* its first member */

    if (from && from->is_removed && (!call->path[0] || strcmp(call->path, ".") == 0)) {
        *status = from->last;
        return 0;
    }
    return (int)perform(&query, walked_once);
}

static int64_t read_link_once(struct ninep_path *path, struct query *query)
{
    int64_t count = ninep_path_walk(path, false);
    const char *target;

    if (count)
        return count;
    if (!(path->qid.type & NINEP_QID_SYMLINK))
        return -EINVAL;
    count = ninep_path_link(path, &target);
    if (count <= 0)
        return count;
    if ((uint64_t)count > query->bytes)
        count = (int64_t)query->bytes;
    memcpy(query->text, target, (size_t)count);
    return count;
}

static int64_t ninep_read_link(struct mount_call *call, char *text, uint64_t bytes)
{
    return perform(&(struct query){ .call = call, .text = text, .bytes = bytes }, read_link_once);
}

static int ninep_statistics(struct mount_call *call, struct mount_statistics *statistics)
{
    return (int)perform(&(struct query){ .call = call, .follow = true, .statistics = statistics },
                        walked_once);
}

/* ---- Changing ---- */

static int ninep_change_path(struct mount_call *call, bool follow, const struct mount_change *change)
{
    return (int)perform(&(struct query){ .call = call, .follow = follow, .change = change }, walked_once);
}

/* Makes a symbolic link if the query has a target, else a directory. */
static int64_t make_once(struct ninep_path *path, struct query *query)
{
    int result = ninep_path_parent(path, -EEXIST);

    if (!result && query->target && path->trailing_slash)
        result = ninep_path_slash(path);
    if (result)
        return result;
    struct ninep_request request = ninep_path_request(path, query->target ? NINEP_SYMLINK : NINEP_MKDIR);
    name_put(&request, path->name);
    if (query->target)
        name_put(&request, query->target);
    else
        ninep_put_u32(&request.message, query->mode & 07777);
    ninep_put_u32(&request.message, query->call->group);
    return send_once(path, &request);
}

static int ninep_make_directory(struct mount_call *call, uint32_t mode)
{
    return (int)perform(&(struct query){ .call = call, .mode = mode }, make_once);
}

static int ninep_make_symlink(struct mount_call *call, const char *target)
{
    return (int)perform(&(struct query){ .call = call, .target = target }, make_once);
}

/* ---- Names that go, of open files (names.h) ---- */

#define HIDDEN_TRIES 4

#define PAUSE_NS 200000

/* Waits until no other thread changes names. -ENOTCONN, which begins the call again, if names have changed
 * since `path` began. names_unlock must follow. */
static int names_lock(struct ninep_path *path)
{
    struct ninep_session *session = path->session;

    while (__atomic_exchange_n(&session->moving, 1, __ATOMIC_ACQUIRE))
        ninep_pause(ninep_now_ns() + PAUSE_NS);
    return __atomic_load_n(&session->moves, __ATOMIC_ACQUIRE) == path->moves ? 0 : -ENOTCONN;
}

static void names_unlock(struct ninep_session *session)
{
    __atomic_store_n(&session->moving, 0, __ATOMIC_RELEASE);
}

/* What happens to the open files of such a name. */
struct going {
    struct mount_call call;
    struct ninep_path directory;  /* that a hidden name is in; its text is that name */
    struct mount_status status;   /* of a directory */
    bool is_directory, is_hidden; /* neither: it has none, or the server gives them no other name */
};

/* Makes the text of a directory's path, which was walked to, that of its last name. */
static int text_complete(struct ninep_path *path)
{
    const uint64_t bytes = strlen(path->scratch->path);

    if (bytes + strlen(path->name) + 2 > TREE_PATH_MAX)
        return -ENAMETOOLONG;
    format_text(path->scratch->path + bytes, TREE_PATH_MAX - bytes, "%s%s", bytes ? "/" : "", path->name);
    return 0;
}

/* Gives the file that `path` was walked to another name in the same directory. */
static int hide(struct going *going, struct ninep_path *path)
{
    struct ninep_path *directory = &going->directory;
    int result;

    going->call = (struct mount_call){ .mount = path->call->mount, .path = path->scratch->path };
    result = ninep_path_begin(directory, path->session, path->generation, &going->call);
    if (result)
        return result;
    result = ninep_path_parent(directory, -EBUSY);
    for (unsigned i = 0; !result && i < HIDDEN_TRIES; i++) {
        struct ninep_request request = ninep_path_request(directory, NINEP_LINK);

        format_text(directory->name, sizeof(directory->name), NINEP_HIDDEN "%lx-%u", path->qid.path, i);
        ninep_put_u32(&request.message, path->fid);
        name_put(&request, directory->name);
        result = send_once(directory, &request);
        going->is_hidden = !result;
        if (result != -EEXIST)
            break;
        result = 0;
    }
    if (!going->is_hidden || text_complete(directory))
        return ninep_is_broken(result) ? result : 0; /* the server has no such links: the files go */
    ninep_names_change(path->session, path->scratch->path, directory->scratch->path, false, true);
    return 0;
}

/* Prepares for the end of the name that `path` was walked to; going_end follows, with what has come of it. */
static int going_begin(struct going *going, struct ninep_path *path)
{
    if (!ninep_name_is_open(path->session, path->scratch->path))
        return 0;
    if (!(path->qid.type & NINEP_QID_DIRECTORY))
        return hide(going, path);
    going->is_directory = true;
    return ninep_attributes(path, &going->status);
}

static int64_t name_remove_once(struct ninep_path *path, struct query *query);
static int ninep_rename(struct mount_call *from, struct mount_call *to, unsigned flags);

static void name_remove(struct mount *mount, const char *text)
{
    struct mount_call call = { .mount = mount, .path = text };
    struct query query = { .call = &call };

    perform(&query, name_remove_once); /* if it fails, the name stays */
}

static void going_end(struct going *going, struct ninep_path *path, int result)
{
    const char *hidden = going->directory.scratch ? going->directory.scratch->path : NULL;

    if (going->is_directory && !result) {
        ninep_names_end(path->session, path->scratch->path, &going->status);
    } else if (going->is_hidden && result && result != -EIO && !ninep_is_broken(result)) {
        ninep_names_change(path->session, hidden, path->scratch->path, false, false);
        name_remove(path->call->mount, hidden);
    }
    ninep_path_end(&going->directory);
}

/* Moves a hidden name out of a directory that is to go, into the one above. Returns whether there was one. */
static bool hidden_lift(struct ninep_path *path)
{
    char *from = (char *)path->scratch->message, *to = path->scratch->other;
    struct mount_call source = { .mount = path->call->mount, .path = from };
    struct mount_call target = { .mount = path->call->mount, .path = to };
    const uint64_t bytes = (uint64_t)(ninep_last_name(path->scratch->path) - path->scratch->path);

    if (!ninep_hidden_find(path->session, path->scratch->path, from))
        return false;
    memcpy(to, from, bytes);
    memcpy(to + bytes, ninep_last_name(from), strlen(ninep_last_name(from)) + 1);
    return ninep_rename(&source, &target, 0) == 0;
}

/* Sends the request that removes what `path` was walked to. */
static int remove_send(struct ninep_path *path)
{
    struct ninep_request request = ninep_path_request(path, NINEP_REMOVE);
    int result = ninep_path_call(path, &request);

    /* The server has released the fid, whatever it answers. */
    if (!ninep_is_broken(result))
        ninep_fid_free(path->session, path->fid, path->generation);
    path->fid = NINEP_ROOT;
    return ninep_once(result);
}

static int64_t name_remove_once(struct ninep_path *path, struct query *query)
{
    int result = ninep_path_walk(path, false);

    (void)query; /* the path has all */
    return result ? result : remove_send(path);
}

static int64_t remove_once(struct ninep_path *path, struct query *query)
{
    static const int errors[2][4] = {
        { [NINEP_LAST_DOT] = -EISDIR, [NINEP_LAST_DOTDOT] = -EISDIR, [NINEP_LAST_START] = -EISDIR },
        { [NINEP_LAST_DOT] = -EINVAL, [NINEP_LAST_DOTDOT] = -ENOTEMPTY, [NINEP_LAST_START] = -EBUSY },
    };
    int error = errors[query->directory][ninep_path_last(query->call->path)];
    bool trailing_slash = path->must_be_directory;
    struct going going = { .is_hidden = false };

    if (error)
        return ninep_path_parent(path, error);
    path->must_be_directory = false; /* the link itself is meant */
    int result = ninep_path_walk(path, false);
    if (result)
        return result;
    bool is_directory = path->qid.type & NINEP_QID_DIRECTORY;
    if (!is_directory && (query->directory || trailing_slash))
        return -ENOTDIR;
    if (is_directory && !query->directory)
        return -EISDIR;
    const bool is_open = ninep_name_is_open(path->session, path->scratch->path);
    if (is_open)
        result = names_lock(path);
    if (!result)
        result = going_begin(&going, path);
    if (!result)
        result = remove_send(path);
    going_end(&going, path, result);
    if (is_open)
        names_unlock(path->session);
    if (result == -ENOTEMPTY && hidden_lift(path))
        return -ENOTCONN; /* once more */
    return result;
}

static int ninep_remove(struct mount_call *call, bool directory)
{
    return (int)perform(&(struct query){ .call = call, .directory = directory }, remove_once);
}

/* Walks the second path of a call, to the directory of its last name. */
static int other_begin(struct ninep_path *other, const struct ninep_path *path, struct query *query,
                       int no_name)
{
    int result = ninep_path_begin(other, path->session, path->generation, query->to);

    return result ? result : ninep_path_parent(other, no_name);
}

static int64_t link_once(struct ninep_path *path, struct query *query)
{
    struct ninep_path other = { .scratch = NULL };
    int result = ninep_path_walk(path, query->follow);

    if (!result)
        result = other_begin(&other, path, query, -EEXIST);
    if (!result && other.trailing_slash)
        result = ninep_path_slash(&other);
    if (!result) {
        struct ninep_request request = ninep_path_request(&other, NINEP_LINK);

        ninep_put_u32(&request.message, path->fid);
        name_put(&request, other.name);
        result = send_once(path, &request);
    }
    ninep_path_end(&other);
    return result;
}

static int ninep_link(struct mount_call *from, bool follow, struct mount_call *to)
{
    return (int)perform(&(struct query){ .call = from, .to = to, .follow = follow }, link_once);
}

/* Renames what `path` was walked to; `to` was walked to the directory. */
static int rename_send(struct ninep_path *path, struct ninep_path *to)
{
    struct ninep_session *session = path->session;
    struct ninep_path target = { .scratch = NULL };
    struct mount_call call = { .mount = path->call->mount, .path = to->scratch->path };
    struct ninep_request request;
    struct going going = { .is_hidden = false };
    int result = text_complete(to);

    if (result)
        return result;
    result = names_lock(path);
    if (!result && ninep_name_is_open(session, call.path)) {
        result = ninep_path_begin(&target, session, path->generation, &call);
        if (!result)
            result = ninep_path_walk(&target, false);
        if (!result && target.qid.path != path->qid.path) /* two names of one file both stay */
            result = going_begin(&going, &target);
        if (result == -ENOENT) /* another node has removed it */
            result = 0;
    }
    if (!result) {
        request = ninep_path_request(path, NINEP_RENAME);
        ninep_put_u32(&request.message, to->fid);
        name_put(&request, to->name);
        result = send_once(path, &request);
    }
    if (target.scratch)
        going_end(&going, &target, result);
    if (!result)
        ninep_names_change(session, path->scratch->path, to->scratch->path,
                           path->qid.type & NINEP_QID_DIRECTORY, false);
    names_unlock(session);
    ninep_path_end(&target);
    return result;
}

static int64_t rename_once(struct ninep_path *path, struct query *query)
{
    struct ninep_path other = { .scratch = NULL };
    bool trailing_slash = path->must_be_directory;

    bool is_named = ninep_path_last(query->call->path) == NINEP_LAST_NAME;
    path->must_be_directory &= !is_named; /* a link itself is meant */
    int result = is_named ? ninep_path_walk(path, false) : ninep_path_parent(path, 0);
    if (!result || (is_named && result == -ENOENT && path->lacks_last)) {
        int other_result = other_begin(&other, path, query, -EBUSY);

        if (!is_named)
            result = -EBUSY;
        if (other_result)
            result = other_result;
    }
    if (!result && (trailing_slash || other.trailing_slash) && !(path->qid.type & NINEP_QID_DIRECTORY))
        result = -ENOTDIR;
    if (!result)
        result = rename_send(path, &other);
    ninep_path_end(&other);
    return result;
}

static int ninep_rename(struct mount_call *from, struct mount_call *to, unsigned flags)
{
    struct query query = { .call = from, .to = to };

    if (flags)
        return -EINVAL; /* no request has room for flags */
    return (int)perform(&query, rename_once);
}

/* ---- Open files ---- */

/* Gives the path's fid to the file. It is open, unless the file only names something. */
static int64_t file_give(struct ninep_path *path, struct query *query, struct ninep_file *file)
{
    file->qid = path->qid;
    if (path->fid != NINEP_ROOT) {
        file->fid = path->fid;
        file->generation = path->generation;
        path->fid = NINEP_ROOT;
    }
    *query->file = &file->file;
    return 0;
}

/* Creates and opens the last name of the path; path->fid is the directory that lacks it. */
static int64_t create_once(struct ninep_path *path, struct query *query)
{
    int result = path->must_be_directory ? -EISDIR : ninep_path_cut(path);
    struct ninep_file *file;

    if (result || (result = ninep_path_own(path)) ||
        (result = ninep_file_create(path, query->flags, S_IFREG | (query->mode & 07777), &file)))
        return result;
    struct ninep_request request = ninep_path_request(path, NINEP_CREATE);
    name_put(&request, path->name);
    ninep_put_u32(&request.message, query->flags & NINEP_OPEN_FLAGS);
    ninep_put_u32(&request.message, query->mode & 07777);
    ninep_put_u32(&request.message, query->call->group);
    result = send_once(path, &request);
    if (result) {
        ninep_file_free(file);
        return result;
    }
    path->qid = ninep_get_qid(&request.reader);
    return file_give(path, query, file);
}

/* Checks whether what is there may be opened with these flags. */
static int open_check(const struct query *query, uint32_t mode)
{
    unsigned flags = query->flags;

    if (flags & O_PATH)
        return flags & O_DIRECTORY && !mode_is(mode, S_IFDIR) ? -ENOTDIR : 0;
    if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
        return -EEXIST;
    if (flags & O_DIRECTORY && !mode_is(mode, S_IFDIR))
        return -ENOTDIR;
    if (mode_is(mode, S_IFLNK))
        return -ELOOP; /* it was not to be followed */
    if (mode_is(mode, S_IFDIR))
        return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC) ? -EISDIR : 0;
    return mode_is(mode, S_IFREG) ? 0 : -ENXIO;
}

static int64_t open_once(struct ninep_path *path, struct query *query)
{
    bool excludes = (query->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    struct mount_status status;
    struct ninep_file *file;

    if (query->flags & O_CREAT && path->must_be_directory &&
        ninep_path_last(query->call->path) == NINEP_LAST_NAME) {
        int missing = ninep_path_parent(path, 0);

        return missing ? missing : -EISDIR;
    }
    int result = ninep_path_walk(path, !excludes && !(query->flags & O_NOFOLLOW));

    if (result == -ENOENT && path->lacks_last && !path->ends_in_dot && query->flags & O_CREAT)
        return create_once(path, query);
    if (result || (result = ninep_attributes(path, &status)) || (result = open_check(query, status.mode)) ||
        (result = ninep_path_own(path)) ||
        (result = ninep_file_create(path, query->flags, status.mode, &file)))
        return result;
    if (!(query->flags & O_PATH))
        result = ninep_open(path, query->flags);
    if (result) {
        ninep_file_free(file);
        return query->flags & O_TRUNC ? ninep_once(result) : result;
    }
    return file_give(path, query, file);
}

static int ninep_open_path(struct mount_call *call, unsigned flags, uint32_t mode, struct mount_file **file)
{
    struct query query = { .call = call, .flags = flags, .mode = mode, .file = file };

    if (flags & O_PATH)
        query.flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW;
    return (int)perform(&query, open_once);
}

static void ninep_close(struct mount_file *mount_file)
{
    struct ninep_file *file = (struct ninep_file *)mount_file; /* the first member */

    if (ninep_name_leave(file) && !file->session->is_dead)
        name_remove(mount_file->mount, file->path);
    ninep_file_close(mount_file);
}

static void ninep_user_set(struct mount *mount, uint32_t user)
{
    ninep_session_user_set(&((struct ninep_mount *)mount)->session, user); /* the first member */
}

const struct mount_operations ninep_operations = {
    .open = ninep_open_path,
    .status = ninep_status,
    .change = ninep_change_path,
    .make_directory = ninep_make_directory,
    .make_symlink = ninep_make_symlink,
    .read_link = ninep_read_link,
    .link = ninep_link,
    .rename = ninep_rename,
    .remove = ninep_remove,
    .statistics = ninep_statistics,
    .read = ninep_file_read,
    .write = ninep_file_write,
    .file_status = ninep_file_status,
    .file_change = ninep_file_change,
    .sync = ninep_file_sync,
    .list = ninep_file_list,
    .lock = ninep_file_lock,
    .lock_get = ninep_file_lock_get,
    .path = ninep_file_path,
    .close = ninep_close,
    .user_set = ninep_user_set,
};

/* ---- Mounts ---- */

int ninep_mount_begin(struct ninep_mount *mount, const char *place, uint32_t address, uint16_t port,
                      const char *export, uint64_t timeout_ns, struct message *why)
{
    struct ninep_session *session = &mount->session;

    if (strlen(place) >= sizeof(mount->mount.place) || strlen(export) >= sizeof(mount->export))
        return message_set(why, -EINVAL, "mount=%s: the place or the export has more than 255 bytes", place);
    mount->mount.operations = &ninep_operations;
    memcpy(mount->mount.place, place, strlen(place) + 1);
    memcpy(mount->export, export, strlen(export) + 1);
    format_text(mount->mount.source, sizeof(mount->mount.source), "%u.%u.%u.%u:%u:%s", address >> 24,
                address >> 16 & 255, address >> 8 & 255, address & 255, port, export);
    session->transport.address = address;
    session->transport.port = port;
    session->source = mount->mount.source;
    session->export = mount->export;
    session->timeout_ns = timeout_ns;
    session->secret = ninep_random();

    struct message reason = { "" };
    int error = ninep_session_connect(session, ninep_now_ns() + timeout_ns, &reason);
    if (error && session->transport.connection)
        ninep_transport_close(&session->transport);
    return error ? message_set(why, error, "mount=%.60s: %.100s: %s", place, session->source, reason.text)
                 : 0;
}

int ninep_mount_make(const char *place, uint32_t address, uint16_t port, const char *export,
                     uint64_t timeout_ns, struct mount **mount, struct message *why)
{
    struct ninep_mount *made = ninep_allocate(NINEP_MOUNT_BYTES);

    if (!made)
        return message_set(why, -ENOMEM, "mount=%.60s: no memory", place);
    memset(made, 0, sizeof(*made));
    int error = ninep_mount_begin(made, place, address, port, export, timeout_ns, why);
    if (error)
        ninep_free(made, NINEP_MOUNT_BYTES);
    else
        *mount = &made->mount;
    return error;
}
