/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * auxiliary.c: the auxiliary vector is right: it points to this program's own headers, random bytes, names,
 * and to the node's page.
 */
#include "machine.h"
#include "promise.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <tacet.h>
#include <unistd.h>

extern char **environ;
extern void _start(void);

int main(int count, char **arguments)
{
    /* The vector stands after the environment's NULL; walk it as a C library does. */
    char **end = environ;
    unsigned seen_null = 0, entries = 0;

    while (*end)
        end++;
    for (const Elf64_auxv_t *entry = (const Elf64_auxv_t *)(end + 1); entries < 64; entry++, entries++) {
        if (entry->a_type != AT_NULL)
            continue;
        seen_null = 1;
        break;
    }
    PROMISE(seen_null, "the vector ends");
    PROMISE((char **)environ == arguments + count + 1, "the environment follows the arguments");

    PROMISE(getauxval(AT_PAGESZ) == MACHINE_PAGE, "page size %lu", getauxval(AT_PAGESZ));
    PROMISE(getauxval(AT_ENTRY) == (unsigned long)_start, "entry %#lx, _start %p", getauxval(AT_ENTRY),
            (void *)_start);
    PROMISE(getauxval(AT_SECURE) == 0, "secure");
    PROMISE(getauxval(AT_UID) == 0 && getauxval(AT_EUID) == 0 && getauxval(AT_GID) == 0 &&
                getauxval(AT_EGID) == 0,
            "root");
    PROMISE(getauxval(AT_CLKTCK) == 100, "clock ticks %lu", getauxval(AT_CLKTCK));
    PROMISE(getauxval(AT_PHENT) == sizeof(Elf64_Phdr), "header size %lu", getauxval(AT_PHENT));

    /* The program headers in memory are this program's: among them one executable segment that holds main,
     * and TLS or RELRO make sense. */
    const Elf64_Phdr *headers = (const Elf64_Phdr *)getauxval(AT_PHDR);
    unsigned long number = getauxval(AT_PHNUM), base = 0;
    int holds_main = 0;

    PROMISE(headers && number > 0 && number < 32, "headers %p, %lu of them", (const void *)headers, number);
    if (!headers)
        return promises_kept();
    for (unsigned long i = 0; i < number; i++)
        if (headers[i].p_type == PT_PHDR)
            base = (unsigned long)headers - headers[i].p_vaddr;
    /* A program at a fixed place may lack PT_PHDR, a static-PIE has it or begins with its headers at address
     * 0. */
    if (!base && (unsigned long)main > 0x10000000000)
        base = (unsigned long)headers - sizeof(Elf64_Ehdr);
    for (unsigned long i = 0; i < number; i++) {
        unsigned long low = base + headers[i].p_vaddr;

        if (headers[i].p_type == PT_LOAD && (headers[i].p_flags & PF_X))
            holds_main |= (unsigned long)main >= low && (unsigned long)main < low + headers[i].p_memsz;
    }
    PROMISE(holds_main, "main %p is in an executable segment, base %#lx", (void *)main, base);

    const unsigned char *random = (const unsigned char *)getauxval(AT_RANDOM);
    unsigned different = 0;
    PROMISE(random, "random bytes are there");
    for (int i = 1; random && i < 16; i++)
        different += random[i] != random[0];
    PROMISE(different > 4, "random bytes differ: %u", different);

    const char *name = (const char *)getauxval(AT_EXECFN);
    PROMISE(name && name[0] == '/', "program's path: %s", name ? name : "NULL");
    const char *platform = (const char *)getauxval(AT_PLATFORM);
    PROMISE(platform && strcmp(platform, MACHINE_PLATFORM) == 0, "platform: %s",
            platform ? platform : "NULL");

    char link[256];
    ssize_t length = readlink("/proc/self/exe", link, sizeof(link) - 1);
    PROMISE(length > 0 && name && (size_t)length == strlen(name) && memcmp(link, name, (size_t)length) == 0,
            "/proc/self/exe, %zd bytes", length);

    const struct tacet_node *node = tacet_node();
    PROMISE(node, "the node's page is announced");
    if (node) {
        PROMISE(node->layout == TACET_LAYOUT, "layout %u", node->layout);
        PROMISE(node->cpu_count >= 1, "CPUs %u", node->cpu_count);
        PROMISE(node->clock_hz >= 1000000, "clock %lu Hz", (unsigned long)node->clock_hz);
        PROMISE(node->kernel_bytes > 0 && node->kernel_bytes < 512 * MACHINE_PAGE,
                "the kernel keeps %lu bytes", (unsigned long)node->kernel_bytes);
        PROMISE(node->zeroed_bytes > 0, "something was zeroed");
        PROMISE(tacet_counters(0) && tacet_counters(0)->cpu == 0, "counters of CPU 0");
        PROMISE(!tacet_counters(node->cpu_count), "no counters beyond the last CPU");
    }
    return promises_kept();
}
