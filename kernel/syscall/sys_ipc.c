/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_ipc.c: ipc(2), one number for all calls of System V's objects: what C libraries on powerpc use.
 */
#include "arch.h"
#include "ipc/ipc.h"
#include "lib/errno.h"
#include "syscall/syscall.h"

enum { SEMOP = 1, SEMGET, SEMCTL, SEMTIMEDOP };
enum { MSGSND = 11, MSGRCV, MSGGET, MSGCTL };
enum { SHMAT = 21, SHMDT, SHMGET, SHMCTL };

/* Carries out the call that the lower half of the number names. The upper half is a version; version 0 of
 * MSGRCV passes two arguments in memory. SHMAT writes the address to memory. */
long ipc_call(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t pointer, uint64_t e)
{
    uint64_t words[2];
    long at;

    switch ((uint32_t)number & 0xffff) {
    case SEMOP:
        return semaphores_operate(a, pointer, b, 0);
    case SEMTIMEDOP:
        return semaphores_operate(a, pointer, b, e);
    case SEMGET:
        return ipc_get(&ipc_semaphores, (uint32_t)a, (uint32_t)b, (uint32_t)c);
    case SEMCTL:
        if (user_read(words, pointer, sizeof(words[0])))
            return -EFAULT;
        return ipc_control(&ipc_semaphores, a, c, b, words[0]);
    case MSGSND:
        return message_enqueue(a, pointer, b, c);
    case MSGRCV:
        if ((uint32_t)number >> 16)
            return message_dequeue(a, pointer, b, e, c);
        if (user_read(words, pointer, sizeof(words)))
            return -EFAULT;
        return message_dequeue(a, words[0], b, words[1], c);
    case MSGGET:
        return ipc_get(&ipc_messages, (uint32_t)a, 0, (uint32_t)b);
    case MSGCTL:
        return ipc_control(&ipc_messages, a, b, 0, pointer);
    case SHMAT:
        at = segment_attach(a, pointer, b);
        return at < 0 ? at : user_write(c, &at, sizeof(at));
    case SHMDT:
        return segment_detach(pointer);
    case SHMGET:
        return ipc_get(&ipc_segments, (uint32_t)a, b, (uint32_t)c);
    case SHMCTL:
        return ipc_control(&ipc_segments, a, b, 0, pointer);
    default:
        return -ENOSYS;
    }
}
