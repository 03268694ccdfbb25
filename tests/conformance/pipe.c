/* SPDX-License-Identifier: BSD-2-Clause */
/* pipe.c: bytes from one end to the other, in one process. */
#include "conform.h"

#include <sys/ioctl.h>

CONFORM(pipe)
{
    static char much[(1 << 20) + 4096]; /* more than any holds */
    char bytes[16];
    int ends[2] = { -1, -1 }, left = 0;
    long room;
    struct stat status;
    struct pollfd set;

    result("made", sys(SYS_pipe2, ends, O_NONBLOCK));
    if (ends[0] < 0)
        return;
    result("the ends", ends[0] * 100 + ends[1]);
    sys(SYS_fstat, ends[0], &status);
    holds("it is one", S_ISFIFO(status.st_mode));
    result("read from an empty one", sys(SYS_read, ends[0], bytes, 16));
    set = (struct pollfd){ ends[0], POLLIN, 0 };
    result("poll of an empty one", sys(SYS_poll, &set, 1, 0));
    result("write", sys(SYS_write, ends[1], "12345", 5));
    result("poll", sys(SYS_poll, &set, 1, 0) * 100 + set.revents);
    result("FIONREAD", sys(SYS_ioctl, ends[0], FIONREAD, &left));
    result("bytes in it", left);
    result("read a part", sys(SYS_read, ends[0], bytes, 3));
    result("read the rest", sys(SYS_read, ends[0], bytes, 16));
    result("write into the reading end", sys(SYS_write, ends[0], "1", 1));
    result("read from the writing end", sys(SYS_read, ends[1], bytes, 1));
    result("seek", sys(SYS_lseek, ends[0], 0, SEEK_SET));
    result("read at a place", sys(SYS_pread64, ends[0], bytes, 1, 0));
    room = sys(SYS_fcntl, ends[1], F_GETPIPE_SZ);
    result("its room", room);
    holds("write until it is full", sys(SYS_write, ends[1], much, sizeof(much)) == room);
    result("write into a full one", sys(SYS_write, ends[1], "1", 1));
    set = (struct pollfd){ ends[1], POLLOUT, 0 };
    result("poll of a full one", sys(SYS_poll, &set, 1, 0));
    holds("read all", sys(SYS_read, ends[0], much, sizeof(much)) == room);
    result("from nobody's memory", sys(SYS_write, ends[1], NOWHERE, 4));
    sys(SYS_write, ends[1], "xyz", 3);
    result("to nobody's memory", sys(SYS_read, ends[0], NOWHERE, 3));
    sys(SYS_read, ends[0], bytes, 16);
    sys(SYS_close, ends[1]);
    result("its end", sys(SYS_read, ends[0], bytes, 16));
    set = (struct pollfd){ ends[0], POLLIN, 0 };
    sys(SYS_poll, &set, 1, 0);
    result("poll at its end", set.revents);
    result("pipe", sys(SYS_pipe, ends));
    result("no such flag", sys(SYS_pipe2, ends, 1));
    result("to nobody's memory, made", sys(SYS_pipe2, NOWHERE, 0));
}
