/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linux_ipc.h: constants and structures of System V's objects and of POSIX message queues, as Linux has them
 * on 64-bit machines; arch/linux_abi.h has the parts that differ. Source: Linux's include/uapi headers, man
 * pages 2 and 7 (facts of the interface).
 */
#ifndef TACET_LINUX_IPC_H
#define TACET_LINUX_IPC_H

#include "arch/linux_abi.h"

#define IPC_PRIVATE 0

enum { IPC_CREAT = 01000, IPC_EXCL = 02000, IPC_NOWAIT = 04000 };
enum { IPC_RMID, IPC_SET, IPC_STAT, IPC_INFO };
#define IPC_64 0x100 /* C libraries on powerpc add it to each command of ipc(2) */

struct linux_ipc_perm {
    int32_t key;
    uint32_t user, group, creator, creator_group, mode;
    uint32_t sequence, padding;
    uint64_t unused[2];
};

/* Shared memory */
enum { SHM_REMAP = 040000, SHM_RND = 020000, SHM_RDONLY = 010000, SHM_EXEC = 0100000 };

enum { SHM_DEST = 01000, SHM_LOCKED = 02000 }; /* in the mode: removed, but attached; SHM_LOCK */

enum { SHM_LOCK = 11, SHM_UNLOCK, SHM_STAT };

struct linux_shmid_ds {
    struct linux_ipc_perm permissions;
    struct linux_segment_facts facts;
    uint32_t creator, last;
    uint64_t attached, unused[2];
};

/* Semaphores */
#define SEM_UNDO 010000

enum { GETPID = 11, GETVAL, GETALL, GETNCNT, GETZCNT, SETVAL, SETALL, SEM_STAT };

struct linux_sembuf {
    uint16_t number;
    int16_t change, flags;
};

struct linux_semid_ds {
    struct linux_ipc_perm permissions;
    struct linux_semaphore_times times;
    uint64_t count, unused[2];
};

/* Messages */
enum { MSG_NOERROR = 010000, MSG_EXCEPT = 020000, MSG_COPY = 040000 };

enum { MSG_STAT = 11 };

struct linux_msqid_ds {
    struct linux_ipc_perm permissions;
    int64_t sent_s, received_s, changed_s;
    uint64_t bytes, count, bytes_max;
    uint32_t last_sender, last_receiver;
    uint64_t unused[2];
};

union linux_ipc_status {
    struct linux_ipc_perm permissions;
    struct linux_shmid_ds segment;
    struct linux_semid_ds semaphores;
    struct linux_msqid_ds messages;
};

/* What IPC_INFO answers: limits. SHM_INFO answers `use` instead; SEM_INFO and MSG_INFO put what is in use
 * into some of the fields. */
union linux_ipc_info {
    struct {
        uint64_t bytes_max, bytes_min, objects_max, of_process_max, pages_max, unused[4];
    } segments;
    struct {
        uint32_t objects, padding;
        uint64_t pages, resident, swapped, unused[2];
    } use;
    struct {
        int32_t map, objects_max, all_max, undo_max, in_set_max, operations_max, undo_entries_max, objects,
            value_max, all;
    } semaphores;
    struct {
        int32_t objects, map, bytes_max, queue_bytes_max, objects_max, segment_bytes, headers_max;
        uint16_t segments, padding;
    } messages;
};

/* POSIX message queues */
struct linux_mq_attr {
    int64_t flags, messages_max, bytes_max, messages, unused[4];
};

#endif
