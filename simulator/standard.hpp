// SPDX-License-Identifier: BSD-2-Clause
//
// standard.hpp: the standard library's headers that take longest to compile. simulator.mk precompiles them
// and adds them to every file with -include. Each file still includes what it uses.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <deque>
#include <exception>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>
