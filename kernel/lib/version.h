/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * version.h: what the node calls itself.
 */
#ifndef TACET_VERSION_H
#define TACET_VERSION_H

#define TACET_VERSION "0.1"

/* What uname answers as release. C libraries refuse to start on a kernel that they hold for too old (glibc:
 * before 3.2.0); this is the release whose interface syscalls.def describes. */
#define LINUX_RELEASE "6.1.0-tacet"

#endif
