/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal_frames_ppc64.h: the part of signal_frames.c that is of POWER.
 */
#ifndef SIGNAL_FRAMES_PPC64_H
#define SIGNAL_FRAMES_PPC64_H

#define MACHINE_STATE 33 /* the place in gp_regs */
#define INSTRUCTION   32
#define THREAD        13

static void mutate(int signal, siginfo_t *info, void *context)
{
    ucontext_t *user = context;
    unsigned long *general = (unsigned long *)user->uc_mcontext.gp_regs;
    char *vectors = (char *)user->uc_mcontext.v_regs;
    const unsigned long thread = general[THREAD];

    (void)signal, (void)info;
    for (unsigned changes = 1 + (unsigned)(random_number() % 4); changes; changes--) {
        uint64_t word;
        uint32_t place;

        switch (random_number() % 8) {
        case 0: /* all of it: registers, instruction, machine state, the address of the vectors */
        case 1:
            place = (uint32_t)(random_number() % (sizeof(user->uc_mcontext) / 8));
            memcpy(&word, (char *)&user->uc_mcontext + place * 8, 8);
            word = (unsigned long *)&user->uc_mcontext + place == &general[INSTRUCTION] ? random_instruction()
                                                                                        : value(word);
            memcpy((char *)&user->uc_mcontext + place * 8, &word, 8);
            break;
        case 2:
            general[MACHINE_STATE] ^= 1UL << random_number() % 64;
            break;
        case 3:
            general[MACHINE_STATE] = random_number();
            break;
        case 4: /* the instruction itself */
            general[INSTRUCTION] = random_instruction();
            break;
        case 5:
            vectors[random_number() % (50 * 16)] = (char)random_number();
            break;
        case 6: /* FPSCR */
            word = random_number();
            memcpy((char *)&user->uc_mcontext.fp_regs + 32 * 8, &word, 8);
            break;
        default:
            user->uc_flags = value(user->uc_flags);
            word = value((uint64_t)vectors);
            memcpy(&user->uc_mcontext.v_regs, &word, 8);
            break;
        }
    }
    general[THREAD] = thread; /* by which the fault's handler finds the C library's variables */
    sigemptyset(&user->uc_sigmask);
}

static void kill_process(long pid)
{
    register long r0 __asm__("r0") = SYS_kill;
    register long r3 __asm__("r3") = pid;
    register long r4 __asm__("r4") = SIGUSR1;

    __asm__ volatile("sc"
                     : "+r"(r0), "+r"(r3), "+r"(r4)
                     :
                     : "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
}

#endif
