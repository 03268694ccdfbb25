/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_memory.c: system calls on the address space, over vm.c.
 */
#include "arch.h"
#include "errno.h"
#include "klog.h"
#include "linux_abi.h"
#include "process.h"
#include "syscall.h"

/* Linux's protection bits are the kernel's rights; memory that one may write or execute can be read on both
 * architectures. */
static int rights_from(uint64_t protection, unsigned *rights)
{
    if (protection & ~(uint64_t)PROT_ALL)
        return -EINVAL;
    if ((protection & PROT_WRITE) && (protection & PROT_EXEC))
        return -EACCES;
    *rights = (unsigned)protection | (protection ? RIGHT_READ : 0);
    return 0;
}

/* A private copy of a part of a file, with `rights` when it is filled. */
static int file_copy(struct vm *vm, uint64_t address, uint64_t bytes, struct file *file, uint64_t offset,
                     unsigned rights)
{
    int64_t copied = file->operations->read(file, address, bytes, offset);

    return copied < 0 ? (int)copied : vm_protect(vm, address, bytes, rights);
}

/* The open file behind a descriptor, held, whose bytes can be copied. */
static int file_for_mapping(struct process *process, uint64_t descriptor, bool shared_writable,
                            struct file **out)
{
    struct file *file = file_get(process, (uint32_t)descriptor);

    if (!file)
        return -EBADF;
    bool regular = file->node && !file->node->device && mode_is(file->node->mode, S_IFREG);
    int error = !regular                                   ? -ENODEV
                : (file->flags & O_PATH)                   ? -EBADF
                : (file->flags & O_ACCMODE) == O_WRONLY    ? -EACCES
                : shared_writable                          ? -EACCES
                                                           : 0;

    if (error)
        file_put(file);
    *out = file;
    return error;
}

long sys_mmap(uint64_t address, uint64_t bytes, uint64_t protection, uint64_t flags, uint64_t descriptor,
              uint64_t offset)
{
    struct process *process = arch_process();
    uint64_t type = flags & MAP_TYPE;
    struct file *file = NULL;
    unsigned rights, vm_flags = 0;
    int error = rights_from(protection, &rights);

    if (error)
        return error;
    if (bytes == 0 || offset % ARCH_PAGE ||
        (type != MAP_SHARED && type != MAP_PRIVATE && type != MAP_SHARED_VALIDATE))
        return -EINVAL;
    if (!(flags & MAP_ANONYMOUS)) {
        error = file_for_mapping(process, descriptor, type != MAP_PRIVATE && (protection & PROT_WRITE),
                                 &file);
        if (error)
            return error;
    }
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
        vm_flags |= VM_FIXED;
    if (flags & MAP_FIXED_NOREPLACE)
        vm_flags |= VM_NO_REPLACE;
    if (file)
        vm_flags |= VM_OF_FILE;

    error = vm_map(&process->vm, &address, bytes, file ? RIGHT_READ | RIGHT_WRITE : rights, vm_flags, "");
    if (!error && file) {
        error = file_copy(&process->vm, address, bytes, file, offset, rights);
        if (error)
            vm_unmap(&process->vm, address, bytes);
    }
    if (file)
        file_put(file);
    if (!error)
        klog(map, address, bytes);
    return error ? error : (long)address;
}

long sys_mprotect(uint64_t address, uint64_t bytes, uint64_t protection)
{
    unsigned rights;
    int error = rights_from(protection, &rights);

    return error ? error : vm_protect(&arch_process()->vm, address, bytes, rights);
}

long sys_munmap(uint64_t address, uint64_t bytes)
{
    klog(unmap, address, bytes);
    return bytes ? vm_unmap(&arch_process()->vm, address, bytes) : -EINVAL;
}

long sys_brk(uint64_t end)
{
    return (long)vm_brk(&arch_process()->vm, end);
}

long sys_mremap(uint64_t address, uint64_t old_bytes, uint64_t new_bytes, uint64_t flags,
                uint64_t new_address)
{
    int error;

    (void)new_address; /* of MREMAP_FIXED only */
    if (address % ARCH_PAGE || (flags & ~(uint64_t)MREMAP_MAYMOVE) || old_bytes == 0)
        return -EINVAL;
    error = vm_remap(&arch_process()->vm, &address, old_bytes, new_bytes, flags & MREMAP_MAYMOVE);
    return error ? error : (long)address;
}

long sys_madvise(uint64_t address, uint64_t bytes, uint64_t advice)
{
    /* Advice on paging, forking, dumping and page sizes, none of which there is anything to change about. */
    const uint64_t harmless = 1ULL << 0 | 1ULL << 1 | 1ULL << 2 | 1ULL << 3 | 1ULL << 8 | 0xffULL << 10 |
                              0x3fULL << 18 | 1ULL << 25;
    const struct vm *vm = &arch_process()->vm;

    advice = (uint32_t)advice;
    if (address % ARCH_PAGE)
        return -EINVAL;
    if (advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED)
        return vm_clear(&arch_process()->vm, address, bytes);
    if (advice > MADV_LAST || !(harmless & 1ULL << advice))
        return -EINVAL;
    return bytes == 0 || vm_covered(vm, address, bytes) ? 0 : -ENOMEM;
}

long sys_mlock(uint64_t address, uint64_t bytes)
{
    (void)address, (void)bytes;
    return 0;
}

long sys_mlock2(uint64_t address, uint64_t bytes, uint64_t flags)
{
    (void)address, (void)bytes, (void)flags;
    return 0;
}

long sys_munlock(uint64_t address, uint64_t bytes)
{
    (void)address, (void)bytes;
    return 0;
}

long sys_mlockall(uint64_t flags)
{
    (void)flags;
    return 0;
}

long sys_munlockall(void)
{
    return 0;
}
