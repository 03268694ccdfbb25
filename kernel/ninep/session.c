/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.c: see session.h. Runs in system calls, no locks held, and at boot, when there is no other thread.
 *
 * Up to three hold a request: the table of tags, until its reply has come or the connection is given up
 * (is_done); the queue, until its last byte is sent (is_queued); the thread that receives into it
 * (is_pinned). Its caller returns when none of them holds it any longer: so no thread writes to memory that
 * is gone, whatever the server answers and when.
 */
#include "ninep/session.h"
#include "net/size.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"

#define PAUSE_MIN_NS 5000000ULL
#define PAUSE_MAX_NS 1000000000ULL
#define DEAD_NS      2000000000ULL /* time limit for an attempt at a server that the console calls dead */
#define PIECES_MAX   64            /* pieces from the transport, in one turn of receiving */
#define BUFFER_BYTES 512

void ninep_pause(uint64_t until_ns)
{
    struct ninep_sleeper sleeper;

    ninep_sleeper_begin(&sleeper);
    ninep_sleep(&sleeper, until_ns);
}

/* ---- The end of a request, of a connection; with the lock ---- */

static bool is_free(const struct ninep_request *request)
{
    return request->is_done && !request->is_queued && !request->is_pinned;
}

static void fid_clear(struct ninep_session *session, uint32_t fid, uint32_t generation)
{
    if (session->generation == generation)
        session->fids[fid / 64] &= ~(1ULL << fid % 64);
}

/* Ends one of the session's own requests, which nothing holds any longer. */
static void clunk_end(struct ninep_session *session, struct ninep_request *request)
{
    fid_clear(session, request->clunked, request->generation);
    for (unsigned i = 0; i < NINEP_CLUNKS; i++)
        if (request == &session->clunks[i].request)
            session->clunks[i].is_used = false;
}

static void request_changed(struct ninep_session *session, struct ninep_request *request)
{
    if (!is_free(request))
        return;
    if (session->tags[request->tag] == request)
        session->tags[request->tag] = NULL;
    if (request->clunked != NINEP_NO_FID)
        clunk_end(session, request);
    else
        ninep_wake(&request->sleeper);
}

static void request_done(struct ninep_session *session, struct ninep_request *request, int result)
{
    if (!request->is_done) {
        request->is_done = true;
        request->result = result;
    }
    request_changed(session, request);
}

/* Takes a request that no thread is sending out of the queue. */
static void unqueue(struct ninep_session *session, struct ninep_request *request)
{
    if (request->is_queued)
        list_remove(&session->queue, &request->link);
    request->is_queued = false;
}

/* Unpins the request that was being received. Called by the thread that receives, or if none does. */
static void unpin(struct ninep_session *session)
{
    struct ninep_request *request = session->receiving;

    session->receiving = NULL;
    if (request) {
        request->is_pinned = false;
        request_changed(session, request);
    }
}

/* Gives the connection up. Its transport is closed once no thread is inside. */
static void session_break(struct ninep_session *session, int64_t cause)
{
    if (session->state == NINEP_DOWN)
        return;
    session->state = NINEP_DOWN;
    session->broken_by = (int)cause;
    for (unsigned tag = 0; tag < NINEP_TAGS; tag++) {
        struct ninep_request *request = session->tags[tag];

        if (!request)
            continue;
        bool is_sent = request->sent == request->message.used + request->data_bytes;
        bool is_current = session->is_sending && session->queue.first == &request->link && request->is_queued;
        /* The last bytes of the request that is being sent may be out already. */
        if (!is_current)
            unqueue(session, request);
        request_done(session, request, is_sent || is_current ? -ECONNRESET : -ENOTCONN);
    }
    if (!session->is_receiving)
        unpin(session);
}

/* ---- Sending ---- */

/* Returns the next bytes of a request. */
static const uint8_t *piece(const struct ninep_request *request, uint32_t *bytes)
{
    if (request->sent < request->message.used) {
        *bytes = request->message.used - request->sent;
        return request->message.bytes + request->sent;
    }
    *bytes = request->message.used + request->data_bytes - request->sent;
    return (const uint8_t *)request->data + (request->sent - request->message.used);
}

static void send_queued(struct ninep_session *session)
{
    spin_lock(&session->lock);
    if (session->is_sending || session->state == NINEP_DOWN) {
        spin_unlock(&session->lock);
        return;
    }
    session->is_sending = true;
    session->inside++;
    for (bool goes_on = true; goes_on && session->queue.first;) {
        struct ninep_request *request = LIST_OWNER(session->queue.first, ninep_request, link);
        uint32_t bytes;
        const uint8_t *from = piece(request, &bytes);

        spin_unlock(&session->lock);
        int64_t moved = ninep_transport_write(&session->transport, from, bytes);
        spin_lock(&session->lock);
        if (moved > 0)
            request->sent += (uint32_t)moved;
        else if (moved != -EAGAIN)
            session_break(session, moved);
        goes_on = moved > 0 && session->state != NINEP_DOWN;
        if (request->sent == request->message.used + request->data_bytes || session->state == NINEP_DOWN) {
            unqueue(session, request);
            request_changed(session, request);
        }
    }
    session->is_sending = false;
    session->inside--;
    spin_unlock(&session->lock);
}

/* ---- Receiving ---- */

/* Returns how many bytes of a reply's body come before its data. */
static uint32_t fixed_bytes(const struct ninep_session *session)
{
    uint8_t type = session->header[4];

    return type == NINEP_READ + 1 || type == NINEP_READDIR + 1 ? 4 : session->body_bytes;
}

/* Finds the request that a complete header replies to. Returns false if the header is invalid. The caller
 * holds the lock. */
static bool header_check(struct ninep_session *session)
{
    struct ninep_reader reader = { .at = session->header, .end = session->header + NINEP_HEADER_BYTES };
    uint32_t size = ninep_get_u32(&reader);
    uint8_t type = ninep_get_u8(&reader);
    uint16_t tag = ninep_get_u16(&reader);

    if (session->state == NINEP_GREETING && tag == NINEP_NO_TAG)
        tag = 0;
    struct ninep_request *request = tag < NINEP_TAGS ? session->tags[tag] : NULL;
    bool is_current = session->is_sending && request && session->queue.first == &request->link;
    if (!request || request->is_done || (request->is_queued && !is_current) || size < NINEP_HEADER_BYTES)
        return false;
    session->body_bytes = size - NINEP_HEADER_BYTES;
    uint32_t fixed = fixed_bytes(session), data = session->body_bytes - fixed;
    if (session->body_bytes < fixed || fixed > request->reply_capacity || data > request->into_capacity ||
        (type != request->message.bytes[4] + 1 && type != NINEP_ERROR + 1))
        return false;
    session->receiving = request;
    request->is_pinned = true;
    return true;
}

/* Ends a request whose reply's body is complete. The caller holds the lock. */
static void reply_end(struct ninep_session *session)
{
    struct ninep_request *request = session->receiving;
    uint32_t fixed = fixed_bytes(session);
    int result = 0;

    request->reader = (struct ninep_reader){ .at = request->reply, .end = request->reply + fixed };
    request->into_bytes = session->body_bytes - fixed;
    if (session->header[4] == NINEP_ERROR + 1) {
        result = ninep_read_error(&request->reader);
    } else if (fixed != session->body_bytes || request->into_capacity) {
        struct ninep_reader count = request->reader;

        if (ninep_get_u32(&count) != request->into_bytes)
            session_break(session, -EPROTO);
    }
    session->receiving = NULL;
    session->got = 0;
    request->is_pinned = false;
    request_done(session, request, result);
}

/* Returns where the next bytes go, and how many are missing there. */
static uint8_t *room(struct ninep_session *session, uint32_t *bytes)
{
    struct ninep_request *request = session->receiving;

    if (!request) {
        *bytes = NINEP_HEADER_BYTES - session->got;
        return session->header + session->got;
    }
    uint32_t fixed = fixed_bytes(session), got = session->got - NINEP_HEADER_BYTES;
    *bytes = got < fixed ? fixed - got : session->body_bytes - got;
    return got < fixed ? request->reply + got : (uint8_t *)request->into + (got - fixed);
}

/* Handles `moved` more bytes that are there. The caller holds the lock. */
static void received(struct ninep_session *session, uint32_t moved)
{
    session->got += moved;
    if (!session->receiving && session->got == NINEP_HEADER_BYTES && !header_check(session)) {
        session_break(session, -EPROTO);
        return;
    }
    if (session->receiving && session->got == NINEP_HEADER_BYTES + session->body_bytes)
        reply_end(session);
}

/* Wakes a thread that waits, so that it waits for the transport, if no thread does. The caller holds the
 * lock. */
static void watcher_choose(struct ninep_session *session)
{
    for (unsigned tag = 0; tag < NINEP_TAGS && !session->is_watched; tag++) {
        struct ninep_request *request = session->tags[tag];

        if (request && request->sleeps && !request->is_done) {
            ninep_wake(&request->sleeper);
            return;
        }
    }
}

/* Receives what has come. The thread that waits for the transport could not be woken for its own reply, if
 * another thread had received that. So it alone receives (`always`), and no thread begins to wait for the
 * transport while another receives. */
static void receive(struct ninep_session *session, bool always)
{
    spin_lock(&session->lock);
    if (session->is_receiving || session->state == NINEP_DOWN || (session->is_watched && !always)) {
        spin_unlock(&session->lock);
        return;
    }
    session->is_receiving = true;
    session->inside++;
    for (unsigned i = 0; i < PIECES_MAX && session->state != NINEP_DOWN; i++) {
        uint32_t bytes;
        uint8_t *to = room(session, &bytes);

        spin_unlock(&session->lock);
        int64_t moved = ninep_transport_read(&session->transport, to, bytes);
        spin_lock(&session->lock);
        if (moved == -EAGAIN)
            break;
        if (moved <= 0)
            session_break(session, moved ? moved : -ECONNRESET);
        else if (session->state != NINEP_DOWN)
            received(session, (uint32_t)moved);
    }
    if (session->state == NINEP_DOWN)
        unpin(session);
    session->is_receiving = false;
    session->inside--;
    if (!always)
        watcher_choose(session);
    spin_unlock(&session->lock);
}

/* ---- Requests ---- */

struct ninep_request ninep_request_on(enum ninep_type type, uint32_t fid, uint8_t *message,
                                      uint32_t message_bytes, uint8_t *reply, uint32_t reply_bytes)
{
    struct ninep_request request = { .message = ninep_begin(message, message_bytes, type),
                                     .reply = reply,
                                     .reply_capacity = reply_bytes };

    ninep_put_u32(&request.message, fid);
    return request;
}

static bool is_greeting(const struct ninep_request *request)
{
    return request->message.bytes[4] == NINEP_VERSION || request->message.bytes[4] == NINEP_ATTACH;
}

/* Gives a request a tag and its place in the queue. Returns false if there is no tag. The caller holds the
 * lock. */
static bool enqueue(struct ninep_session *session, struct ninep_request *request)
{
    unsigned tag = 0;

    while (tag < NINEP_TAGS && session->tags[tag])
        tag++;
    if (tag == NINEP_TAGS)
        return false;
    session->tags[tag] = request;
    request->tag = size_16(tag);
    request->is_queued = true;
    const uint32_t size = request->message.used + request->data_bytes;
    const uint16_t sent = request->message.bytes[4] == NINEP_VERSION ? NINEP_NO_TAG : request->tag;
    memcpy(request->message.bytes, &size, sizeof(size));
    memcpy(request->message.bytes + 5, &sent, sizeof(sent));
    list_append(&session->queue, &request->link);
    return true;
}

/* Begins a request, or ends it at once with an error. Returns false if there is no tag. The caller holds the
 * lock. */
static bool begin(struct ninep_session *session, struct ninep_request *request, uint32_t generation)
{
    request->generation = generation;
    request->sent = 0;
    request->is_queued = request->is_pinned = request->sleeps = false;
    request->result = 0;
    request->into_bytes = 0;
    if (request->message.overflows)
        request->result = -ENAMETOOLONG;
    else if (session->state != (is_greeting(request) ? NINEP_GREETING : NINEP_UP) ||
             session->generation != generation)
        request->result = -ENOTCONN;
    request->is_done = request->result != 0;
    return request->is_done || enqueue(session, request);
}

void ninep_submit(struct ninep_session *session, struct ninep_request *request, uint32_t generation)
{
    uint64_t deadline_ns = ninep_now_ns() + session->timeout_ns;

    if (is_greeting(request))
        deadline_ns = smaller(deadline_ns, session->greeting_deadline_ns);
    ninep_sleeper_begin(&request->sleeper);
    request->deadline_ns = deadline_ns;
    request->clunked = NINEP_NO_FID;
    for (;;) {
        spin_lock(&session->lock);
        bool is_begun = begin(session, request, generation);
        spin_unlock(&session->lock);
        if (is_begun)
            break;
        /* All tags are taken, usually only until the next reply. */
        send_queued(session);
        receive(session, false);
        ninep_sleep(&request->sleeper, ninep_now_ns() + PAUSE_MIN_NS);
        request->deadline_ns = ninep_now_ns() + session->timeout_ns;
        if (ninep_now_ns() > deadline_ns) {
            request->is_done = true;
            request->result = -EIO;
            return;
        }
    }
    send_queued(session);
}

/* Waits once. Returns true if it has waited in vain for another thread. */
static bool wait_once(struct ninep_session *session, struct ninep_request *request)
{
    uint64_t now_ns = ninep_now_ns(), until_ns = now_ns + NINEP_LOOK_NS;

    spin_lock(&session->lock);
    if (is_free(request)) {
        spin_unlock(&session->lock);
        return false;
    }
    if (now_ns >= request->deadline_ns && !request->is_done)
        session_break(session, -ETIMEDOUT);
    bool watches = session->state != NINEP_DOWN && !session->is_watched && !session->is_receiving;
    bool write_too = session->queue.first;
    if (watches) {
        session->is_watched = true;
        session->inside++;
    } else {
        request->sleeper.woken = is_free(request);
        request->sleeps = true;
    }
    spin_unlock(&session->lock);

    if (!request->is_done)
        until_ns = smaller(until_ns, request->deadline_ns);
    if (watches) {
        ninep_transport_wait(&session->transport, write_too, until_ns);
        receive(session, true);
    } else {
        ninep_sleep(&request->sleeper, until_ns);
    }

    spin_lock(&session->lock);
    request->sleeps = false;
    if (watches) {
        session->is_watched = false;
        session->inside--;
    }
    bool in_vain = !watches && !request->sleeper.woken;
    spin_unlock(&session->lock);
    return in_vain;
}

int ninep_wait(struct ninep_session *session, struct ninep_request *request)
{
    for (bool in_vain = false;; in_vain = wait_once(session, request)) {
        send_queued(session);
        receive(session, in_vain);
        spin_lock(&session->lock);
        bool has_ended = is_free(request);
        if (has_ended)
            watcher_choose(session);
        spin_unlock(&session->lock);
        if (has_ended)
            return request->result;
    }
}

int ninep_call(struct ninep_session *session, struct ninep_request *request, uint32_t generation)
{
    ninep_submit(session, request, generation);
    return ninep_wait(session, request);
}

/* ---- Connections ---- */

/* Returns whether the greeting failed although the server may well speak 9P: then `why` says what has
 * happened. */
static bool greeting_is_lost(const struct ninep_session *session, int error, struct message *why)
{
    if (!ninep_is_broken(error) || session->broken_by == -EPROTO)
        return false;
    if (session->broken_by == -ETIMEDOUT)
        message_set(why, error, "it does not answer the greeting");
    else
        message_set(why, error, "the connection ended at the greeting (error %d)", -session->broken_by);
    return true;
}

static int greet(struct ninep_session *session, struct message *why)
{
    uint8_t bytes[BUFFER_BYTES], body[64];
    struct ninep_request request =
        ninep_request_on(NINEP_VERSION, NINEP_MESSAGE_BYTES, bytes, sizeof(bytes), body, sizeof(body));
    uint32_t message_bytes;

    ninep_put_text(&request.message, "9P2000.L", 8);
    int error = ninep_call(session, &request, session->generation);
    if (greeting_is_lost(session, error, why))
        return error;
    if (!error)
        error = ninep_read_version(&request.reader, &message_bytes);
    if (!error && (message_bytes < 4096 || message_bytes > NINEP_MESSAGE_BYTES))
        error = -EPROTO;
    if (error)
        return message_set(why, error, "it does not speak 9P2000.L");
    session->message_bytes = message_bytes;

    request = ninep_request_on(NINEP_ATTACH, NINEP_ROOT, bytes, sizeof(bytes), body, sizeof(body));
    ninep_put_u32(&request.message, NINEP_NO_FID);
    ninep_put_text(&request.message, "", 0);
    ninep_put_text(&request.message, session->export, strlen(session->export));
    ninep_put_u32(&request.message, session->user);
    error = ninep_call(session, &request, session->generation);
    if (greeting_is_lost(session, error, why))
        return error;
    session->is_refused = error != 0;
    if (error)
        return message_set(why, error, "it does not export %s to user %u (error %d)", session->export,
                           session->user, -error);
    return 0;
}

static int connect_once(struct ninep_session *session, uint64_t deadline_ns, struct message *why)
{
    int error = ninep_transport_open(&session->transport, deadline_ns);

    session->greeting_deadline_ns = deadline_ns;
    session->is_refused = false;
    if (error)
        return message_set(why, error, "no connection (error %d)", -error);
    spin_lock(&session->lock);
    session->generation++;
    session->got = 0;
    session->receiving = NULL;
    memset(session->fids, 0, sizeof(session->fids));
    session->fids[0] = 1ULL << NINEP_ROOT;
    session->state = NINEP_GREETING;
    spin_unlock(&session->lock);
    error = greet(session, why);
    spin_lock(&session->lock);
    if (error)
        session_break(session, error);
    else if (session->state == NINEP_GREETING)
        session->state = NINEP_UP;
    else
        error = message_set(why, -EIO, "the connection broke");
    spin_unlock(&session->lock);
    return error;
}

/* Closes the broken connection after the last thread has left it. Called by the thread that connects. */
static void close_broken(struct ninep_session *session)
{
    for (;;) {
        spin_lock(&session->lock);
        bool is_used = session->inside;
        spin_unlock(&session->lock);
        if (!is_used)
            break;
        ninep_pause(ninep_now_ns() + PAUSE_MIN_NS);
    }
    if (session->transport.connection)
        ninep_transport_close(&session->transport);
}

int ninep_session_connect(struct ninep_session *session, uint64_t deadline_ns, struct message *why)
{
    close_broken(session);
    int error = connect_once(session, deadline_ns, why);
    bool is_back = false;

    spin_lock(&session->lock);
    session->is_connecting = false;
    session->attempts++;
    if (!error) {
        is_back = session->is_dead;
        session->is_dead = false;
    }
    spin_unlock(&session->lock);
    if (is_back)
        ninep_say(session->source, "the server is back");
    return error;
}

static int dead(struct ninep_session *session)
{
    spin_lock(&session->lock);
    bool is_new = !session->is_dead && session->state != NINEP_UP;
    session->is_dead |= is_new;
    spin_unlock(&session->lock);
    if (is_new)
        ninep_say(session->source, "the server does not answer: calls fail with EIO until it does");
    return -EIO;
}

int ninep_session_ready(struct ninep_session *session, uint64_t deadline_ns, uint32_t *generation)
{
    struct message why;
    uint64_t pause_ns = PAUSE_MIN_NS;
    uint32_t first = __atomic_load_n(&session->attempts, __ATOMIC_RELAXED);

    receive(session, false); /* so that a server that has gone is noticed before it gets a request */
    for (;;) {
        spin_lock(&session->lock);
        bool is_up = session->state == NINEP_UP;
        /* If the console has been told already, one attempt since this call began is enough. */
        bool is_late = ninep_now_ns() >= deadline_ns || (session->is_dead && session->attempts != first);
        bool connects = !is_up && !is_late && !session->is_connecting;
        *generation = session->generation;
        session->is_connecting |= connects;
        if (session->is_dead)
            deadline_ns = smaller(deadline_ns, ninep_now_ns() + DEAD_NS);
        spin_unlock(&session->lock);
        if (is_up)
            return 0;
        if (is_late)
            break;
        if (connects && ninep_session_connect(session, deadline_ns, &why) == 0)
            continue;
        if (connects && session->is_refused) { /* another attempt would be refused, too */
            ninep_say(session->source, why.text);
            return -EACCES;
        }
        ninep_pause(smaller(ninep_now_ns() + pause_ns, deadline_ns));
        pause_ns = smaller(2 * pause_ns, PAUSE_MAX_NS);
    }
    return dead(session);
}

void ninep_session_user_set(struct ninep_session *session, uint32_t user)
{
    SPIN_GUARD(&session->lock);
    if (session->user != user)
        session_break(session, -ECONNRESET);
    session->user = user;
}

/* ---- Fids ---- */

int64_t ninep_fid_allocate(struct ninep_session *session, uint32_t generation)
{
    SPIN_GUARD(&session->lock);
    if (session->generation != generation || session->state != NINEP_UP)
        return -ENOTCONN;
    for (unsigned i = 0; i < NINEP_FIDS / 64; i++)
        if (~session->fids[i]) {
            unsigned bit = (unsigned)__builtin_ctzll(~session->fids[i]);

            session->fids[i] |= 1ULL << bit;
            return i * 64 + bit;
        }
    return -ENFILE;
}

void ninep_fid_free(struct ninep_session *session, uint32_t fid, uint32_t generation)
{
    SPIN_GUARD(&session->lock);
    fid_clear(session, fid, generation);
}

/* Queues a request that releases a fid. Returns false if all of the session's own requests are in use, or if
 * it cannot be sent. The caller holds the lock. */
static bool clunk_enqueue(struct ninep_session *session, uint32_t fid, uint32_t generation)
{
    for (unsigned i = 0; i < NINEP_CLUNKS; i++) {
        struct ninep_request *request = &session->clunks[i].request;

        if (session->clunks[i].is_used)
            continue;
        *request =
            ninep_request_on(NINEP_CLUNK, fid, session->clunks[i].message, sizeof(session->clunks[i].message),
                             session->clunks[i].reply, sizeof(session->clunks[i].reply));
        request->clunked = fid;
        session->clunks[i].is_used = begin(session, request, generation) && !request->is_done;
        return session->clunks[i].is_used;
    }
    return false;
}

void ninep_clunk(struct ninep_session *session, uint32_t fid, uint32_t generation)
{
    uint8_t bytes[16], body[8];
    struct ninep_request request =
        ninep_request_on(NINEP_CLUNK, fid, bytes, sizeof(bytes), body, sizeof(body));

    spin_lock(&session->lock);
    bool is_lost = session->generation != generation || session->state != NINEP_UP;
    bool is_queued = !is_lost && clunk_enqueue(session, fid, generation);
    spin_unlock(&session->lock);
    if (is_queued)
        send_queued(session);
    if (is_lost || is_queued)
        return;
    if (ninep_call(session, &request, generation) == 0)
        ninep_fid_free(session, fid, generation);
}
