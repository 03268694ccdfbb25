// SPDX-License-Identifier: BSD-2-Clause
//
// windows.hpp: takes threads through windows of simulated time, within which their ranks cannot influence
// each other.
//
// For each group of ranks the time of the earliest event is known, so that windows with few busy ranks are
// cheap.
#pragma once

#include "time.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

namespace sim {

// The ranks of one thread; the engines derive from it.
struct alignas(64) Domain {
    static constexpr std::uint32_t GROUP = 256;

    unsigned number = 0;
    std::uint32_t first = 0, last = 0; // ranks first to last - 1
    std::vector<Time> group_times;     // per group: none of its ranks has an event before
    Time next = NEVER;
    std::exception_ptr failure;

    bool has(std::uint32_t rank) const
    {
        return rank >= first && rank < last;
    }

    void event_at(std::uint32_t rank, Time time)
    {
        Time &group = group_times[(rank - first) / GROUP];
        group = std::min(group, time);
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
        domain.group_times.assign((domain.last - domain.first + Domain::GROUP - 1) / Domain::GROUP, NEVER);
    }
}

// Calls `work(domain)` for each domain in its own thread, the first in this thread. Throws what one of them
// throws.
template <typename Some, typename Work>
void domains_each(std::vector<std::unique_ptr<Some>> &domains, const Work &work)
{
    std::vector<std::thread> helpers;
    const auto guarded = [&work](Some &domain) {
        try {
            work(domain);
        } catch (...) {
            domain.failure = std::current_exception();
        }
    };

    for (std::size_t i = 1; i < domains.size(); i++)
        helpers.emplace_back([&guarded, domain = domains[i].get()] { guarded(*domain); });
    guarded(*domains[0]);
    for (std::thread &helper : helpers)
        helper.join();
    for (const auto &domain : domains)
        if (domain->failure)
            std::rethrow_exception(domain->failure);
}

// Repeats until no domain has an event: each thread calls process(domain, end) up to a common end, then
// exchange(domain) for what the domains sent to each other. `length` is the least time from a cause to an
// effect at another rank. Ends early if either throws or `stop` is set. Returns the number of windows.
template <typename Some, typename Process, typename Exchange>
std::uint64_t windows_run(std::vector<std::unique_ptr<Some>> &domains, Time length,
                          const std::atomic<bool> &stop, const Process &process, const Exchange &exchange)
{
    std::barrier<> meeting(static_cast<std::ptrdiff_t>(domains.size()));
    constexpr Time GIVE_UP = -1; // before all times, so that every thread sees it
    std::uint64_t windows = 0;

    domains_each(domains, [&](Some &domain) {
        std::exception_ptr failure;
        const auto guarded = [&](const auto &work) {
            try {
                work();
            } catch (...) {
                failure = std::current_exception();
            }
        };

        for (std::uint64_t round = 0;; round++) {
            domain.next = failure || stop
                              ? GIVE_UP
                              : *std::min_element(domain.group_times.begin(), domain.group_times.end());
            meeting.arrive_and_wait();
            Time now = NEVER;
            for (const auto &other : domains)
                now = std::min(now, other->next);
            if (now == NEVER || now == GIVE_UP) {
                if (domain.number == 0)
                    windows = round;
                break;
            }
            guarded([&] { process(domain, now + length); });
            meeting.arrive_and_wait();
            guarded([&] { exchange(domain); });
        }
        if (failure)
            std::rethrow_exception(failure);
    });
    return windows;
}

} // namespace sim
