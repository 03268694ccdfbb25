/* SPDX-License-Identifier: BSD-2-Clause */
/* unix_rights.c: open files in messages: SCM_RIGHTS. */
#include "unix_control.h"

static long give(int end, const char *words, const int *files, unsigned count)
{
    struct carrier carrier = carrier_of(words, CMSG_SPACE(count * sizeof(int)));

    carrier.control.header =
        (struct cmsghdr){ .cmsg_len =
                              (__typeof__(carrier.control.header.cmsg_len))CMSG_LEN(count * sizeof(int)),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(&carrier.control.header), files, count * sizeof(int));
    return carried(&carrier, end, true, MSG_NOSIGNAL);
}

/* The first descriptor that comes, -1 where none does. */
static int take(const char *what, int end, unsigned room, size_t control_bytes, int flags)
{
    struct carrier carrier = carrier_of("", control_bytes);
    char line[80];

    carrier.part.iov_len = room;
    long bytes = carried(&carrier, end, false, flags);
    unsigned count = 0;
    int first = -1;
    if (bytes >= 0 && carrier.message.msg_controllen >= sizeof(struct cmsghdr)) {
        const struct cmsghdr *header = &carrier.control.header;

        count = (unsigned)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(&first, CMSG_DATA(header), sizeof(first));
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            count = 99;
        for (unsigned i = 1; i < count; i++) {
            int next;

            memcpy(&next, CMSG_DATA(header) + i * sizeof(next), sizeof(next));
            sys(SYS_close, next);
        }
    }
    snprintf(line, sizeof(line), "%ld bytes \"%.15s\", %u files, flags %#x, %lu of control", bytes,
             carrier.words, count, (unsigned)carrier.message.msg_flags,
             (unsigned long)carrier.message.msg_controllen);
    text(what, line);
    return count ? first : -1;
}

static void files_pass(void)
{
    int pipe[2], three[3], file = file_made("passed", "one two");
    char words[16] = "";

    made("made", SOCK_STREAM);
    sys(SYS_pipe2, pipe, 0);
    result("a file", give(ends[0], "file", &file, 1));
    int again = take("received", ends[1], 16, 64, 0);
    sys(SYS_lseek, file, 4, SEEK_SET);
    result("read by the other", sys(SYS_read, again, words, 16));
    text("from where the first is", words);
    result("not closed on exec", sys(SYS_fcntl, again, F_GETFD));
    sys(SYS_close, again);
    result("a pipe", give(ends[0], "pipe", &pipe[1], 1));
    sys(SYS_close, pipe[1]);
    int writer = take("its end", ends[1], 16, 64, MSG_CMSG_CLOEXEC);
    result("closed on exec", sys(SYS_fcntl, writer, F_GETFD));
    result("written", sys(SYS_write, writer, "through", 7));
    sys(SYS_close, writer);
    result("read", sys(SYS_read, pipe[0], words, 16));
    result("then the end", sys(SYS_read, pipe[0], words, 16));
    three[0] = three[1] = three[2] = file;
    result("three", give(ends[0], "three", three, 3));
    sys(SYS_close, take("three of them", ends[1], 16, 64, 0));
    result("three again", give(ends[0], "three", three, 3));
    sys(SYS_close, take("room for two", ends[1], 16, CMSG_LEN(2 * sizeof(int)), 0));
    result("once more", give(ends[0], "none", three, 3));
    take("room for none", ends[1], 16, 0, 0);
    result("dropped", give(ends[0], "plain", &file, 1));
    result("received without", got(ends[1], words, sizeof(words), 0));
    result("bad descriptor", give(ends[0], "x", &(int){ 77 }, 1));
    result("nothing came of it", got(ends[1], words, sizeof(words), MSG_DONTWAIT));
    sys(SYS_close, file);
    sys(SYS_close, pipe[0]);
    closed();
}

static void order(void)
{
    int file = file_made("passed", "one two");

    made("in order", SOCK_STREAM);
    sys(SYS_write, ends[0], "ab", 2);
    give(ends[0], "cd", &file, 1);
    sys(SYS_write, ends[0], "ef", 2);
    give(ends[0], "gh", &file, 1);
    sys(SYS_close, take("not beyond the first", ends[1], 16, 64, 0));
    take("one byte", ends[1], 1, 64, 0);
    sys(SYS_close, take("the rest", ends[1], 16, 64, 0));
    closed();

    made("messages", SOCK_DGRAM);
    sys(SYS_write, ends[0], "ab", 2);
    give(ends[0], "cd", &file, 1);
    give(ends[0], "", &file, 1);
    take("without", ends[1], 16, 64, 0);
    sys(SYS_close, take("with", ends[1], 1, 64, 0));
    sys(SYS_close, take("empty", ends[1], 1, 64, 0));
    sys(SYS_close, file);
    closed();
}

/* Sockets that are sent through themselves, and chains of them: their memory comes back at the latest when
 * the process ends. */
static void circles(void)
{
    char words[8];
    int first[2], second[2];

    made("itself", SOCK_STREAM);
    result("sent through itself", give(ends[0], "x", &ends[1], 1));
    closed();
    for (int i = 0; i < 100; i++) {
        sys(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, second);
        if (i > 0) {
            give(second[0], "x", &first[1], 1);
            sys(SYS_close, first[0]);
            sys(SYS_close, first[1]);
        }
        memcpy(first, second, sizeof(first));
    }
    result("the end of a chain", got(first[1], words, sizeof(words), MSG_PEEK));
    sys(SYS_close, first[0]);
    sys(SYS_close, first[1]);
    result("descriptors are free", sys(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends));
    closed();
}

CONFORM(unix_rights)
{
    if (!in_tmp())
        return;
    files_pass();
    order();
    circles();
}
