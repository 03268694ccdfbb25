/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * credentials.h: whom a job belongs to, credentials(7): numbers of a user and of groups. Portable C, for the
 * kernel, the service programs, and tests.
 */
#ifndef TACET_CREDENTIALS_H
#define TACET_CREDENTIALS_H

#include <stdint.h>

#define CREDENTIALS_ID_MAX     (UINT32_MAX - 1) /* Linux takes -1 for "leave as it is" */
#define CREDENTIALS_GROUPS_MAX 256

struct credentials {
    uint32_t uid, gid;
    unsigned group_count; /* supplementary groups */
    uint32_t groups[CREDENTIALS_GROUPS_MAX];
};

#endif
