/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.c: the engine of the collectives: schedules are built, run round by round, and kept for later use.
 *
 * A schedule has one array of steps and one piece of memory for the temporary buffers of its algorithm. Both
 * stay with a completed schedule in a list of free ones, so that a small collective allocates nothing. A
 * blocking call advances its schedule from within its wait. Schedules of nonblocking calls are in a list that
 * every poll goes through. Runs under the library's lock.
 *
 * Messages carry the communicator's second context and the number of the collective as their tag: two
 * collectives on a communicator may be under way at once. Between two ranks, messages of one schedule match
 * in the order in which both name them. A collective of an intercommunicator also sends within its local
 * group, on that group's own communicator with the next number there.
 *
 * Source: MPI 3.1 §5.12; T. Hoefler, A. Lumsdaine, W. Rehm, "Implementation and performance analysis of
 * non-blocking collective operations for MPI", SC 2007 (schedules in rounds).
 */
#include "collective/collective.h"
#include <stdlib.h>
#include <string.h>

#define FIRST_STEPS     32
#define ROOM_BYTES      4096
#define ROOM_KEPT_BYTES (4u << 20) /* maximum that a free schedule keeps */

enum step_kind { STEP_SEND, STEP_RECEIVE, STEP_COPY, STEP_REDUCE };

struct step {
    enum step_kind kind;
    bool ends_round;
    int peer;
    struct mpi_comm *comm; /* of a message: the schedule's, or its local group's */
    struct block from, to; /* of a message, only one of them */
    struct mpi_op *op;
    struct mpi_request *request;
};

/* Memory that did not fit into a schedule's own. */
struct spill {
    struct spill *next;
    _Alignas(16) unsigned char data[];
};

struct schedule {
    struct schedule *next; /* in the list of schedules under way, or of free ones */
    struct mpi_comm *comm;
    int tag, local_tag; /* the latter for the local group of an intercommunicator */
    struct step *steps;
    int count, capacity;
    int begun, finished;         /* number of steps; those in between are under way */
    int error;                   /* the first error */
    struct mpi_request *request; /* NULL: a call waits for it */
    struct mpi_op op;            /* a copy of the program's own operation, which the program may free */
    unsigned char *room;
    size_t room_bytes, room_used;
    struct spill *spills;
    size_t spilled_bytes;
};

static struct schedule *schedules_free;
static struct schedule *under_way, **under_way_last = &under_way;

static void *memory_take(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes);

    if (!memory)
        mpi_abort(1, "no memory for %zu bytes of a collective", bytes);
    return memory;
}

/* ---- Making and end ---- */

struct schedule *schedule_make(struct mpi_comm *comm, const struct call *call, struct call *held)
{
    struct schedule *schedule = schedules_free;

    if (schedule) {
        schedules_free = schedule->next;
    } else {
        schedule = memory_take(NULL, sizeof(*schedule));
        memset(schedule, 0, sizeof(*schedule));
    }
    schedule->comm = comm;
    schedule->tag = (int)(comm->sequence++ & 0x7fffffff);
    if (comm->inter)
        schedule->local_tag = (int)(comm->local->sequence++ & 0x7fffffff);
    schedule->count = schedule->begun = schedule->finished = 0;
    schedule->error = MPI_SUCCESS;
    schedule->request = NULL;
    *held = *call;
    if (call->op && !call->op->predefined) {
        schedule->op = *call->op;
        held->op = &schedule->op;
    }
    return schedule;
}

/* Frees what spilled, and enlarges the room by it, so that it fits the next time. */
static void room_reset(struct schedule *schedule)
{
    schedule->room_used = 0;
    if (!schedule->spills)
        return;
    while (schedule->spills) {
        struct spill *spill = schedule->spills;

        schedule->spills = spill->next;
        free(spill);
    }
    size_t larger_bytes = schedule->room_bytes + schedule->spilled_bytes;
    schedule->spilled_bytes = 0;
    if (larger_bytes > ROOM_KEPT_BYTES)
        return;
    free(schedule->room);
    schedule->room = memory_take(NULL, larger_bytes);
    schedule->room_bytes = larger_bytes;
}

static void type_drop(struct mpi_datatype *type)
{
    if (type && !type->predefined)
        type_release(type);
}

static void schedule_free(struct schedule *schedule)
{
    for (int i = 0; i < schedule->count; i++) {
        type_drop(schedule->steps[i].from.type);
        type_drop(schedule->steps[i].to.type);
    }
    room_reset(schedule);
    schedule->next = schedules_free;
    schedules_free = schedule;
}

void *schedule_room(struct schedule *schedule, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        mpi_abort(1, "no memory for %zu bytes of a collective", bytes);
    bytes = (bytes + 15) & ~(size_t)15;
    if (!schedule->room) {
        schedule->room = memory_take(NULL, ROOM_BYTES);
        schedule->room_bytes = ROOM_BYTES;
    }
    if (bytes <= schedule->room_bytes - schedule->room_used) {
        void *room = schedule->room + schedule->room_used;

        schedule->room_used += bytes;
        return room;
    }
    struct spill *spill = memory_take(NULL, sizeof(*spill) + bytes);
    spill->next = schedule->spills;
    schedule->spills = spill;
    schedule->spilled_bytes += bytes;
    return spill->data;
}

size_t elements_room(size_t count, const struct mpi_datatype *type, MPI_Aint *shift)
{
    MPI_Aint begin = 0;

    *shift = 0;
    if (type->dense)
        return count * type->bytes;
    size_t bytes = type_span(type, count, &begin);
    /* An element keeps the alignment that it has at `begin` of an aligned buffer. */
    *shift = (begin & 15) - begin;
    return bytes + 16;
}

void *schedule_room_for(struct schedule *schedule, size_t count, const struct mpi_datatype *type)
{
    MPI_Aint shift;
    size_t bytes = elements_room(count, type, &shift);

    return place_at(schedule_room(schedule, bytes), shift);
}

/* ---- Steps ---- */

static struct step *step_add(struct schedule *schedule, enum step_kind kind, struct block from,
                             struct block to)
{
    if (schedule->count == schedule->capacity) {
        schedule->capacity = schedule->capacity ? 2 * schedule->capacity : FIRST_STEPS;
        schedule->steps = memory_take(schedule->steps, (size_t)schedule->capacity * sizeof(struct step));
    }
    if (from.type && !from.type->predefined)
        type_hold(from.type);
    if (to.type && !to.type->predefined)
        type_hold(to.type);
    struct step *step = &schedule->steps[schedule->count++];
    *step = (struct step){ .kind = kind, .from = from, .to = to };
    return step;
}

static void step_address(struct step *step, const struct team *team, int peer)
{
    step->comm = team->comm;
    step->peer = team->members ? team->members[peer] : peer;
}

void schedule_send(struct schedule *schedule, const struct team *team, int peer, struct block block)
{
    step_address(step_add(schedule, STEP_SEND, block, (struct block){ 0 }), team, peer);
}

void schedule_receive(struct schedule *schedule, const struct team *team, int peer, struct block block)
{
    step_address(step_add(schedule, STEP_RECEIVE, (struct block){ 0 }, block), team, peer);
}

void schedule_copy(struct schedule *schedule, struct block from, struct block to)
{
    if (block_bytes(from) && block_bytes(to) && (from.at != to.at || from.type != to.type))
        step_add(schedule, STEP_COPY, from, to);
}

void schedule_reduce(struct schedule *schedule, struct mpi_op *op, const void *from, void *to, size_t count,
                     struct mpi_datatype *type)
{
    if (count)
        step_add(schedule, STEP_REDUCE, block_of(from, count, type), block_of(to, count, type))->op = op;
}

void schedule_round(struct schedule *schedule)
{
    if (schedule->count)
        schedule->steps[schedule->count - 1].ends_round = true;
}

/* ---- The engine ---- */

struct block side_block(const struct side *side, int i)
{
    struct mpi_datatype *type = side->types ? side->types[i] : side->type;
    size_t count = side->counts ? (size_t)side->counts[i] : side->count;
    ptrdiff_t place = side->types    ? side->places[i]
                      : side->places ? side->places[i] * type->extent
                                     : (ptrdiff_t)((size_t)i * count) * type->extent;

    return block_of(place_at(side->buffer, place), count, type);
}

int block_copy(struct block from, struct block to)
{
    size_t bytes = block_bytes(from);

    if (from.type->dense && to.type->dense && bytes <= block_bytes(to)) {
        memcpy(to.at, from.at, bytes);
        return MPI_SUCCESS;
    }
    return type_copy(from.at, from.count, from.type, to.at, to.count, to.type);
}

static int tag_of(const struct schedule *schedule, const struct step *step)
{
    return step->comm == schedule->comm ? schedule->tag : schedule->local_tag;
}

static int send_do(struct schedule *schedule, struct step *step)
{
    struct mpi_comm *comm = step->comm;
    uint32_t context = comm->context + 1;
    int tag = tag_of(schedule, step);

    if (message_send_now(step->from.at, step->from.count, step->from.type, step->peer, tag, comm, context))
        return MPI_SUCCESS;
    step->request = message_send(SEND_STANDARD, step->from.at, step->from.count, step->from.type, step->peer,
                                 tag, comm, context);
    return step->request ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static int receive_do(struct schedule *schedule, struct step *step)
{
    step->request = message_receive(step->to.at, step->to.count, step->to.type, step->peer,
                                    tag_of(schedule, step), step->comm, step->comm->context + 1);
    return step->request ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static int step_do(struct schedule *schedule, struct step *step)
{
    switch (step->kind) {
    case STEP_SEND:
        return send_do(schedule, step);
    case STEP_RECEIVE:
        return receive_do(schedule, step);
    case STEP_COPY:
        return block_copy(step->from, step->to);
    default:
        op_apply(step->op, step->from.at, step->to.at, step->from.count, step->from.type);
        return MPI_SUCCESS;
    }
}

static void error_keep(struct schedule *schedule, int error)
{
    if (error && !schedule->error)
        schedule->error = error;
}

static void round_begin(struct schedule *schedule)
{
    bool ends = false;

    while (!ends && schedule->begun < schedule->count) {
        struct step *step = &schedule->steps[schedule->begun++];

        error_keep(schedule, step_do(schedule, step));
        ends = step->ends_round;
    }
}

/* Finishes a step's message. The size of a received message must be the expected one. */
static int step_finish(struct step *step)
{
    size_t came = step->request->status.mpi_lite_bytes;
    int error = request_finish(&step->request, MPI_STATUS_IGNORE);

    if (!error && step->kind == STEP_RECEIVE && came != block_bytes(step->to))
        error = mpi_error(MPI_ERR_COUNT, "rank %d has sent %zu bytes where %zu are expected", step->peer,
                          came, block_bytes(step->to));
    return error;
}

/* Advances as far as possible without waiting; returns whether it advanced. An error does not stop it: other
 * ranks wait for its messages. */
static bool schedule_advance(struct schedule *schedule)
{
    bool moved = false;

    for (;;) {
        for (; schedule->finished < schedule->begun; schedule->finished++) {
            struct step *step = &schedule->steps[schedule->finished];

            if (!step->request)
                continue;
            if (!step->request->complete)
                return moved;
            error_keep(schedule, step_finish(step));
            moved = true;
        }
        if (schedule->begun == schedule->count)
            return moved;
        round_begin(schedule);
        moved = true;
    }
}

static bool schedule_is_done(const struct schedule *schedule)
{
    return schedule->finished == schedule->count;
}

static bool schedule_done(void *argument)
{
    schedule_advance(argument);
    return schedule_is_done(argument);
}

int schedule_run(struct schedule *schedule)
{
    if (!schedule_done(schedule))
        progress_wait(schedule_done, schedule);
    int error = schedule->error;
    schedule_free(schedule);
    return error;
}

/* Ends the schedule of a nonblocking call: completes the program's request, and frees the schedule. */
static void schedule_end(struct schedule *schedule)
{
    struct mpi_request *request = schedule->request;

    request->error = schedule->error;
    request->schedule = NULL;
    schedule_free(schedule);
    request_complete(request);
}

/* Advances the schedules of nonblocking calls; part of each poll once there has been such a call. */
static bool collective_progress(void)
{
    bool moved = false;

    for (struct schedule **link = &under_way; *link;) {
        struct schedule *schedule = *link;

        moved |= schedule_advance(schedule);
        if (!schedule_is_done(schedule)) {
            link = &schedule->next;
            continue;
        }
        *link = schedule->next;
        if (!*link)
            under_way_last = link;
        schedule_end(schedule);
    }
    return moved;
}

int schedule_launch(struct schedule *schedule, struct mpi_request **request)
{
    schedule->request = request_make(REQUEST_COLLECTIVE, schedule->comm);
    if (!schedule->request)
        mpi_abort(1, "no memory for the request of a collective");
    status_empty(&schedule->request->status, MPI_ANY_SOURCE);
    schedule->request->schedule = schedule;
    *request = schedule->request;
    if (schedule_done(schedule)) {
        schedule_end(schedule);
        return MPI_SUCCESS;
    }
    schedule->next = NULL;
    *under_way_last = schedule;
    under_way_last = &schedule->next;
    progress_add(collective_progress);
    return MPI_SUCCESS;
}
