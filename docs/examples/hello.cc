// SPDX-License-Identifier: BSD-2-Clause
//
// hello.cc: C++ with its library: containers, streams, an exception.
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <vector>

int main()
{
    std::vector<int> numbers(1000);

    std::iota(numbers.begin(), numbers.end(), 1);
    std::cout << "sum of 1 to " << numbers.size() << ": " << std::accumulate(numbers.begin(), numbers.end(), 0)
              << "\n";
    try {
        numbers.at(numbers.size()) = 0;
    } catch (const std::out_of_range &) {
        std::cout << "caught: out of range\n";
    }
    return 0;
}
