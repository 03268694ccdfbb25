/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.c: see file.h. Runs in system calls, no locks held; the caller keeps the file open meanwhile. Several
 * threads may use one file. Those that find its connection gone each open it again, and the first one's fid
 * is kept.
 */
#include "ninep/names.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"

#define WINDOW       6 /* messages of one transfer in flight */
#define LOCK_BLOCKED 1
#define LOCK_GRACE   3
#define PAGE_BYTES   4096
#define PAUSE_NS     1000000

static struct ninep_file *of(struct mount_file *file)
{
    return (struct ninep_file *)file; /* the first member */
}

/* ---- Requests on a fid ---- */

/* A request with a short body and a short reply, on the stack. */
struct short_call {
    struct ninep_request request;
    uint8_t message[128], reply[192];
};

static struct ninep_message *call_begin(struct short_call *call, enum ninep_type type, uint32_t fid)
{
    call->request =
        ninep_request_on(type, fid, call->message, sizeof(call->message), call->reply, sizeof(call->reply));
    return &call->request.message;
}

int ninep_open(struct ninep_path *path, uint32_t flags)
{
    struct short_call call;

    ninep_put_u32(call_begin(&call, NINEP_OPEN, path->fid),
                  flags & NINEP_OPEN_FLAGS & ~(uint32_t)(O_CREAT | O_EXCL));
    int error = ninep_path_call(path, &call.request);
    if (error)
        return error;
    path->qid = ninep_get_qid(&call.request.reader);
    return call.request.reader.is_short ? -EIO : 0;
}

int ninep_attributes(const struct ninep_path *path, struct mount_status *status)
{
    struct short_call call;

    ninep_put_u64(call_begin(&call, NINEP_GETATTR, path->fid), 0x7ff); /* all that stat needs */
    int error = ninep_path_call(path, &call.request);
    if (!error && ninep_read_attributes(&call.request.reader, status))
        error = -EIO;
    return error;
}

int ninep_change(const struct ninep_path *path, const struct mount_change *change)
{
    struct short_call call;

    ninep_put_change(call_begin(&call, NINEP_SETATTR, path->fid), change);
    return ninep_once(ninep_path_call(path, &call.request));
}

/* ---- Files ---- */

int ninep_file_create(struct ninep_path *path, uint32_t flags, uint32_t mode, struct ninep_file **out)
{
    const char *text = path->scratch->path;
    uint64_t path_bytes = strlen(text);
    /* The rest of a page is room for a longer name. */
    uint64_t memory_bytes = align_up(sizeof(struct ninep_file) + path_bytes + 1, PAGE_BYTES);
    struct ninep_file *file = ninep_allocate(memory_bytes);

    if (!file)
        return -ENOMEM;
    *file = (struct ninep_file){ .file = { .mount = path->call->mount, .mode = mode },
                                 .session = path->session,
                                 .memory_bytes = memory_bytes,
                                 .flags = flags,
                                 .qid = path->qid,
                                 .path_bytes = (uint32_t)path_bytes,
                                 .path_room = (uint32_t)(memory_bytes - sizeof(struct ninep_file)) };
    memcpy(file->path, text, path_bytes + 1);
    int error = ninep_name_enter(file, path);
    if (error)
        ninep_file_free(file);
    else
        *out = file;
    return error;
}

void ninep_file_free(struct ninep_file *file)
{
    ninep_name_leave(file);
    if (file->entries)
        ninep_free(file->entries, NINEP_ENTRIES_BYTES);
    ninep_free(file, file->memory_bytes);
}

void ninep_file_close(struct mount_file *mount_file)
{
    struct ninep_file *file = of(mount_file);

    if (file->generation)
        ninep_clunk(file->session, file->fid, file->generation);
    ninep_file_free(file);
}

int64_t ninep_file_path(const struct mount_file *mount_file, char *text, uint64_t bytes)
{
    const struct ninep_file *file = (const struct ninep_file *)mount_file;

    SPIN_GUARD(&file->session->lock);
    if (file->is_removed)
        return -ENOENT;
    if (file->path_bytes + 2ULL > bytes)
        return -ERANGE;
    text[0] = '/';
    memcpy(text + 1, file->path, file->path_bytes + 1ULL);
    return file->path_bytes + 1;
}

static uint64_t deadline(const struct ninep_session *session)
{
    return ninep_now_ns() + session->timeout_ns;
}

/* Marks a file as lost, if it is not yet. Returns the error that all its calls return from now on. */
static int lose(struct ninep_file *file, int lost)
{
    SPIN_GUARD(&file->session->lock);
    if (!file->lost)
        file->lost = lost;
    return file->lost;
}

/* Returns whether this is another file's number. The root of the export is what it is. */
static bool is_other(const struct ninep_file *file, uint64_t number)
{
    return file->path_bytes && number != file->qid.path;
}

/* Walks the file's path and opens it, in the path's generation. */
static int open_again(struct ninep_file *file, struct ninep_path *path)
{
    int error = ninep_path_walk(path, false);

    if (!error)
        error = ninep_path_own(path);
    if (error == -ENOENT || error == -ENOTDIR ||
        (!error && (is_other(file, path->qid.path) || path->qid.type != file->qid.type)))
        return lose(file, -ESTALE);
    if (!error && !(file->flags & O_PATH))
        error = ninep_open(path, file->flags & ~(uint32_t)O_TRUNC);
    return error;
}

static int reopen(struct ninep_file *file, uint32_t generation)
{
    struct mount_call call = { .mount = file->file.mount, .directory = &file->file, .path = "" };
    struct ninep_session *session = file->session;
    struct ninep_path path;
    int error = ninep_path_begin(&path, session, generation, &call);

    if (!error)
        error = open_again(file, &path);
    spin_lock(&session->lock);
    if (!error && file->generation != generation) {
        file->fid = path.fid;
        file->generation = generation;
        file->sync_is_lost |= file->is_unsynced;
        path.fid = NINEP_ROOT;
    }
    spin_unlock(&session->lock);
    ninep_path_end(&path);
    return error;
}

/* The attempts at a call on a file: again as often as the connection breaks before the server can have
 * executed the request, at most until the deadline. */
struct attempt {
    struct ninep_file *file;
    uint64_t deadline_ns, moves;
    uint32_t fid, generation;
    int error; /* of the last attempt */
};

static struct attempt attempts_of(struct mount_file *mount_file)
{
    struct ninep_session *session = of(mount_file)->session;

    return (struct attempt){ .file = of(mount_file),
                             .deadline_ns = deadline(session),
                             .moves = __atomic_load_n(&session->moves, __ATOMIC_ACQUIRE),
                             .error = -ENOTCONN };
}

/* Waits for a connection, and for the file's fid on it: opens the file again if it has none there. Returns
 * false if no attempt follows. */
static bool attempt_next(struct attempt *attempt)
{
    struct ninep_file *file = attempt->file;
    struct ninep_session *session = file->session;

    while (ninep_is_broken(attempt->error)) {
        attempt->error = ninep_session_ready(session, attempt->deadline_ns, &attempt->generation);
        if (attempt->error)
            return false;
        spin_lock(&session->lock);
        bool is_open = file->generation == attempt->generation;
        if (file->generation && !is_open && file->has_locks && !file->lost)
            file->lost = -EIO;
        attempt->error = file->lost;
        attempt->fid = file->fid;
        spin_unlock(&session->lock);
        if (attempt->error || is_open)
            return !attempt->error;
        int error = reopen(file, attempt->generation);
        attempt->error = error ? error : -ENOTCONN; /* the fid may be another thread's, or lost again */
    }
    return false;
}

static int attempt_call(struct attempt *attempt, struct short_call *call)
{
    return ninep_call(attempt->file->session, &call->request, attempt->generation);
}

/* ---- Transfers ---- */

struct piece {
    struct ninep_request request;
    uint8_t message[NINEP_DATA_OVERHEAD + 1], reply[8];
    uint32_t bytes;
};

struct transfer {
    struct ninep_file *file;
    uint8_t *bytes;
    uint64_t count, offset, done;
    bool is_write;
};

static void piece_submit(struct transfer *transfer, struct piece *piece, uint64_t at, uint32_t fid,
                         uint32_t generation)
{
    uint32_t limit = transfer->file->session->message_bytes - NINEP_DATA_OVERHEAD;
    uint64_t left = transfer->count - at;

    piece->bytes = (uint32_t)smaller(left, limit);
    piece->request = ninep_request_on(transfer->is_write ? NINEP_WRITE : NINEP_READ, fid, piece->message,
                                      sizeof(piece->message), piece->reply, sizeof(piece->reply));
    ninep_put_u64(&piece->request.message, transfer->offset + at);
    ninep_put_u32(&piece->request.message, piece->bytes);
    if (transfer->is_write) {
        piece->request.data = transfer->bytes + at;
        piece->request.data_bytes = piece->bytes;
    } else {
        piece->request.into = transfer->bytes + at;
        piece->request.into_capacity = piece->bytes;
    }
    ninep_submit(transfer->file->session, &piece->request, generation);
}

/* Waits for a piece. Returns the bytes moved, or an error. */
static int64_t piece_wait(struct transfer *transfer, struct piece *piece)
{
    int error = ninep_wait(transfer->file->session, &piece->request);

    if (error)
        return error;
    uint32_t moved = ninep_get_u32(&piece->request.reader);
    return piece->request.reader.is_short || moved > piece->bytes ? -EIO : (int64_t)moved;
}

/* Moves bytes on one connection, as far as it goes. Returns 0 or an error. If the server moves less than
 * asked, at the end of the file or of its space, `count` becomes what is done. */
static int pieces_move(struct transfer *transfer, uint32_t fid, uint32_t generation)
{
    struct piece pieces[WINDOW];
    /* Appended pieces have to stay in order. */
    unsigned window = transfer->is_write && transfer->file->flags & O_APPEND ? 1 : WINDOW;
    unsigned first = 0, in_flight = 0;
    uint64_t submitted = transfer->done;
    int result = 0;
    bool goes_on = true;

    while ((goes_on && submitted < transfer->count) || in_flight) {
        if (goes_on && submitted < transfer->count && in_flight < window) {
            struct piece *piece = &pieces[(first + in_flight++) % WINDOW];

            piece_submit(transfer, piece, submitted, fid, generation);
            submitted += piece->bytes;
            continue;
        }
        struct piece *piece = &pieces[first];
        int64_t moved = piece_wait(transfer, piece);
        first = (first + 1) % WINDOW;
        in_flight--;
        if (!goes_on)
            continue;
        goes_on = moved == piece->bytes;
        if (moved < 0)
            result = (int)moved;
        else
            transfer->done += (uint64_t)moved;
        if (!goes_on && moved >= 0)
            transfer->count = transfer->done;
    }
    return result;
}

static int64_t move(struct transfer *transfer)
{
    struct ninep_file *file = transfer->file;
    struct attempt attempt = attempts_of(&file->file);

    while (attempt_next(&attempt)) {
        uint64_t before = transfer->done;

        if (transfer->done < transfer->count)
            attempt.error = pieces_move(transfer, attempt.fid, attempt.generation);
        if (attempt.error == -ECONNRESET && transfer->is_write && file->flags & O_APPEND)
            attempt.error = -EIO;
        if (transfer->done != before)
            attempt.deadline_ns = deadline(file->session);
    }
    return transfer->done ? (int64_t)transfer->done : attempt.error;
}

int64_t ninep_file_read(struct mount_file *file, void *bytes, uint64_t count, uint64_t offset)
{
    return move(&(struct transfer){ .file = of(file), .bytes = bytes, .count = count, .offset = offset });
}

int64_t ninep_file_write(struct mount_file *file, const void *bytes, uint64_t count, uint64_t offset)
{
    struct transfer transfer = { .file = of(file),
                                 .bytes = (uint8_t *)(uintptr_t)bytes, /* it is only read */
                                 .count = count,
                                 .offset = offset,
                                 .is_write = true };

    __atomic_store_n(&of(file)->is_unsynced, true, __ATOMIC_RELEASE);
    return move(&transfer);
}

/* ---- The rest ---- */

/* Gets the attributes of an open file, and changes them, unless `change` is NULL. The server does both by
 * name, so a file that was renamed is walked to. -ESTALE if its name is another file's. */
static int attributes(struct attempt *attempt, struct mount_status *status, const struct mount_change *change)
{
    struct ninep_file *file = attempt->file;
    struct ninep_session *session = file->session;
    struct mount_call call = { .mount = file->file.mount, .directory = &file->file, .path = "" };
    struct ninep_path path = { .session = session, .fid = attempt->fid, .generation = attempt->generation };
    int error = 0;

    if (file->is_moved) {
        error = ninep_path_begin(&path, session, attempt->generation, &call);
        if (!error)
            error = ninep_path_walk(&path, false);
    }
    if (!error)
        error = ninep_attributes(&path, status);
    if (!error && is_other(file, status->number))
        error = -ESTALE;
    if (!error && change)
        error = ninep_change(&path, change);
    ninep_path_end(&path);
    if (!error)
        status->links -= file->is_hidden;
    return error == -ENOENT || error == -ENOTDIR ? -ESTALE : error;
}

/* Has the attempt repeated after -ESTALE, if this node has changed names meanwhile. */
static void look_again(struct attempt *attempt)
{
    struct ninep_session *session = attempt->file->session;
    const bool moves = __atomic_load_n(&session->moving, __ATOMIC_ACQUIRE);
    const uint64_t moved = __atomic_load_n(&session->moves, __ATOMIC_ACQUIRE);

    if (attempt->error != -ESTALE || attempt->file->lost || (!moves && moved == attempt->moves))
        return;
    if (moves)
        ninep_pause(ninep_now_ns() + PAUSE_NS);
    attempt->moves = moved;
    attempt->error = -ENOTCONN;
}

static int status_or_change(struct mount_file *mount_file, struct mount_status *status,
                            const struct mount_change *change)
{
    struct attempt attempt = attempts_of(mount_file);
    struct ninep_file *file = attempt.file;

    while (!file->is_removed && attempt_next(&attempt)) {
        attempt.error = attributes(&attempt, status, change);
        look_again(&attempt);
    }
    if (!file->is_removed)
        return attempt.error;
    *status = file->last;
    return 0;
}

int ninep_file_status(struct mount_file *mount_file, struct mount_status *status)
{
    return status_or_change(mount_file, status, NULL);
}

int ninep_file_change(struct mount_file *mount_file, const struct mount_change *change)
{
    struct mount_status status;

    return status_or_change(mount_file, &status, change);
}

/* Returns whether earlier writes may be lost, which one call reports. */
static bool sync_lost_take(struct ninep_file *file)
{
    SPIN_GUARD(&file->session->lock);
    const bool is_lost = file->sync_is_lost;
    if (is_lost)
        file->sync_is_lost = file->is_unsynced = false;
    return is_lost;
}

int ninep_file_sync(struct mount_file *mount_file, bool data_only)
{
    struct attempt attempt = attempts_of(mount_file);
    struct ninep_file *file = attempt.file;
    struct short_call call;

    while (attempt_next(&attempt)) {
        if (sync_lost_take(file))
            return -EIO;
        /* Writes from here on are for the next fsync. */
        bool was_unsynced = __atomic_exchange_n(&file->is_unsynced, false, __ATOMIC_ACQ_REL);
        ninep_put_u32(call_begin(&call, NINEP_FSYNC, attempt.fid), data_only);
        attempt.error = attempt_call(&attempt, &call);
        if (attempt.error && was_unsynced)
            __atomic_store_n(&file->is_unsynced, true, __ATOMIC_RELEASE);
    }
    return attempt.error;
}

static int entries_fetch(struct ninep_file *file, uint64_t position)
{
    struct attempt attempt = attempts_of(&file->file);
    struct short_call call;

    if (!file->entries)
        file->entries = ninep_allocate(NINEP_ENTRIES_BYTES);
    if (!file->entries)
        return -ENOMEM;
    while (attempt_next(&attempt)) {
        uint32_t limit = file->session->message_bytes - NINEP_DATA_OVERHEAD;
        uint32_t bytes = (uint32_t)smaller(limit, NINEP_ENTRIES_BYTES);
        struct ninep_message *message = call_begin(&call, NINEP_READDIR, attempt.fid);
        ninep_put_u64(message, position);
        ninep_put_u32(message, bytes);
        call.request.into = file->entries;
        call.request.into_capacity = bytes;
        attempt.error = attempt_call(&attempt, &call);
    }
    file->entries_left = (struct ninep_reader){ .at = file->entries, .end = file->entries };
    if (!attempt.error)
        file->entries_left.end += call.request.into_bytes;
    return attempt.error;
}

static int list_next(struct ninep_file *file, uint64_t position, struct mount_entry *entry)
{
    int result = 0;

    if (position && position == file->entries_next && file->entries_left.at != file->entries_left.end)
        result = ninep_read_entry(&file->entries_left, entry);
    if (!result) {
        result = entries_fetch(file, position);
        if (!result)
            result = ninep_read_entry(&file->entries_left, entry);
    }
    file->entries_next = result == 1 ? entry->next : 0;
    return result == -EPROTO ? -EIO : result;
}

int ninep_file_list(struct mount_file *mount_file, uint64_t position, struct mount_entry *entry)
{
    struct ninep_file *file = of(mount_file);
    int result;

    while ((result = list_next(file, position, entry)) == 1 && ninep_name_is_hidden(file, entry->name))
        position = entry->next;
    return result;
}

static void lock_put(struct short_call *call, enum ninep_type type, uint32_t fid,
                     const struct mount_lock *lock)
{
    struct ninep_message *message = call_begin(call, type, fid);

    ninep_put_u8(message, (uint8_t)lock->type); /* the numbers are the same */
    if (type == NINEP_LOCK)
        ninep_put_u32(message, 0); /* do not wait */
    ninep_put_u64(message, lock->start);
    ninep_put_u64(message, lock->bytes);
    ninep_put_u32(message, lock->process);
    ninep_put_text(message, "tacet", 5);
}

int ninep_file_lock(struct mount_file *mount_file, const struct mount_lock *lock)
{
    struct attempt attempt = attempts_of(mount_file);
    struct ninep_file *file = attempt.file;
    struct ninep_session *session = file->session;
    bool releases = lock->type == 2;
    struct short_call call;

    while (attempt_next(&attempt)) {
        lock_put(&call, NINEP_LOCK, attempt.fid, lock);
        attempt.error = ninep_once(attempt_call(&attempt, &call));
        attempt.deadline_ns = deadline(session);
    }
    if (attempt.error)
        return attempt.error;
    uint8_t status = ninep_get_u8(&call.request.reader);
    if (status)
        return status == LOCK_BLOCKED || status == LOCK_GRACE ? -EAGAIN : -ENOLCK;
    spin_lock(&session->lock);
    if (!releases)
        file->has_locks = true;
    else if (lock->start == 0 && lock->bytes == 0)
        file->has_locks = false;
    if (!releases && file->generation != attempt.generation)
        attempt.error = file->lost = -EIO; /* the connection has broken since, and with it the lock */
    spin_unlock(&session->lock);
    return attempt.error;
}

int ninep_file_lock_get(struct mount_file *mount_file, struct mount_lock *lock)
{
    struct attempt attempt = attempts_of(mount_file);
    struct short_call call;

    while (attempt_next(&attempt)) {
        lock_put(&call, NINEP_GETLOCK, attempt.fid, lock);
        attempt.error = attempt_call(&attempt, &call);
    }
    if (!attempt.error && ninep_read_lock(&call.request.reader, lock))
        attempt.error = -EIO;
    return attempt.error;
}
