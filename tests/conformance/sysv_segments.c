/* SPDX-License-Identifier: BSD-2-Clause */
/* sysv_segments.c: shared memory of System V. */
#include "sysv.h"

#define PLACE (256L << 10) /* the segment fits into it on either architecture */

static unsigned long attached(long id)
{
    struct shmid_ds status;

    return sys(SYS_shmctl, id, IPC_STAT, &status) ? 99 : status.shm_nattch;
}

static void made_by_key(void)
{
    long id, other;

    result("no such key", sys(SYS_shmget, KEY(1), 4096, 0600));
    id = sys(SYS_shmget, KEY(1), 10000, IPC_CREAT | IPC_EXCL | 0640);
    holds("made by a key", id >= 0);
    holds("found by it", sys(SYS_shmget, KEY(1), 0, 0) == id);
    holds("found by it, smaller", sys(SYS_shmget, KEY(1), 10000, IPC_CREAT) == id);
    result("found by it, larger", sys(SYS_shmget, KEY(1), 10001, 0));
    result("made again", sys(SYS_shmget, KEY(1), 10000, IPC_CREAT | IPC_EXCL | 0600));
    result("removed", sys(SYS_shmctl, id, IPC_RMID, 0));
    result("removed again", sys(SYS_shmctl, id, IPC_RMID, 0));
    result("gone by its key", sys(SYS_shmget, KEY(1), 0, 0));
    other = sys(SYS_shmget, KEY(1), 4096, IPC_CREAT | 0600);
    holds("the next has another identifier", other >= 0 && other != id);
    result("attach the removed one", sys(SYS_shmat, id, 0, 0));
    result("remove the next", sys(SYS_shmctl, other, IPC_RMID, 0));
    result("no bytes", sys(SYS_shmget, IPC_PRIVATE, 0, IPC_CREAT | 0600));
    result("too many bytes", sys(SYS_shmget, IPC_PRIVATE, ULONG_MAX, IPC_CREAT | 0600));
    result("no such identifier", sys(SYS_shmat, -1, 0, 0));
    result("no such command", sys(SYS_shmctl, 0, 99, 0));
}

static void facts(long id)
{
    struct shmid_ds status, old;

    memset(&status, 0xff, sizeof(status));
    result("status", sys(SYS_shmctl, id, IPC_STAT, &status));
    result("bytes", (long)status.shm_segsz);
    result("mode", status.shm_perm.mode);
    holds("owner", status.shm_perm.uid == getuid() && status.shm_perm.cuid == getuid());
    holds("maker", status.shm_cpid == getpid());
    result("last", status.shm_lpid);
    result("never attached", status.shm_atime);
    holds("made now", status.shm_ctime > 1000000000);
    old = status;
    status.shm_perm.mode = 0604;
    status.shm_perm.uid = 77;
    result("set", sys(SYS_shmctl, id, IPC_SET, &status));
    sys(SYS_shmctl, id, IPC_STAT, &status);
    result("mode that was set", status.shm_perm.mode);
    result("owner that was set", status.shm_perm.uid);
    sys(SYS_shmctl, id, IPC_SET, &old);
    result("lock", sys(SYS_shmctl, id, SHM_LOCK, 0));
    sys(SYS_shmctl, id, IPC_STAT, &status);
    result("mode when locked", status.shm_perm.mode);
    result("unlock", sys(SYS_shmctl, id, SHM_UNLOCK, 0));
    result("status to nobody's memory", sys(SYS_shmctl, id, IPC_STAT, NOWHERE));
    result("set from nobody's memory", sys(SYS_shmctl, id, IPC_SET, NOWHERE));
}

static void attached_twice(long id)
{
    char *one = (char *)sys(SYS_shmat, id, 0, 0), *other = (char *)sys(SYS_shmat, id, 0, SHM_RDONLY);
    struct shmid_ds status;
    char *place;

    holds("attached", (long)one > 0 && (long)other > 0 && one != other);
    result("how often", (long)attached(id));
    one[5] = 'x';
    holds("the same bytes", other[5] == 'x' && other[9999] == 0);
    result("write to the read-only one", sys(SYS_read, -1, other, 1));
    result("make it writable", sys(SYS_mprotect, other, PAGE, PROT_READ | PROT_WRITE));
    result("detach a place within", sys(SYS_shmdt, other + PAGE));
    result("detach", sys(SYS_shmdt, other));
    result("detach again", sys(SYS_shmdt, other));
    result("how often after that", (long)attached(id));
    place = mmap(NULL, PLACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    result("attach where something is", sys(SYS_shmat, id, place, 0));
    result("attach at no page", sys(SYS_shmat, id, place + 5, 0));
    result("attach on the kernel's side", sys(SYS_shmat, id, KERNEL_SIDE, 0));
    result("replace the kernel's side", sys(SYS_shmat, id, KERNEL_SIDE, SHM_REMAP));
    result("attach at the last page", sys(SYS_shmat, id, -PAGE, 0));
    result("replace the last page", sys(SYS_shmat, id, -PAGE, SHM_REMAP));
    result("detach the last page", sys(SYS_shmdt, -PAGE));
    result("detach no page", sys(SYS_shmdt, one + 1));
    result("replace nothing", sys(SYS_shmat, id, 0, SHM_REMAP));
    holds("replace what is there", sys(SYS_shmat, id, place + 5, SHM_RND | SHM_REMAP) == (long)place);
    holds("the bytes there", place[5] == 'x');
    munmap(place, PLACE);
    result("how often after munmap", (long)attached(id));
    sys(SYS_shmctl, id, IPC_STAT, &status);
    holds("last is this process", status.shm_lpid == getpid());
    holds("attached and detached now", status.shm_atime > 1000000000 && status.shm_dtime > 1000000000);

    result("remove it while it is attached", sys(SYS_shmctl, id, IPC_RMID, 0));
    result("still there", sys(SYS_shmctl, id, IPC_STAT, &status));
    result("its mode", status.shm_perm.mode);
    other = (char *)sys(SYS_shmat, id, 0, 0);
    holds("attached by its identifier", (long)other > 0 && other[5] == 'x');
    result("detach the first", sys(SYS_shmdt, one));
    result("bytes live on", other[5]);
    result("detach the last", sys(SYS_shmdt, other));
    result("then it is gone", sys(SYS_shmctl, id, IPC_STAT, &status));
}

static void limits(void)
{
    struct shminfo limit;
    struct shm_info used;
    struct shmid_ds status;
    long id = sys(SYS_shmget, IPC_PRIVATE, 4096, 0600), highest;

    holds("limits", sys(SYS_shmctl, 0, IPC_INFO, &limit) >= 0 && limit.shmmin == 1 && limit.shmmax > 1 << 30);
    holds("limits in /proc", limit_in("/proc/sys/kernel/shmmax", 0) == limit.shmmax &&
                                 limit_in("/proc/sys/kernel/shmall", 0) == limit.shmall &&
                                 limit_in("/proc/sys/kernel/shmmni", 0) == limit.shmmni);
    highest = sys(SYS_shmctl, 0, SHM_INFO, &used);
    holds("in use", highest >= 0 && used.used_ids >= 1 && used.shm_tot >= 1);
    long found = -1;
    for (long slot = 0; slot <= highest; slot++)
        if (sys(SYS_shmctl, slot, SHM_STAT, &status) == id)
            found = slot;
    holds("found by its slot", found >= 0);
    result("no such slot", sys(SYS_shmctl, highest + 1, SHM_STAT, &status));
    result("remove", sys(SYS_shmctl, id, IPC_RMID, 0));
}

CONFORM(sysv_segments)
{
    long id = sys(SYS_shmget, IPC_PRIVATE, 100000, IPC_CREAT | 0600);

    made_by_key();
    facts(id);
    attached_twice(id);
    limits();
}
