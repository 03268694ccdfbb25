/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * version.h: the names and versions that a node reports.
 */
#ifndef TACET_VERSION_H
#define TACET_VERSION_H

#define TACET_VERSION "0.1"

/* The release that uname reports. C libraries refuse to start on a kernel that they take to be too old
 * (glibc: before 3.2.0); this is the release whose interface syscalls.def describes. */
#define LINUX_RELEASE "6.1.0-tacet"

#endif
