/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linux_files.h: constants of Linux's user interface that the files and the system calls share, the same on
 * every architecture; arch/linux_abi.h adds those that differ. Source: as of lib/linux_abi.h.
 */
#ifndef TACET_LINUX_FILES_H
#define TACET_LINUX_FILES_H

#include "arch/linux_abi.h"
#include "lib/file_mode.h"

#define O_ACCMODE     3
#define O_RDONLY      0
#define O_WRONLY      1
#define O_RDWR        2
#define O_CREAT       0100
#define O_EXCL        0200
#define O_TRUNC       01000
#define O_APPEND      02000
#define O_NONBLOCK    04000
#define O_CLOEXEC     02000000
#define O_PATH        010000000
#define O_TMPFILE_BIT 020000000 /* set together with O_DIRECTORY */

#define IOV_MAX        1024
#define READ_WRITE_MAX 0x7ffff000ULL /* most bytes of one read or write */

struct linux_iovec {
    uint64_t base, bytes;
};

#define FILE_BYTES_MAX (INT64_MAX & ~4095ULL)

#define AT_FDCWD (-100)

#define EFD_SEMAPHORE 1

#define TFD_TIMER_ABSTIME       1
#define TFD_TIMER_CANCEL_ON_SET 2

#define F_RDLCK 0
#define F_WRLCK 1
#define F_UNLCK 2

#endif
