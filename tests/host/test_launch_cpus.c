/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_launch_cpus.c: which CPUs of a Linux node each rank has: on machines of all shapes they are disjoint,
 * fair, and of cores of their own as long as there are such.
 */
#include "check.h"
#include "service/lib/launch_cpus.h"

#define CORES_MAX 9

static struct launch_cpus cpus;

/* Makes a machine of `cores` with `threads` each, numbered as Linux does: first one thread of each core, or
 * all of a core in a row. `without`: a CPU that may not be used; CPU_SETSIZE: none. */
static void machine_set(unsigned cores, unsigned threads, bool in_a_row, unsigned without)
{
    unsigned first[CPU_SETSIZE] = { 0 };
    cpu_set_t allowed;

    CPU_ZERO(&allowed);
    for (unsigned cpu = 0; cpu < cores * threads; cpu++) {
        first[cpu] = in_a_row ? cpu / threads * threads : cpu % cores;
        if (cpu != without)
            CPU_SET(cpu, &allowed);
    }
    launch_cpus_set(&cpus, &allowed, first);
}

static unsigned core_of(unsigned cpu)
{
    for (unsigned i = 0; i < cpus.count; i++)
        if (cpus.order[i].cpu == cpu)
            return cpus.order[i].core;
    CHECK(!"a CPU that is none of the machine's");
    return 0;
}

/* Counts the cores that the set touches, and those that it shares with `others`. */
static void cores_count(const cpu_set_t *set, const cpu_set_t *others, unsigned *touched, unsigned *shared)
{
    bool mine[CPU_SETSIZE] = { false }, theirs[CPU_SETSIZE] = { false };

    *touched = *shared = 0;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, set))
            mine[core_of(cpu)] = true;
        if (CPU_ISSET(cpu, others))
            theirs[core_of(cpu)] = true;
    }
    for (unsigned core = 0; core < cpus.cores; core++) {
        *touched += mine[core];
        *shared += mine[core] && theirs[core];
    }
}

static void check_shared(unsigned ranks, unsigned threads)
{
    cpu_set_t taken, set;

    CPU_ZERO(&taken);
    for (unsigned rank = 0; rank < ranks; rank++) {
        unsigned touched, shared;

        CHECK(launch_cpus_of(&cpus, rank, ranks, 0, &set));
        cores_count(&set, &taken, &touched, &shared);
        if (ranks <= cpus.cores) {
            CHECK(touched == cpus.cores / ranks && shared == 0);
            CHECK((unsigned)CPU_COUNT(&set) == touched * threads);
        } else {
            CHECK(CPU_COUNT(&set) == 1);
            CHECK(shared == (rank >= cpus.cores));
        }
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
            CHECK(!CPU_ISSET(cpu, &set) || !CPU_ISSET(cpu, &taken));
        CPU_OR(&taken, &taken, &set);
    }
}

TEST(ranks_share_all_cores)
{
    for (unsigned cores = 1; cores <= CORES_MAX; cores++)
        for (unsigned threads = 1; threads <= 3; threads++)
            for (unsigned in_a_row = 0; in_a_row < 2; in_a_row++) {
                machine_set(cores, threads, in_a_row, CPU_SETSIZE);
                CHECK(cpus.cores == cores && cpus.count == cores * threads);
                for (unsigned ranks = 1; ranks <= cpus.count; ranks++)
                    check_shared(ranks, threads);
                CHECK(!launch_cpus_of(&cpus, 0, cpus.count + 1, 0, &(cpu_set_t){ 0 }));
            }
}

TEST(so_many_each_are_of_different_cores_first)
{
    cpu_set_t taken, set;

    machine_set(4, 2, true, CPU_SETSIZE);
    for (unsigned each = 1; each <= 8; each++) {
        CPU_ZERO(&taken);
        for (unsigned rank = 0; rank < 8 / each; rank++) {
            unsigned touched, shared;

            CHECK(launch_cpus_of(&cpus, rank, 8 / each, each, &set));
            CHECK((unsigned)CPU_COUNT(&set) == each);
            cores_count(&set, &taken, &touched, &shared);
            CHECK(touched == (each < 4 ? each : 4));
            CHECK(shared == 0 || rank * each + each > 4);
            CPU_OR(&taken, &taken, &set);
        }
        CHECK((unsigned)CPU_COUNT(&taken) == 8 / each * each);
        CHECK(!launch_cpus_of(&cpus, 0, 8 / each + 1, each, &set));
    }
    CHECK(!launch_cpus_of(&cpus, 0, 2, 0x80000001u, &set)); /* whose product is more than 32 bits */
}

TEST(cpus_that_may_not_be_used_are_nobodys)
{
    cpu_set_t set;

    machine_set(2, 2, true, 0); /* of the first core its second thread is left */
    CHECK(cpus.count == 3 && cpus.cores == 2 && cpus.order[0].cpu == 1 && cpus.order[1].cpu == 2);
    CHECK(launch_cpus_of(&cpus, 0, 1, 0, &set) && CPU_COUNT(&set) == 3 && !CPU_ISSET(0, &set));
}

int main(void)
{
    RUN(ranks_share_all_cores);
    RUN(so_many_each_are_of_different_cores_first);
    RUN(cpus_that_may_not_be_used_are_nobodys);
    return check_report("launch_cpus");
}
