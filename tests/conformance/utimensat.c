/* SPDX-License-Identifier: BSD-2-Clause */
/* utimensat.c: times of a file, set and reported. */
#include "conform.h"

CONFORM(utimensat)
{
    struct timespec times[2] = { { 1000, 5 }, { 2000, 7 } };
    struct stat status;
    int file;

    if (!in_tmp())
        return;
    file = file_made("file", "");
    sys(SYS_stat, "file", &status);
    holds("made now", labs(status.st_mtim.tv_sec - time(NULL)) <= 2);
    result("set", sys(SYS_utimensat, AT_FDCWD, "file", times, 0));
    sys(SYS_stat, "file", &status);
    result("read last", status.st_atim.tv_sec * 10 + status.st_atim.tv_nsec);
    result("changed last", status.st_mtim.tv_sec * 10 + status.st_mtim.tv_nsec);
    times[0].tv_nsec = UTIME_OMIT;
    times[1] = (struct timespec){ 3000, 0 };
    result("one of them", sys(SYS_utimensat, file, NULL, times, 0));
    sys(SYS_stat, "file", &status);
    result("the other stays", status.st_atim.tv_sec + status.st_mtim.tv_sec);
    result("now", sys(SYS_utimensat, AT_FDCWD, "file", NULL, 0));
    sys(SYS_stat, "file", &status);
    holds("is now", labs(status.st_mtim.tv_sec - time(NULL)) <= 2);
    times[1].tv_nsec = 1000000000;
    result("no time at all", sys(SYS_utimensat, AT_FDCWD, "file", times, 0));
    result("no such flag", sys(SYS_utimensat, AT_FDCWD, "file", NULL, 1));
    result("what is not there", sys(SYS_utimensat, AT_FDCWD, "none", NULL, 0));
    times[0] = times[1] = (struct timespec){ 4000, 0 };
    sys(SYS_utimensat, AT_FDCWD, "file", times, 0);
    sys(SYS_write, file, "1", 1);
    sys(SYS_stat, "file", &status);
    holds("a write is a change", status.st_mtim.tv_sec > 4000 && status.st_atim.tv_sec == 4000);
}
