/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.c: see path.h. Runs in system calls, no locks held; memory is the calling rank's.
 */
#include "ninep/path.h"
#include "net/size.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "lib/kstring.h"

struct names {
    unsigned count;
    uint32_t start[NINEP_WALK_MAX], end[NINEP_WALK_MAX]; /* in the text */
};

/* ---- Text ---- */

const char *ninep_last_name(const char *text)
{
    const char *last = text;

    for (; *text; text++)
        last = *text == '/' ? text + 1 : last;
    return last;
}

static bool is_dotdot(const char *text)
{
    return text[0] == '.' && text[1] == '.' && (text[2] == '/' || text[2] == '\0');
}

enum ninep_last ninep_path_last(const char *path)
{
    size_t end = strlen(path), start;

    while (end > 0 && path[end - 1] == '/')
        end--;
    for (start = end; start > 0 && path[start - 1] != '/';)
        start--;
    if (end == 0)
        return NINEP_LAST_START;
    if (path[start] == '.' && end - start == 1)
        return NINEP_LAST_DOT;
    return is_dotdot(path + start) ? NINEP_LAST_DOTDOT : NINEP_LAST_NAME;
}

/* Removes what means nothing from the part that is not known: "//", ".", a slash at the end. */
static void tidy(struct ninep_path *path)
{
    char *text = path->scratch->path;
    uint32_t from = path->known, to = path->known;
    bool dot_is_last = false;

    while (text[from]) {
        uint32_t end = from;

        if (text[from] == '/') {
            path->must_be_directory |= text[++from] == '\0';
            continue;
        }
        while (text[end] && text[end] != '/')
            end++;
        if (end - from == 1 && text[from] == '.') {
            path->must_be_directory |= text[end] == '\0';
            dot_is_last = true;
            from = end;
            continue;
        }
        dot_is_last = false;
        if (to > 0)
            text[to++] = '/';
        memmove(text + to, text + from, end - from);
        to += end - from;
        from = end;
    }
    text[to] = '\0';
    path->ends_in_dot |= dot_is_last;
}

/* Sets the text to the known part, "/", `first` and `second`. */
static int text_set(struct ninep_path *path, const char *first, uint64_t first_bytes, const char *second)
{
    char *other = path->scratch->other, *text = path->scratch->path;
    uint64_t second_bytes = strlen(second), bytes = path->known + 1 + first_bytes + second_bytes;

    if (bytes >= TREE_PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(other, text, path->known);
    other[path->known] = '/';
    memcpy(other + path->known + 1, first, first_bytes);
    memcpy(other + path->known + 1 + first_bytes, second, second_bytes + 1);
    memcpy(text, other, bytes + 1);
    tidy(path);
    return 0;
}

static int leave(struct ninep_path *path, const char *first, uint64_t first_bytes, const char *second)
{
    uint64_t second_bytes = strlen(second);
    char *left = path->call->left;

    if (!left)
        return -ENOENT;
    if (first_bytes + second_bytes + 2 > TREE_PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(left, first, first_bytes);
    memcpy(left + first_bytes, second, second_bytes + 1);
    /* The slash that the text has lost. */
    if (path->must_be_directory && left[0])
        memcpy(left + first_bytes + second_bytes, "/", 2);
    if (!left[0])
        memcpy(left, ".", 2);
    path->call->symlinks = path->symlinks;
    return MOUNT_LEFT;
}

/* Finds the names after `from`, up to "..", as many as one walk takes. */
static int names_find(const struct ninep_path *path, uint32_t from, struct names *names)
{
    const char *text = path->scratch->path;

    names->count = 0;
    while (names->count < NINEP_WALK_MAX) {
        uint32_t start = from + (text[from] == '/'), end = start;

        while (text[end] && text[end] != '/')
            end++;
        if (end == start || is_dotdot(text + start))
            break;
        if (end - start > TREE_NAME_MAX)
            return names->count ? 0 : -ENAMETOOLONG; /* a name before it may be missing */
        names->start[names->count] = start;
        names->end[names->count++] = end;
        from = end;
    }
    return 0;
}

/* ---- Requests ---- */

struct ninep_request ninep_path_request(const struct ninep_path *path, enum ninep_type type)
{
    struct ninep_scratch *scratch = path->scratch;

    return ninep_request_on(type, path->fid, scratch->message, sizeof(scratch->message), scratch->reply,
                            sizeof(scratch->reply));
}

int ninep_path_call(const struct ninep_path *path, struct ninep_request *request)
{
    return ninep_call(path->session, request, path->generation);
}

/* ---- Walks ---- */

/* Walks from path->fid; afterwards that is a fid of the path's own. Returns how many names were walked; if
 * fewer than `count`, path->fid is as it was. */
static int walk(struct ninep_path *path, const struct names *names, unsigned count,
                struct ninep_qid qids[NINEP_WALK_MAX])
{
    struct ninep_request request = ninep_path_request(path, NINEP_WALK);
    int64_t fid = path->fid;

    if (fid == NINEP_ROOT)
        fid = ninep_fid_allocate(path->session, path->generation);
    if (fid < 0)
        return (int)fid;
    ninep_put_u32(&request.message, (uint32_t)fid);
    ninep_put_u16(&request.message, size_16(count));
    for (unsigned i = 0; i < count; i++)
        ninep_put_text(&request.message, path->scratch->path + names->start[i],
                       names->end[i] - names->start[i]);
    int result = ninep_path_call(path, &request);
    if (!result)
        result = ninep_read_walk(&request.reader, count, qids);
    if (result == (int)count) {
        path->fid = (uint32_t)fid;
        if (count)
            path->qid = qids[count - 1];
    } else if (fid != path->fid) {
        ninep_fid_free(path->session, (uint32_t)fid, path->generation);
    }
    return result;
}

static void to_root(struct ninep_path *path)
{
    if (path->fid != NINEP_ROOT)
        ninep_clunk(path->session, path->fid, path->generation);
    path->fid = NINEP_ROOT;
    path->qid = (struct ninep_qid){ .type = NINEP_QID_DIRECTORY };
}

int ninep_path_link(struct ninep_path *path, const char **target)
{
    struct ninep_scratch *scratch = path->scratch;
    uint8_t bytes[16];
    struct ninep_request request = ninep_request_on(NINEP_READLINK, path->fid, bytes, sizeof(bytes),
                                                    scratch->message, sizeof(scratch->message));
    int error = ninep_path_call(path, &request);
    if (error)
        return error;
    uint16_t count = ninep_get_text(&request.reader, target);
    return request.reader.is_short ? -EPROTO : count;
}

/* Replaces a link, which path->fid is, at [start, end) of the text, by its target. */
static int link_follow(struct ninep_path *path, uint32_t start, uint32_t end)
{
    struct ninep_scratch *scratch = path->scratch;
    const char *target;

    if (++path->symlinks > TREE_SYMLINKS_MAX)
        return -ELOOP;
    const int result = ninep_path_link(path, &target);
    if (result < 0)
        return result;
    const uint32_t target_bytes = (uint32_t)result;
    if (target_bytes == 0 || target_bytes >= TREE_PATH_MAX || strnlen(target, target_bytes) != target_bytes)
        return -EPROTO;
    if (target[0] == '/')
        return leave(path, target, target_bytes, scratch->path + end);
    path->known = start ? start - 1 : 0;
    to_root(path);
    /* The target is in the memory of messages, which nothing else uses meanwhile. */
    return text_set(path, target, target_bytes, scratch->path + end);
}

/* Follows "..", which comes next: removes the last name of the known part. */
static int parent_follow(struct ninep_path *path)
{
    char *text = path->scratch->path;
    uint32_t rest = path->known + (path->known > 0) + 2;

    if (path->known == 0) {
        path->must_be_directory |= text[rest] == '\0';
        return leave(path, "", 0, text + rest + (text[rest] == '/'));
    }
    while (path->known > 0 && text[path->known - 1] != '/')
        path->known--;
    path->known -= path->known > 0;
    to_root(path);
    path->must_be_directory |= text[rest] == '\0';
    return text_set(path, "", 0, text + rest);
}

/* Returns which of the walked names is the first link to be followed; `count` if none is. */
static unsigned link_find(const struct ninep_path *path, const struct names *names, unsigned count,
                          const struct ninep_qid *qids, bool follow)
{
    const char *text = path->scratch->path;
    unsigned i = 0;

    while (i < count &&
           !(qids[i].type & NINEP_QID_SYMLINK && (text[names->end[i]] || follow || path->must_be_directory)))
        i++;
    return i;
}

/* Walks from the root to [0, end) of the text, whatever is there. */
static int walk_to(struct ninep_path *path, uint32_t end)
{
    struct ninep_qid qids[NINEP_WALK_MAX];
    struct names names;

    to_root(path);
    for (uint32_t at = 0; at < end; at = names.end[names.count - 1]) {
        int result = names_find(path, at, &names);

        while (names.count > 1 && names.end[names.count - 1] > end)
            names.count--;
        if (!result)
            result = walk(path, &names, names.count, qids);
        if (result != (int)names.count)
            return result < 0 ? result : -ENOENT;
    }
    return 0;
}

/* Makes one walk from the fid, which stands at *at. Returns 0 to go on. */
static int walk_on(struct ninep_path *path, uint32_t *at, bool follow)
{
    const char *text = path->scratch->path;
    struct ninep_qid qids[NINEP_WALK_MAX];
    struct names names;
    int result = names_find(path, *at, &names);

    if (result)
        return result;
    result = walk(path, &names, names.count, qids);
    if (result <= 0) {
        path->lacks_last = result == -ENOENT && !text[names.end[0]];
        return result ? result : -EPROTO;
    }
    unsigned count = (unsigned)result, link = link_find(path, &names, count, qids, follow);
    if (link < count) {
        bool is_there = count == names.count && link == count - 1;

        *at = 0;
        result = is_there ? 0 : walk_to(path, names.end[link]);
        return result ? result : link_follow(path, names.start[link], names.end[link]);
    }
    if (count < names.count) { /* the server says why only if the missing name is the first */
        if (!(qids[count - 1].type & NINEP_QID_DIRECTORY))
            return -ENOTDIR;
        result = walk(path, &names, count, qids);
        if (result != (int)count)
            return result < 0 ? result : -ENOENT;
    }
    *at = names.end[count - 1];
    path->known = *at > path->known ? *at : path->known;
    return 0;
}

int ninep_path_walk(struct ninep_path *path, bool follow)
{
    const char *text = path->scratch->path;
    uint32_t at = 0;
    int result = 0;

    path->lacks_last = false;
    to_root(path);
    while (!result) {
        uint32_t next = path->known + (path->known > 0);

        if (path->known <= strlen(text) && (at == path->known || at == 0) && text[path->known] &&
            is_dotdot(text + next)) {
            if (!(path->qid.type & NINEP_QID_DIRECTORY))
                return -ENOTDIR;
            result = parent_follow(path);
            at = 0;
        } else if (text[at]) {
            result = walk_on(path, &at, follow);
        } else {
            return path->must_be_directory && !(path->qid.type & NINEP_QID_DIRECTORY) ? -ENOTDIR : 0;
        }
    }
    return result;
}

/* ---- From begin to end ---- */

int ninep_path_begin(struct ninep_path *path, struct ninep_session *session, uint32_t generation,
                     struct mount_call *call)
{
    struct ninep_scratch *scratch = ninep_allocate(sizeof(*scratch));
    int64_t known = 0;

    *path = (struct ninep_path){ .session = session,
                                 .call = call,
                                 .scratch = scratch,
                                 .generation = generation,
                                 .moves = __atomic_load_n(&session->moves, __ATOMIC_ACQUIRE),
                                 .symlinks = call->symlinks,
                                 .fid = NINEP_ROOT,
                                 .qid.type = NINEP_QID_DIRECTORY };
    if (!scratch)
        return -ENOMEM;
    scratch->path[0] = '\0';
    if (call->directory)
        known = call->mount->operations->path(call->directory, scratch->other, TREE_PATH_MAX);
    if (known < 0)
        return known == -ENOENT ? -ENOENT : -ENAMETOOLONG;
    known -= known > 0;
    memcpy(scratch->path, scratch->other + 1, (uint64_t)known);
    scratch->path[known] = '\0';
    path->known = (uint32_t)known;
    return call->path[0] ? text_set(path, call->path, strlen(call->path), "") : 0;
}

void ninep_path_end(struct ninep_path *path)
{
    if (!path->scratch)
        return;
    to_root(path);
    ninep_free(path->scratch, sizeof(*path->scratch));
}

/* Sets path->name to the last name of the text. Returns where it begins. */
static uint32_t name_set(struct ninep_path *path)
{
    const char *last = ninep_last_name(path->scratch->path);
    size_t bytes = strlen(last);

    bytes = bytes <= TREE_NAME_MAX ? bytes : 0;
    memcpy(path->name, last, bytes);
    path->name[bytes] = '\0';
    return (uint32_t)(last - path->scratch->path);
}

int ninep_path_cut(struct ninep_path *path)
{
    name_set(path);
    return path->name[0] ? 0 : -ENAMETOOLONG;
}

int ninep_path_parent(struct ninep_path *path, int no_name)
{
    enum ninep_last last = ninep_path_last(path->call->path);
    char *left = path->call->left;

    if (last != NINEP_LAST_NAME) { /* a missing directory is the first error */
        int missing = last == NINEP_LAST_START ? 0 : ninep_path_walk(path, true);

        return missing ? missing : no_name;
    }
    uint32_t start = name_set(path);
    if (!path->name[0])
        return -ENAMETOOLONG;
    path->trailing_slash = path->must_be_directory;
    path->must_be_directory = true;
    path->scratch->path[start ? start - 1 : 0] = '\0';
    int result = ninep_path_walk(path, true);
    if (result == MOUNT_LEFT) {
        size_t bytes = strlen(left);

        bytes -= bytes > 0 && left[bytes - 1] == '/';
        if (bytes + strlen(path->name) + 3 > TREE_PATH_MAX)
            return -ENAMETOOLONG;
        format_text(left + bytes, TREE_PATH_MAX - bytes, "/%s%s", path->name,
                    path->trailing_slash ? "/" : "");
    }
    return result;
}

int ninep_path_slash(struct ninep_path *path)
{
    struct ninep_qid qids[NINEP_WALK_MAX];
    struct names names;
    int result = text_set(path, path->name, strlen(path->name), "");

    if (!result)
        result = names_find(path, path->known, &names);
    if (!result)
        result = walk(path, &names, names.count, qids);
    if (result > 0)
        return -EEXIST;
    return result ? result : -ENOENT;
}

int ninep_path_own(struct ninep_path *path)
{
    struct names none = { .count = 0 };

    return path->fid == NINEP_ROOT ? walk(path, &none, 0, NULL) : 0;
}
