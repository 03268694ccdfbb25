/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_memory.c: system calls that change the address space, which vm.c carries out; and those that query
 * memory, or advise on it. All memory is resident and locked, and is written back to no storage, so most of
 * the latter only check their arguments.
 */
#include "arch.h"
#include "fs/file.h"
#include "lib/errno.h"
#include "debug/klog.h"
#include "mm/page.h"
#include "process/process.h"
#include "mm/shared_memory.h"
#include "smp/crosscall.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

#define MIB (1UL << 20)

/* Converts Linux's protection bits to the kernel's rights, which have the same values. Memory that can be
 * written or executed can also be read, on both architectures. Unknown bits are ignored. */
static unsigned rights_from(uint64_t protection)
{
    protection &= PROT_ALL;
    return (unsigned)protection | (protection ? RIGHT_READ : 0);
}

/* Answers a call with -ENOMEM. Reports it, once per process, if memory was lacking: -ENOMEM can also mean
 * that a range lies outside of the address space. With its tables and what rounding adds, the call needed at
 * most `bytes`, 1/256 of them and a large page. `what` is the call, and a word before the size ("mmap of").
 */
__attribute__((cold, noinline)) static long refuse(const char *what, uint64_t bytes)
{
    struct process *process = arch_process();
    uint64_t free = page_pool_free_bytes(&process->pages), needed = smaller(bytes, ARCH_USER_LIMIT);

    needed += needed / 256 + ARCH_LARGE_PAGE;
    if (needed > free)
        process_report(REFUSAL_MEMORY,
                       ": %s %lu MiB refused, %lu MiB free; give the node more memory, or run fewer ranks",
                       what, bytes / MIB + (bytes % MIB != 0), free / MIB);
    return -ENOMEM;
}

/* ---- mmap ---- */

/* Fills memory with a part of a file, then gives it its `rights`. */
static int file_copy(struct vm *vm, uint64_t address, uint64_t bytes, struct file *file, uint64_t offset,
                     unsigned rights)
{
    for (uint64_t done = 0; done < bytes;) {
        int64_t got = file->operations->read(file, address + done, bytes - done, offset + done);

        if (got < 0)
            return (int)got;
        if (got == 0)
            break;
        done += (uint64_t)got;
    }
    return vm_protect(vm, address, bytes, rights);
}

static int file_check(const struct file *file, uint64_t type, uint64_t protection)
{
    unsigned access = file->flags & O_ACCMODE;

    if (access == O_WRONLY || (file->flags & O_PATH))
        return access == O_WRONLY ? -EACCES : -EBADF;
    if ((protection & PROT_WRITE) && (protection & PROT_EXEC))
        return -EACCES;
    if (!file->inode || file->inode->device || (file->inode->mode & S_IFMT) != S_IFREG)
        return -ENODEV;
    if (type == MAP_PRIVATE || !(protection & PROT_WRITE))
        return 0;
    if (file->inode->mount && access == O_RDWR)
        return -ENODEV; /* the server would not get what is written */
    return access == O_RDWR && file->inode->memory ? 0 : -EACCES;
}

/* Maps a file. A shared mapping of a file that can be written (inode->memory) maps the file's own memory; any
 * other mapping is a private copy, which looks the same to the program. */
static int file_map(struct vm *vm, uint64_t *address, uint64_t bytes, unsigned rights, unsigned flags,
                    struct file *file, uint64_t offset, uint64_t type)
{
    struct shared_memory *memory = file->inode->memory;
    int error;

    if (type != MAP_PRIVATE && ((file->flags & O_ACCMODE) != O_RDWR || file->inode->mount))
        flags |= VM_READ_ONLY;
    if (type != MAP_PRIVATE && memory)
        return vm_map_shared(vm, address, bytes, rights, flags, memory, offset, "");
    error = vm_map(vm, address, bytes, RIGHT_READ | RIGHT_WRITE, flags | VM_OF_FILE, "");
    if (error)
        return error;
    error = file_copy(vm, *address, bytes, file, offset, rights);
    if (error)
        vm_unmap(vm, *address, bytes);
    return error;
}

/* Rounds a mapping with MAP_HUGETLB up to whole pages of the size that it asks for; it gets such pages as far
 * as the slice has them. */
static int huge_round(uint64_t flags, uint64_t address, uint64_t *bytes)
{
    uint64_t log = flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
    uint64_t size = log == 30 ? ARCH_HUGE_PAGE : ARCH_LARGE_PAGE;

    if ((log && 1ULL << log != size) || (size == ARCH_HUGE_PAGE && !arch_huge_pages()))
        return -EINVAL;
    if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) && address % size)
        return -EINVAL;
    if (*bytes > ARCH_USER_LIMIT)
        return -ENOMEM;
    *bytes = (*bytes + size - 1) & ~(size - 1);
    return 0;
}

static int flags_check(uint64_t flags, uint64_t bytes, uint64_t offset)
{
    uint64_t type = flags & MAP_TYPE;

    if (bytes == 0)
        return -EINVAL;
    if (bytes > ARCH_USER_LIMIT)
        return -ENOMEM;
    if (bytes + ARCH_PAGE > UINT64_MAX - offset)
        return -EOVERFLOW;
    if (type == MAP_SHARED_VALIDATE && !(flags & MAP_ANONYMOUS))
        return flags & ~(uint64_t)MAP_VALID ? -EOPNOTSUPP : 0;
    if (type != MAP_SHARED && type != MAP_PRIVATE)
        return -EINVAL;
    return flags & MAP_32BIT && !(flags & MAP_FIXED) ? -ENOMEM : 0;
}

long sys_mmap(uint64_t address, uint64_t bytes, uint64_t protection, uint64_t flags, uint64_t descriptor,
              uint64_t offset)
{
    struct process *process = arch_process();
    FILE_REFERENCE file = NULL;
    unsigned rights = rights_from(protection), vm_flags = flags & MAP_STACK ? VM_STACK : 0;
    int error;

    if (offset % ARCH_PAGE || (protection & ~MMAP_RIGHTS))
        return -EINVAL;
    if (!(flags & MAP_ANONYMOUS) && !(file = file_get(process, (uint32_t)descriptor)))
        return -EBADF;
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
        vm_flags |= VM_FIXED;
    else
        address = address <= ARCH_USER_LIMIT ? page_up(address) : 0; /* a hint */
    if (flags & MAP_FIXED_NOREPLACE)
        vm_flags |= VM_NO_REPLACE;

    error = flags_check(flags, bytes, offset);
    if (!error && file)
        error = file_check(file, flags & MAP_TYPE, protection);
    if (!error && !file && (flags & MAP_HUGETLB))
        error = huge_round(flags, address, &bytes);
    if (!error)
        error =
            file ? file_map(&process->vm, &address, bytes, rights, vm_flags, file, offset, flags & MAP_TYPE)
                 : vm_map(&process->vm, &address, bytes, rights, vm_flags, "");
    if (error)
        return error == -ENOMEM ? refuse("mmap of", bytes) : error;
    klog(map, address, bytes);
    return (long)address;
}

/* ---- mprotect, munmap, brk, mremap ---- */

long sys_mprotect(uint64_t address, uint64_t bytes, uint64_t protection)
{
    int error;

    /* PROT_GROWSDOWN and -UP would include what a mapping has grown by: no mapping grows here. */
    if (protection & ~(uint64_t)(PROT_ALL | PROT_SEM))
        return -EINVAL;
    error = vm_protect(&arch_process()->vm, address, bytes, rights_from(protection));
    return error == -ENOMEM ? refuse("mprotect of", bytes) : error;
}

long sys_munmap(uint64_t address, uint64_t bytes)
{
    klog(unmap, address, bytes);
    return bytes ? vm_unmap(&arch_process()->vm, address, bytes) : -EINVAL;
}

long sys_brk(uint64_t end)
{
    uint64_t reached = vm_brk(&arch_process()->vm, end);

    if (reached < end)
        refuse("brk by", end - reached);
    return (long)reached;
}

long sys_mremap(uint64_t address, uint64_t old_bytes, uint64_t new_bytes, uint64_t flags, uint64_t target)
{
    unsigned vm_flags = (flags & MREMAP_MAYMOVE ? VM_MAY_MOVE : 0) | (flags & MREMAP_FIXED ? VM_FIXED : 0);
    int error;

    if (address % ARCH_PAGE || (flags & ~(uint64_t)(MREMAP_MAYMOVE | MREMAP_FIXED)))
        return -EINVAL;
    if ((flags & MREMAP_FIXED) && (!(flags & MREMAP_MAYMOVE) || target % ARCH_PAGE))
        return -EINVAL;
    error = vm_remap(&arch_process()->vm, &address, old_bytes, new_bytes, vm_flags, target);
    if (error)
        return error == -ENOMEM ? refuse("mremap to", new_bytes) : error;
    return (long)address;
}

/* ---- Queries and advice ---- */

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
    const uint64_t end = address + page_up(bytes); /* may wrap around, as that of a length near 2^64 */
    struct vm *vm = &arch_process()->vm;

    advice = (uint32_t)advice;
    if (address % ARCH_PAGE || end < address || (bytes && end == address))
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
    return pages_check(address, page_up(bytes)); /* which is 0 for a length near 2^64 */
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
