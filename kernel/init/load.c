/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load.c: see load.h: copies a checked ELF image into the address space of a process and builds the first
 * stack. Runs once for each rank, on its first CPU, interrupts off, before the rank's first thread.
 *
 * The image keeps the rights of its segments, by small pages; everything else (stack, later heap and
 * mappings) is in large pages. Layout:
 *
 *     program       as linked, or at ARCH_PIE_BASE for a static-PIE
 *     heap          from the next large page after the program
 *     mappings      from ARCH_MMAP_BASE upwards
 *     guard         below the stack: no memory
 *     stack         STACK_TOP - stack= … STACK_TOP
 *     node pages    from STACK_TOP: struct tacet_node, then a page of counters a CPU (libc/include/tacet.h)
 *     vDSO          from VDSO_BASE: the clock's pages (clock_page.h), then the vDSO itself
 *
 * The stack at the program's entry is that of the ELF ABI: argc, argv, NULL, environment, NULL, auxiliary
 * vector; strings above it [System V ABI, AMD64 supplement §3.4.1].
 */
#include "init/load.h"
#include "arch.h"
#include "arch/linux_abi.h"
#include "fs/tree/tree.h"
#include "init/node.h"
#include "lib/elf_image.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "lib/linux_abi.h"
#include "mm/page.h"
#include "time/clock.h"

#define KERNEL_PAGES_MAX (ARCH_CPUS_MAX + 64) /* from STACK_TOP: node pages, the clock's, the vDSO */
#define STACK_TOP        ((ARCH_USER_LIMIT - KERNEL_PAGES_MAX * ARCH_PAGE) & ~(ARCH_LARGE_PAGE - 1))
#define STACK_GUARD      ARCH_LARGE_PAGE
#define VDSO_BASE        (STACK_TOP + (1 + ARCH_CPUS_MAX) * ARCH_PAGE)
#define VDSO_ADDRESS     (VDSO_BASE + CLOCK_PAGE_BYTES) /* address of its ELF header */
#define VECTOR_WORDS_MAX 2048                           /* argc, pointers and auxiliary vector */
#define AUXILIARY_MAX    (20 + ARCH_AUXILIARY_MAX + 1)  /* entries of it, with AT_NULL */
#define NUMBER_BYTES     12                             /* length of a variable's value with its = and NUL */

/* ---- Segments ---- */

/* The pages of a segment, without those that it shares with the segment before it. */
struct segment_pages {
    uint64_t start, end;
    bool shares_page; /* its first page is the last one of the segment before it */
};

static struct segment_pages segment_pages(const struct elf_segment *segments, unsigned i, uint64_t base)
{
    const struct elf_segment *segment = &segments[i];
    uint64_t start = base + page_down(segment->address);
    uint64_t before_end = i > 0 ? base + page_up(segment[-1].address + segment[-1].memory_bytes) : 0;

    return (struct segment_pages){
        .start = start < before_end ? before_end : start,
        .end = base + page_up(segment->address + segment->memory_bytes),
        .shares_page = start < before_end,
    };
}

/* Gives the page that a segment shares with the one before it the rights of both. */
static int shared_page_join(struct vm *vm, uint64_t page, unsigned rights, const char *name,
                            struct message *why)
{
    struct vm_area area = { .rights = 0 };
    unsigned both = vm_find(vm, page, &area) ? area.rights | rights : rights;

    if ((both & RIGHT_WRITE) && (both & RIGHT_EXECUTE))
        return message_set(why, -ENOEXEC,
                           "%s: two segments share the page at %#lx, one writable, one executable; link with "
                           "-z separate-code",
                           name, page);
    return vm_protect(vm, page, ARCH_PAGE, both);
}

/* Maps all segments, writable until segments_protect, and copies them from the file. */
static int segments_fill(struct vm *vm, const struct elf_image *image, uint64_t base, const char *file,
                         const char *name, struct message *why)
{
    for (unsigned i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        struct segment_pages pages = segment_pages(image->segments, i, base);

        if (pages.start < pages.end &&
            vm_map(vm, &pages.start, pages.end - pages.start, RIGHT_READ | RIGHT_WRITE,
                   VM_FIXED | VM_NO_REPLACE | VM_OF_FILE, name))
            return message_set(why, -ENOMEM,
                               "%s does not fit into memory: segment %u needs %lu KiB, %lu KiB are free; "
                               "give the node more memory",
                               name, i, (pages.end - pages.start) / 1024, vm->pages->free_bytes / 1024);
        if (user_write(base + segment->address, file + segment->file_offset, segment->file_bytes))
            return message_set(why, -EFAULT, "segment %u cannot be written to memory", i);
    }
    return 0;
}

static int segments_protect(struct vm *vm, const struct elf_image *image, uint64_t base, const char *name,
                            struct message *why)
{
    for (unsigned i = 0; i < image->segment_count; i++) {
        unsigned rights = image->segments[i].rights;
        struct segment_pages pages = segment_pages(image->segments, i, base);
        int error = 0;

        if (pages.shares_page)
            error = shared_page_join(vm, pages.start - ARCH_PAGE, rights, name, why);
        if (!error && pages.start < pages.end)
            error = vm_protect(vm, pages.start, pages.end - pages.start, rights);
        if (error)
            return why->text[0]
                       ? error
                       : message_set(why, error, "%s: no memory for the rights of segment %u", name, i);
    }
    return 0;
}

/* ---- The vDSO ---- */

static int vdso_map(struct vm *vm)
{
    const uint64_t bytes = (uint64_t)(arch_vdso_image_end - arch_vdso_image);
    int error = vm_map_kernel(vm, VDSO_BASE, clock_page(), CLOCK_PAGE_BYTES, RIGHT_READ, "[vvar]");

    if (!error)
        error = vm_map_kernel(vm, VDSO_ADDRESS, arch_vdso_image, bytes, RIGHT_READ | RIGHT_EXECUTE, "[vdso]");
    return error;
}

/* ---- The first stack ---- */

/* Grows downwards from `at` to `low`; the words of the vector are collected first and written last. */
struct stack_builder {
    uint64_t at, low;
    uint64_t words[VECTOR_WORDS_MAX];
    unsigned count;
    bool failed;
};

static uint64_t push_bytes(struct stack_builder *stack, const void *bytes, uint64_t count)
{
    if (stack->failed || count > stack->at - stack->low) {
        stack->failed = true;
        return 0;
    }
    stack->at -= count;
    stack->failed = user_write(stack->at, bytes, count);
    return stack->at;
}

static uint64_t push_string(struct stack_builder *stack, const char *text)
{
    return push_bytes(stack, text, strlen(text) + 1);
}

/* Pushes NAME=NUMBER. */
static uint64_t push_number(struct stack_builder *stack, const char *name, unsigned number)
{
    char value[NUMBER_BYTES];

    push_bytes(stack, value, format_text(value, sizeof(value), "=%u", number) + 1);
    return push_bytes(stack, name, strlen(name));
}

/* Pushes strings, the last one first, so that they follow each other upwards in memory. Their addresses
 * become the words from `word` on; all words are zero before. */
static void strings_place(struct stack_builder *stack, const char *const *strings, unsigned count,
                          unsigned word)
{
    for (unsigned i = count; i-- > 0;)
        stack->words[word + i] = push_string(stack, strings[i]);
}

static unsigned environment_count(const struct program *program)
{
    return program->environment_count + program->number_count + program->rank_name_count;
}

/* Pushes argc, argv, environment. The environment's strings lie right above the arguments', as is expected by
 * programs that overwrite both to change the name that ps shows. */
static void vector_begin(struct stack_builder *stack, const struct program *program,
                         struct process_image *image)
{
    unsigned environment_word = 1 + program->argument_count + 1;
    unsigned word = environment_word + environment_count(program);

    image->environment_end = stack->at;
    for (unsigned i = program->rank_name_count; i-- > 0;)
        stack->words[--word] = push_number(stack, program->rank_names[i], program->rank);
    for (unsigned i = program->number_count; i-- > 0;)
        stack->words[--word] = push_number(stack, program->numbers[i].name, program->numbers[i].value);
    strings_place(stack, program->environment, program->environment_count, environment_word);
    image->environment = image->arguments_end = stack->at;
    strings_place(stack, program->arguments, program->argument_count, 1);
    image->arguments = stack->at;
    stack->words[0] = program->argument_count;
}

static int stack_build(struct process *process, const struct program *program, const struct elf_image *image,
                       uint64_t base, struct stack_builder *stack, uint64_t *stack_pointer)
{
    uint64_t random[2] = { arch_random(), arch_random() };

    stack->at = process->stack_high;
    stack->low = process->stack_low + ARCH_PAGE;
    stack->failed = false;

    uint64_t name = push_string(stack, program->path);
    uint64_t platform = push_string(stack, ARCH_PLATFORM);
    stack->at &= ~15ULL;
    uint64_t random_bytes = push_bytes(stack, random, sizeof(random));

    /* AT_NULL, which is 0, ends it; before that an architecture's own follow. */
    uint64_t auxiliary[AUXILIARY_MAX][2] = {
        { AT_PHDR, image->headers_address ? base + image->headers_address : 0 }, /* 0: none */
        { AT_PHENT, image->header_bytes },
        { AT_PHNUM, image->header_count },
        { AT_PAGESZ, ARCH_PAGE },
        { AT_BASE, 0 },
        { AT_FLAGS, 0 },
        { AT_ENTRY, base + image->entry },
        { AT_UID, process_credentials.uid },
        { AT_EUID, process_credentials.uid },
        { AT_GID, process_credentials.gid },
        { AT_EGID, process_credentials.gid },
        { AT_SECURE, 0 },
        { AT_CLKTCK, 100 },
        { AT_RANDOM, random_bytes },
        { AT_HWCAP, arch_hwcap(1) },
        { AT_HWCAP2, arch_hwcap(2) },
        { AT_EXECFN, name },
        { AT_PLATFORM, platform },
        { AT_SYSINFO_EHDR, VDSO_ADDRESS },
        { AT_TACET_NODE, STACK_TOP },
    };
    unsigned auxiliary_count = 0;
    unsigned auxiliary_word = 1 + program->argument_count + 1 + environment_count(program) + 1;

    while (auxiliary[auxiliary_count][0] != AT_NULL)
        auxiliary_count++;
    auxiliary_count += arch_auxiliary(platform, &auxiliary[auxiliary_count]) + 1; /* and AT_NULL */
    stack->count = auxiliary_word + 2 * auxiliary_count;
    if (stack->count > VECTOR_WORDS_MAX)
        return -E2BIG;
    memset(stack->words, 0, stack->count * sizeof(stack->words[0]));
    vector_begin(stack, program, &process->image);
    memcpy(&stack->words[auxiliary_word], auxiliary, auxiliary_count * sizeof(auxiliary[0]));

    stack->at &= ~15ULL;
    if (stack->count % 2)
        stack->at -= 8; /* the stack pointer is a multiple of 16 at argc */
    *stack_pointer = push_bytes(stack, stack->words, stack->count * sizeof(uint64_t));
    process->image.auxiliary = *stack_pointer + auxiliary_word * sizeof(uint64_t);
    process->image.auxiliary_end = *stack_pointer + stack->count * sizeof(uint64_t);
    return stack->failed ? -E2BIG : 0;
}

static int stack_map(struct process *process, uint64_t bytes, bool is_executable, struct message *why)
{
    const unsigned rights = RIGHT_READ | RIGHT_WRITE | (is_executable ? RIGHT_EXECUTE : 0u);
    uint64_t low, guard;

    bytes = (bytes + ARCH_LARGE_PAGE - 1) & ~(ARCH_LARGE_PAGE - 1);
    low = STACK_TOP - bytes;
    guard = low - STACK_GUARD;
    if (vm_map(&process->vm, &low, bytes, rights, VM_FIXED | VM_NO_REPLACE | VM_STACK, "[stack]") ||
        vm_map(&process->vm, &guard, STACK_GUARD, 0, VM_FIXED | VM_NO_REPLACE, "[stack guard]"))
        return message_set(why, -ENOMEM,
                           "no memory for a stack of %lu KiB: %lu KiB are free; make it smaller with "
                           "stack=SIZE, or give the node more memory",
                           bytes / 1024, process->pages.free_bytes / 1024);
    process->stack_low = low;
    process->stack_high = STACK_TOP;
    process->limits[LIMIT_STACK] = (struct linux_rlimit){ STACK_TOP - low, STACK_TOP - low };
    return 0;
}

/* ---- All of it ---- */

/* What loading needs besides the kernel's stack, on which it does not fit. */
struct loader {
    struct elf_image image;
    struct stack_builder stack;
};

static int image_load(struct process *process, const struct program *program, struct loader *loader,
                      uint64_t *entry, uint64_t *stack, struct message *why)
{
    struct elf_image *image = &loader->image;
    struct vm *vm = &process->vm;
    const char *name = program->path, *file = program->inode->data;
    struct message fault = { "" };
    int error = elf_parse(file, program->inode->bytes, ARCH_ELF_MACHINE, ARCH_MMAP_BASE, image, &fault);

    if (error)
        return message_set(why, error, "%s: %s", name, fault.text);
    if (image->executable_stack && program->stack_is_data)
        return message_set(why, -ENOEXEC,
                           "%s: ELF: asks for an executable stack, which execstack=off refuses; link with "
                           "-z noexecstack and without nested functions",
                           name);
    vm->executable_stacks = !program->stack_is_data && (image->executable_stack || !image->has_stack_header);

    uint64_t base = image->position_independent ? ARCH_PIE_BASE - (image->low & ~(image->alignment - 1)) : 0;
    if (base + image->high > ARCH_MMAP_BASE)
        return message_set(why, -ENOEXEC, "%s: its segments reach up to %#lx, the limit is %#lx", name,
                           base + image->high, (uint64_t)ARCH_MMAP_BASE);

    error = segments_fill(vm, image, base, file, name, why);
    if (!error)
        error = segments_protect(vm, image, base, name, why);
    if (!error)
        error = stack_map(process, program->stack_bytes, image->executable_stack, why);
    if (error)
        return error;
    if (node_pages_map(vm, STACK_TOP) || vdso_map(vm))
        return message_set(why, -ENOMEM, "no memory for the page tables of the counters");

    process->image = (struct process_image){
        .bias = base,
        .low = base + image->low,
        .high = base + image->high,
        .vdso = VDSO_ADDRESS,
        .file = file,
        .file_bytes = program->inode->bytes,
    };
    vm->heap_start = vm->heap_end = (base + image->high + ARCH_LARGE_PAGE - 1) & ~(ARCH_LARGE_PAGE - 1);
    *entry = base + image->entry;
    if (stack_build(process, program, image, base, &loader->stack, stack))
        return message_set(why, -E2BIG,
                           "the arguments and the environment do not fit: at most %u words of pointers, and "
                           "the stack's %lu KiB",
                           VECTOR_WORDS_MAX, program->stack_bytes / 1024);
    return 0;
}

int program_load(struct process *process, const struct program *program, uint64_t *entry, uint64_t *stack,
                 struct message *why)
{
    const uint64_t bytes = page_up(sizeof(struct loader));
    uint64_t memory = page_pool_allocate(process->vm.pages, bytes, ARCH_PAGE);

    if (memory == PAGE_POOL_NONE)
        return message_set(why, -ENOMEM, "no memory to load %s", program->path);
    process->program = program->inode;
    process->program_path = program->path;

    int error = image_load(process, program, arch_physical(memory), entry, stack, why);
    page_pool_free(process->vm.pages, memory, bytes);
    return error;
}
