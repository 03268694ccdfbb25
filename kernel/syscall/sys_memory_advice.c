/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_memory_advice.c: system calls that query memory, or advise on it. All memory is resident and locked,
 * and is written back to no storage, so most of them only check their arguments.
 */
#include "arch.h"
#include "smp/crosscall.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

/* Returns 0 if all pages that the range touches are mapped, else -ENOMEM or -EINVAL. */
static int range_check(uint64_t address, uint64_t bytes)
{
    uint64_t offset = address % ARCH_PAGE, start = address - offset;

    if (bytes > UINT64_MAX - offset - ARCH_PAGE)
        return -EINVAL;
    bytes = page_up(bytes + offset);
    if (bytes > UINT64_MAX - start)
        return -EINVAL;
    return bytes == 0 || vm_covered(&arch_process()->vm, start, bytes) ? 0 : -ENOMEM;
}

/* Checks a range for calls whose address must be a page's; to them a range that wraps around is not
 * mapped. */
static int pages_check(uint64_t address, uint64_t bytes)
{
    if (address % ARCH_PAGE)
        return -EINVAL;
    return range_check(address, bytes) ? -ENOMEM : 0;
}

long sys_madvise(uint64_t address, uint64_t bytes, uint64_t advice)
{
    /* Advice on paging, forking, dumping and page sizes, which has nothing to change here; and MADV_FREE,
     * which permits that the contents stay. */
    const uint64_t harmless = 1ULL << 0 | 1ULL << 1 | 1ULL << 2 | 1ULL << 3 | 1ULL << MADV_FREE |
                              0xffULL << 10 | 0x3fULL << 18 | 1ULL << 25;
    struct vm *vm = &arch_process()->vm;

    advice = (uint32_t)advice;
    if (address % ARCH_PAGE)
        return -EINVAL;
    if (advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED)
        return vm_clear(vm, address, bytes, false);
    if (advice == MADV_REMOVE)
        return vm_clear(vm, address, bytes, true);
    if (advice > MADV_LAST || !(harmless & 1ULL << advice))
        return -EINVAL;
    return pages_check(address, bytes);
}

long sys_msync(uint64_t address, uint64_t bytes, uint64_t flags)
{
    if ((uint32_t)flags & ~(MS_ASYNC | MS_INVALIDATE | MS_SYNC))
        return -EINVAL;
    if ((flags & MS_ASYNC) && (flags & MS_SYNC))
        return -EINVAL;
    return pages_check(address, bytes);
}

long sys_mincore(uint64_t address, uint64_t bytes, uint64_t vector)
{
    uint8_t resident[256];
    int error = pages_check(address, bytes);

    if (error)
        return error;
    for (uint64_t done = 0, pages = (bytes + ARCH_PAGE - 1) / ARCH_PAGE; done < pages;) {
        uint64_t part = pages - done < sizeof(resident) ? pages - done : sizeof(resident);

        vm_resident(&arch_process()->vm, address + done * ARCH_PAGE, part, resident);
        error = user_write(vector + done, resident, part);
        if (error)
            return error;
        done += part;
    }
    return 0;
}

long sys_mlock2(uint64_t address, uint64_t bytes, uint64_t flags)
{
    return (uint32_t)flags & ~MLOCK_ONFAULT ? -EINVAL : range_check(address, bytes);
}

long sys_mlockall(uint64_t flags)
{
    flags = (uint32_t)flags;
    return flags == 0 || flags == MCL_ONFAULT || (flags & ~(uint64_t)MCL_ALL) ? -EINVAL : 0;
}

/* ---- Memory barriers on all CPUs of the process ---- */

static void barrier(void *context)
{
    (void)context;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

long sys_membarrier(uint64_t command, uint64_t flags)
{
    struct process *process = arch_process();

    if ((uint32_t)flags)
        return -EINVAL;
    switch ((uint32_t)command) {
    case MEMBARRIER_QUERY:
        return MEMBARRIER_PRIVATE_EXPEDITED | MEMBARRIER_REGISTER_PRIVATE_EXPEDITED;
    case MEMBARRIER_REGISTER_PRIVATE_EXPEDITED:
        __atomic_store_n(&process->barriers_registered, true, __ATOMIC_RELAXED);
        return 0;
    case MEMBARRIER_PRIVATE_EXPEDITED:
        if (!__atomic_load_n(&process->barriers_registered, __ATOMIC_RELAXED))
            return -EPERM;
        barrier(NULL);
        if (cpu_mask_has_others(&process->vm.space.cpus, arch_cpu_index()))
            crosscall(&process->vm.space.cpus, barrier, NULL);
        return 0;
    default:
        return -EINVAL;
    }
}
