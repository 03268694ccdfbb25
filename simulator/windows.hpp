// SPDX-License-Identifier: BSD-2-Clause
//
// windows.hpp: takes domains of ranks through windows of simulated time, within which their ranks cannot
// influence each other.
//
// A window begins with the first event of all domains, so empty time costs nothing. If a window has many
// events, each thread takes its domain through it. If it has few, waking the other threads would cost more
// than their help is worth, and the first thread takes all domains through it, one after the other.
#pragma once

#include "time.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace sim {

// The ranks of one thread; the engines derive from it.
struct alignas(64) Domain {
    unsigned number = 0;
    std::uint32_t first = 0, last = 0; // ranks first to last - 1
    std::uint64_t events = 0;          // processed; an event that is put off counts again

    bool has(std::uint32_t rank) const
    {
        return rank >= first && rank < last;
    }
};

// Divides ranks into `parts` domains of consecutive ranks, of equal size.
template <typename Some>
void domains_deal(std::vector<std::unique_ptr<Some>> &domains, unsigned parts, std::uint32_t ranks)
{
    for (unsigned i = 0; i < parts; i++) {
        domains.emplace_back(std::make_unique<Some>());
        Some &domain = *domains.back();
        domain.number = i;
        domain.first = static_cast<std::uint32_t>(std::uint64_t{ranks} * i / parts);
        domain.last = static_cast<std::uint32_t>(std::uint64_t{ranks} * (i + 1) / parts);
    }
}

// This thread and helpers, which sleep until there is work for them.
class Team {
public:
    explicit Team(std::size_t threads) : failures(threads)
    {
        for (std::size_t i = 1; i < threads; i++)
            helpers.emplace_back([this, i] { help(i); });
    }

    ~Team()
    {
        begin(nullptr);
        for (std::thread &helper : helpers)
            helper.join();
    }

    Team(const Team &) = delete;
    Team &operator=(const Team &) = delete;

    // Calls `work(i)` in thread i, for all, and waits for them. Throws what one of them throws.
    void each(const std::function<void(std::size_t)> &work)
    {
        busy = helpers.size();
        begin(&work);
        attempt(work, 0);
        for (std::size_t left = busy; left != 0; left = busy)
            busy.wait(left);
        for (std::exception_ptr &failure : failures)
            if (failure)
                std::rethrow_exception(std::exchange(failure, nullptr));
    }

private:
    void begin(const std::function<void(std::size_t)> *what)
    {
        job = what;
        jobs++;
        jobs.notify_all();
    }

    void attempt(const std::function<void(std::size_t)> &work, std::size_t thread)
    {
        try {
            work(thread);
        } catch (...) {
            failures[thread] = std::current_exception();
        }
    }

    void help(std::size_t thread)
    {
        for (std::uint32_t seen = 0;; seen++) {
            jobs.wait(seen);
            if (!job)
                return;
            attempt(*job, thread);
            if (--busy == 0)
                busy.notify_one();
        }
    }

    const std::function<void(std::size_t)> *job = nullptr; // null: the end
    std::atomic<std::uint32_t> jobs = 0;
    std::atomic<std::size_t> busy = 0; // helpers that have not finished the job
    std::vector<std::exception_ptr> failures;
    std::vector<std::thread> helpers;
};

// Calls `work(domain)` for each domain in its own thread. Throws what one of them throws.
template <typename Some, typename Work>
void domains_each(Team &team, std::vector<std::unique_ptr<Some>> &domains, const Work &work)
{
    team.each([&](std::size_t i) { work(*domains[i]); });
}

// Repeats until no domain has an event: calls process(domain, end) for all domains, then exchange(domain) for
// what the domains sent to each other. `length` is the least time from a cause to an effect at another rank;
// `earliest(domain)` returns the time of the domain's first event. Ends early if `stop` is set. Returns the
// number of windows.
template <typename Some, typename Earliest, typename Process, typename Exchange>
std::uint64_t windows_run(Team &team, std::vector<std::unique_ptr<Some>> &domains,
                          const std::atomic<bool> &stop, Time length, const Earliest &earliest,
                          const Process &process, const Exchange &exchange)
{
    constexpr std::uint64_t EVENTS_SHARED = 2000; // about 100 us of work, ten times a wake-up
    const auto events = [&domains] {
        std::uint64_t sum = 0;
        for (const auto &domain : domains)
            sum += domain->events;
        return sum;
    };
    bool shared = false; // the last window had many events, so this one probably has
    std::uint64_t windows = 0;
    const auto each = [&](const auto &work) {
        if (shared)
            domains_each(team, domains, work);
        else
            for (const auto &domain : domains)
                work(*domain);
    };

    for (; !stop; windows++) {
        Time now = NEVER;
        for (const auto &domain : domains)
            now = std::min(now, earliest(*domain));
        if (now == NEVER)
            break;
        const Time end = now + length;
        const std::uint64_t before = events();
        each([&](Some &domain) { process(domain, end); });
        each([&](Some &domain) { exchange(domain); });
        shared = domains.size() > 1 && events() - before >= EVENTS_SHARED;
    }
    return windows;
}

} // namespace sim
