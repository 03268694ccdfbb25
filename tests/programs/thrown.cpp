// SPDX-License-Identifier: BSD-2-Clause
//
// thrown.cpp: exceptions that a signal's handler throws, through the frame that the kernel has made, into the
// function that the signal interrupted: one for a fault, one for a signal that a thread has sent to itself,
// on the thread's stack and on one of the handler's own. The unwinder finds its way by what the kernel's vDSO
// says of the code to which a handler returns. Built with -fnon-call-exceptions.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace
{
struct counted {
    static inline int alive = 0;
    counted()
    {
        alive++;
    }
    ~counted()
    {
        alive--;
    }
};

[[noreturn]] void handler(int number, siginfo_t *, void *)
{
    counted here;

    throw std::runtime_error("signal " + std::to_string(number));
}

__attribute__((noinline)) int fault(volatile int *where)
{
    counted here;

    return *where;
}

__attribute__((noinline)) void asked()
{
    counted here;
    // The C library declares that raise throws nothing.
    int (*volatile send)(int) = std::raise;

    send(SIGUSR1);
}

void expect(const char *what, void (*deed)())
{
    // Twice: who leaves a handler by an exception leaves the signal unblocked, because of SA_NODEFER.
    for (int i = 0; i < 2; i++) {
        double kept = 1.5 * i;
        try {
            deed();
            std::printf("%s: no exception\n", what);
        } catch (const std::runtime_error &e) {
            std::printf("%s: %s, alive %d, %.1f\n", what, e.what(), counted::alive, kept);
        }
    }
}

void all()
{
    expect("fault", [] { std::printf("%d\n", fault(nullptr)); });
    expect("raised", asked);
}

void install(int flags)
{
    struct sigaction action = {};

    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | flags;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGUSR1, &action, nullptr);
}
} // namespace

int main()
{
    stack_t own = {};

    install(0);
    all();
    std::thread(all).join();
    own.ss_size = 1 << 18;
    own.ss_sp = std::malloc(own.ss_size);
    sigaltstack(&own, nullptr);
    install(SA_ONSTACK);
    all();
    return 0;
}
