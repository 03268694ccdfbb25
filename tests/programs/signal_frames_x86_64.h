/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal_frames_x86_64.h: the part of signal_frames.c that is of x86_64.
 */
#ifndef SIGNAL_FRAMES_X86_64_H
#define SIGNAL_FRAMES_X86_64_H

static void mutate(int signal, siginfo_t *info, void *context)
{
    ucontext_t *user = context;
    char *vectors = (char *)user->uc_mcontext.fpregs;
    uint32_t state_bytes = 512;

    (void)signal, (void)info;
    if (*(uint32_t *)(vectors + 464) == 0x46505853)
        state_bytes = *(uint32_t *)(vectors + 480) + 4;
    for (unsigned changes = 1 + (unsigned)(random_number() % 4); changes; changes--) {
        uint64_t word;
        uint32_t place;

        switch (random_number() % 8) {
        case 0: /* registers, instruction, flags, selectors, state's address */
        case 1:
            place = (uint32_t)(random_number() % (sizeof(user->uc_mcontext) / 8));
            memcpy(&word, (char *)&user->uc_mcontext + place * 8, 8);
            word = place == REG_RIP ? random_instruction() : value(word);
            memcpy((char *)&user->uc_mcontext + place * 8, &word, 8);
            break;
        case 2:
            user->uc_mcontext.gregs[REG_EFL] ^= 1L << random_number() % 32;
            break;
        case 3: /* the software's note on the vector state, and the header of XSAVE */
            place = (random_number() % 2 ? 464 : 512) + (uint32_t)(random_number() % 64);
            if (place + 1 < state_bytes)
                vectors[place] = (char)random_number();
            break;
        case 4: /* control words */
            vectors[(const uint8_t[]){ 0, 1, 2, 3, 24, 25, 26, 27, 28, 29 }[random_number() % 10]] =
                (char)random_number();
            break;
        case 5:
            vectors[random_number() % state_bytes] = (char)random_number();
            break;
        case 6:
            user->uc_flags = value(user->uc_flags);
            break;
        default:
            memcpy(&word, vectors + 512 + 8, 8);
            word = value(word);
            memcpy(vectors + 512 + (random_number() % 8) * 8, &word, 8);
            break;
        }
    }
    user->uc_mcontext.gregs[REG_EFL] &= ~0x40000L;
    sigemptyset(&user->uc_sigmask);
}

static void kill_process(long pid)
{
    __asm__ volatile("syscall; "
                     "cld"
                     :
                     : "a"((long)SYS_kill), "D"(pid), "S"((long)SIGUSR1)
                     : "rcx", "r11", "memory", "cc");
}

#endif
