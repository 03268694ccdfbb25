/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ninep.c: messages of 9P to and from bytes, and a session against a server that a test scripts: one
 * that lies, that answers in another order, in pieces, or not at all.
 */
#include "ninep/file.h"
#include "ninep/mount.h"
#include "ninep_host.h"

/* ---- The codec ---- */

TEST(a_message_never_outgrows_its_buffer)
{
    uint8_t bytes[32];

    for (uint32_t capacity = 0; capacity <= sizeof(bytes); capacity++) {
        memset(bytes, 0x55, sizeof(bytes));
        struct ninep_message message = ninep_begin(bytes, capacity, NINEP_WALK);
        ninep_put_u64(&message, UINT64_MAX);
        ninep_put_text(&message, "name", 4);
        CHECK_EQUAL(message.overflows, capacity < 7 + 8 + 6);
        for (uint32_t i = capacity; i < sizeof(bytes); i++)
            CHECK_EQUAL(bytes[i], 0x55);
    }
}

TEST(a_reply_cut_anywhere_is_refused)
{
    uint8_t bytes[200] = { 0 };
    struct mount_status status;
    struct mount_statistics statistics;
    struct mount_lock lock;
    struct mount_entry entry;
    struct ninep_qid qids[NINEP_WALK_MAX];
    uint32_t count;

    bytes[0] = 1; /* of a walk: one qid; of a text: one character */
    for (unsigned size = 0; size < 200; size++) {
        uint8_t *copy = malloc(size ? size : 1); /* the sanitizer sees what is read after it */
        memcpy(copy, bytes, size);
        struct ninep_reader whole = { .at = copy, .end = copy + size }, reader = whole;
        CHECK_EQUAL(ninep_read_attributes(&reader, &status), size < 121 ? -EPROTO : 0);
        reader = whole;
        CHECK_EQUAL(ninep_read_statistics(&reader, &statistics), size < 60 ? -EPROTO : 0);
        reader = whole;
        CHECK_EQUAL(ninep_read_lock(&reader, &lock), size < 21 ? -EPROTO : 0);
        reader = whole;
        CHECK_EQUAL(ninep_read_walk(&reader, 1, qids), size < 15 ? -EPROTO : 1);
        reader = whole;
        CHECK_EQUAL(ninep_read_version(&reader, &count), size < 6 ? -EPROTO : -EOPNOTSUPP);
        reader = whole;
        CHECK_EQUAL(ninep_read_error(&reader), size < 4 ? -EIO : -1);
        reader = whole; /* its name is empty */
        CHECK_EQUAL(ninep_read_entry(&reader, &entry), size ? -EPROTO : 0);
        free(copy);
    }
}

TEST(what_a_server_says_went_wrong_is_what_a_program_may_be_told)
{
    static const struct {
        uint32_t said;
        int expected;
    } errors[] = { { 0, -EIO },        { ENOENT, -ENOENT },  { EAGAIN, -EAGAIN },
                   { EINTR, -EIO }, /* none has come */
                   { ENOTCONN, -EIO }, { ECONNRESET, -EIO }, { ERESTARTNOHAND, -EIO },
                   { 4095, -EIO },     { UINT32_MAX, -EIO } };

    for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        uint8_t bytes[4];
        struct ninep_reader reader = { .at = bytes, .end = bytes + sizeof(bytes) };

        memcpy(bytes, &errors[i].said, sizeof(bytes)); /* least significant byte first, as here */
        CHECK_EQUAL(ninep_read_error(&reader), errors[i].expected);
    }
}

TEST(names_that_no_directory_has_are_refused)
{
    static const char *const names[] = { "a/b", "", "ok" };
    struct mount_entry entry;

    for (unsigned i = 0; i < 3; i++) {
        uint8_t bytes[64] = { 0 };
        struct ninep_message message = { .bytes = bytes, .capacity = sizeof(bytes), .used = 22 };
        ninep_put_text(&message, names[i], strlen(names[i]));
        struct ninep_reader reader = { .at = bytes, .end = bytes + message.used };
        CHECK_EQUAL(ninep_read_entry(&reader, &entry), i == 2 ? 1 : -EPROTO);
    }
    CHECK_TEXT(entry.name, "ok");
}

/* ---- A scripted server ---- */

/* What it does with a request instead of answering it. */
enum trick {
    HONEST,
    IN_PIECES, /* a byte at a time */
    REVERSED,  /* holds two requests, answers the second first */
    WRONG_TAG,
    NO_TAG,
    WRONG_TYPE,
    TOO_LARGE,  /* a size of 4 GiB */
    TOO_SMALL,  /* of 3 bytes */
    LONG_READ,  /* more data than was asked for */
    COUNT_LIES, /* data of another length than it says */
    ANSWERS_TWICE,
    SILENT,
    ENDS,
    TRICKS
};

static enum trick trick;
static int server_fd;
static unsigned reads_seen;

static bool receive_all(uint8_t *bytes, size_t count)
{
    for (size_t got = 0; got < count;) {
        ssize_t part = recv(server_fd, bytes + got, count - got, 0);

        if (part <= 0)
            return false;
        got += (size_t)part;
    }
    return true;
}

static void send_all(const uint8_t *bytes, size_t count)
{
    size_t step = trick == IN_PIECES ? 1 : count;

    for (size_t at = 0; at < count; at += step)
        if (send(server_fd, bytes + at, step, MSG_NOSIGNAL) < 0)
            return;
}

static void reply_set(struct ninep_message *reply, uint16_t tag)
{
    memcpy(reply->bytes, &reply->used, 4);
    memcpy(reply->bytes + 5, &tag, 2);
}

/* Answers requests; damages only answers after the greeting. */
static void answer(const uint8_t *request, uint32_t size)
{
    static uint8_t held[1024];
    static uint32_t held_bytes;
    uint8_t bytes[1024];
    uint8_t type = request[4];
    uint16_t tag;
    struct ninep_message reply = ninep_begin(bytes, sizeof(bytes), (enum ninep_type)(type + 1));

    (void)size;
    memcpy(&tag, request + 5, 2);
    bool plays = type != NINEP_VERSION && type != NINEP_ATTACH;
    switch (type) {
    case NINEP_VERSION:
        ninep_put_u32(&reply, 4096);
        ninep_put_text(&reply, "9P2000.L", 8);
        break;
    case NINEP_ATTACH:
    case NINEP_OPEN:
        ninep_put_u8(&reply, type == NINEP_ATTACH ? NINEP_QID_DIRECTORY : 0);
        ninep_put_u32(&reply, 0);
        ninep_put_u64(&reply, 1);
        ninep_put_u32(&reply, 0);
        reply.used -= type == NINEP_ATTACH ? 4 : 0;
        break;
    case NINEP_READ: {
        uint64_t offset;
        uint32_t count;

        reads_seen++;
        memcpy(&offset, request + 11, 8);
        memcpy(&count, request + 19, 4);
        count = (offset >= 300 ? 0 : count > 300 - offset ? 300 - (uint32_t)offset : count);
        ninep_put_u32(&reply, count + (trick == COUNT_LIES) + (trick == LONG_READ ? 500 : 0));
        for (uint32_t i = 0; i < count + (trick == LONG_READ ? 500 : 0); i++)
            ninep_put_u8(&reply, (uint8_t)(offset + i));
        break;
    }
    default:
        break;
    }
    reply_set(&reply, tag);
    if (plays && trick == WRONG_TAG)
        reply_set(&reply, (uint16_t)(tag + 7));
    if (plays && trick == NO_TAG)
        reply_set(&reply, NINEP_NO_TAG);
    if (plays && trick == WRONG_TYPE)
        bytes[4] = NINEP_STATFS + 1;
    if (plays && trick == TOO_LARGE)
        memset(bytes, 0xff, 4);
    if (plays && trick == TOO_SMALL)
        memcpy(bytes, (uint8_t[]){ 3, 0, 0, 0 }, 4);
    if (plays && trick == SILENT)
        return;
    if (plays && trick == ENDS) {
        shutdown(server_fd, SHUT_RDWR);
        return;
    }
    if (plays && trick == REVERSED && !held_bytes) {
        memcpy(held, bytes, reply.used);
        held_bytes = reply.used;
        return;
    }
    send_all(bytes, reply.used);
    if (plays && trick == ANSWERS_TWICE)
        send_all(bytes, reply.used);
    if (held_bytes)
        send_all(held, held_bytes);
    held_bytes = 0;
}

static void *serve(void *context)
{
    uint8_t request[8192];
    uint32_t size;

    (void)context; /* there is one */
    while (receive_all(request, 7)) {
        memcpy(&size, request, 4);
        if (size < 7 || size > sizeof(request) || !receive_all(request + 7, size - 7))
            break;
        answer(request, size);
    }
    close(server_fd);
    return NULL;
}

static struct ninep_mount mount;
static pthread_t serving;

static bool session_begin(uint64_t timeout_ns)
{
    struct message why = { "" };
    int pair[2];

    memset(&mount, 0, sizeof(mount));
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    host_socket = pair[0];
    server_fd = pair[1];
    pthread_create(&serving, NULL, serve, NULL);
    ninep_mount_begin(&mount, "/home", 0, 0, "/export", timeout_ns, &why); /* port 0: never again */
    return CHECK_TEXT(why.text, "");
}

static void session_end(void)
{
    if (mount.session.transport.connection)
        ninep_transport_close(&mount.session.transport);
    pthread_join(serving, NULL);
    for (unsigned tag = 0; tag < NINEP_TAGS; tag++)
        CHECK(!mount.session.tags[tag] || mount.session.tags[tag]->clunked != NINEP_NO_FID);
    CHECK_EQUAL(host_memory, 0);
}

static struct ninep_file file;

static int64_t read_some(uint8_t *bytes, uint64_t count)
{
    file = (struct ninep_file){ .file.mount = &mount.mount,
                                .session = &mount.session,
                                .generation = mount.session.generation };
    return ninep_operations.read(&file.file, bytes, count, 0);
}

TEST(whatever_a_server_does_a_read_is_right_or_an_error)
{
    uint8_t bytes[400];

    for (trick = HONEST; trick < TRICKS; trick++) {
        bool is_right = trick == HONEST || trick == IN_PIECES || trick == ANSWERS_TWICE;

        if (trick == REVERSED || !session_begin(20000000000))
            continue;
        mount.session.timeout_ns = is_right ? 20000000000 : 100000000;
        uint64_t start_ns = ninep_now_ns();
        memset(bytes, 0xee, sizeof(bytes));
        int64_t got = read_some(bytes, 200);
        if (!CHECK_EQUAL(got, is_right ? 200 : -EIO))
            fprintf(stderr, "  trick %u\n", trick);
        for (unsigned i = 0; i < 200 && got == 200; i++)
            CHECK_EQUAL(bytes[i], i);
        for (unsigned i = 200; i < 400; i++)
            CHECK_EQUAL(bytes[i], 0xee);
        CHECK(trick != SILENT || ninep_now_ns() - start_ns >= 100000000);
        session_end();
    }
}

TEST(replies_may_come_in_another_order)
{
    static uint8_t bytes[20000];

    trick = REVERSED;
    if (!session_begin(5000000000))
        return;
    CHECK_EQUAL(read_some(bytes, 2 * (4096 - NINEP_DATA_OVERHEAD)), 300);
    for (unsigned i = 0; i < 300; i++)
        CHECK_EQUAL(bytes[i], (uint8_t)i);
    session_end();
}

TEST(large_reads_are_in_flight_together)
{
    static uint8_t bytes[20000];

    trick = HONEST;
    reads_seen = 0;
    if (!session_begin(5000000000))
        return;
    CHECK_EQUAL(read_some(bytes, sizeof(bytes)), 300);
    /* The answer to the first said already that the end was reached. */
    CHECK(reads_seen > 1);
    session_end();
}

static void *read_often(void *context)
{
    uint8_t bytes[300];
    bool is_right = true;

    for (unsigned i = 0; i < 500 && is_right; i++) {
        uint64_t offset = i % 200;
        is_right = ninep_operations.read(&file.file, bytes, 100, offset) == 100;
        for (unsigned at = 0; at < 100; at++)
            is_right &= bytes[at] == (uint8_t)(offset + at);
    }
    (void)context; /* they are all alike */
    return is_right ? NULL : (void *)1;
}

TEST(each_of_many_threads_gets_its_own_reply)
{
    pthread_t threads[100]; /* more than there are tags */
    uint8_t bytes[10];
    void *result;

    trick = HONEST;
    if (!session_begin(60000000000))
        return;
    CHECK_EQUAL(read_some(bytes, 10), 10);
    for (unsigned i = 0; i < 100; i++)
        pthread_create(&threads[i], NULL, read_often, NULL);
    for (unsigned i = 0; i < 100; i++) {
        pthread_join(threads[i], &result);
        CHECK(!result);
    }
    CHECK_EQUAL(mount.session.inside, 0);
    session_end();
}

TEST(what_is_no_server_of_9p_is_named)
{
    static const char answer_of_http[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    struct message why = { "" };
    int pair[2];

    memset(&mount, 0, sizeof(mount));
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    host_socket = pair[0];
    CHECK(write(pair[1], answer_of_http, sizeof(answer_of_http) - 1) > 0);
    CHECK(ninep_mount_begin(&mount, "/home", 0, 0, "/export", 1000000000, &why) < 0);
    CHECK_CONTAINS(why.text, "mount=/home");
    CHECK_CONTAINS(why.text, "it does not speak 9P2000.L");
    close(pair[1]);
}

/* What a server that has just died, and one that hangs, are said to be. */
TEST(a_server_that_fails_at_the_greeting_is_not_said_to_speak_something_else)
{
    for (unsigned hangs = 0; hangs < 2; hangs++) {
        struct message why = { "" };
        int pair[2];

        memset(&mount, 0, sizeof(mount));
        CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        host_socket = pair[0];
        if (!hangs)
            close(pair[1]);
        CHECK(ninep_mount_begin(&mount, "/home", 0, 0, "/export", 100000000, &why) < 0);
        CHECK_CONTAINS(why.text,
                       hangs ? "it does not answer the greeting" : "the connection ended at the greeting");
        if (hangs)
            close(pair[1]);
    }
}

int main(void)
{
    RUN(a_message_never_outgrows_its_buffer);
    RUN(a_reply_cut_anywhere_is_refused);
    RUN(what_a_server_says_went_wrong_is_what_a_program_may_be_told);
    RUN(names_that_no_directory_has_are_refused);
    RUN(whatever_a_server_does_a_read_is_right_or_an_error);
    RUN(replies_may_come_in_another_order);
    RUN(large_reads_are_in_flight_together);
    RUN(each_of_many_threads_gets_its_own_reply);
    RUN(what_is_no_server_of_9p_is_named);
    RUN(a_server_that_fails_at_the_greeting_is_not_said_to_speak_something_else);
    return check_report("ninep");
}
