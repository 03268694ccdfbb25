// SPDX-License-Identifier: BSD-2-Clause
//
// cplusplus.cpp: an ordinary C++ program with the compiler's own library: exceptions (through threads, too),
// threads and what they wait with, streams, files, folders, time. Prints what it finds, the same on each
// system; what may differ is only checked. Works in /tmp/cplusplus.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <iomanip>
#include <iostream>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;
using namespace std::chrono_literals;

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

int deep(int level)
{
    counted here;

    if (level == 0)
        throw std::out_of_range("at the bottom");
    return deep(level - 1) + 1;
}

void exceptions()
{
    try {
        deep(50);
    } catch (const std::exception &e) {
        std::cout << "caught: " << e.what() << ", alive: " << counted::alive << '\n';
    }
    try {
        std::vector<int> empty;
        std::cout << empty.at(3);
    } catch (const std::out_of_range &) {
        std::cout << "caught: a vector's end\n";
    }
    try {
        volatile std::size_t bytes = 1UL << 50;
        std::vector<char> much(bytes);
        std::cout << "too much memory was had: " << much.size() << '\n';
    } catch (const std::bad_alloc &) {
        std::cout << "caught: no memory\n";
    }
    try {
        try {
            throw std::runtime_error("inner");
        } catch (...) {
            std::throw_with_nested(std::runtime_error("outer"));
        }
    } catch (const std::exception &e) {
        try {
            std::rethrow_if_nested(e);
        } catch (const std::exception &inner) {
            std::cout << "nested: " << e.what() << ", " << inner.what() << '\n';
        }
    }
}

void threads()
{
    std::mutex lock;
    std::condition_variable changed;
    std::queue<int> work;
    std::atomic<int> taken{ 0 };
    long sum = 0;
    bool over = false;
    auto worker = [&] {
        for (;;) {
            std::unique_lock held(lock);
            changed.wait(held, [&] { return over || !work.empty(); });
            if (work.empty())
                return;
            sum += work.front();
            work.pop();
            taken++;
        }
    };
    std::thread a(worker), b(worker);

    for (int i = 1; i <= 1000; i++) {
        std::lock_guard held(lock);
        work.push(i);
        changed.notify_one();
    }
    {
        std::lock_guard held(lock);
        over = true;
    }
    changed.notify_all();
    a.join();
    b.join();
    std::cout << "queue: " << taken << " taken, sum " << sum << '\n';

    auto answer = std::async(std::launch::async, [] { return deep(3); });
    try {
        answer.get();
    } catch (const std::out_of_range &e) {
        std::cout << "from another thread: " << e.what() << '\n';
    }
    std::vector<std::future<long>> parts;
    for (int i = 0; i < 3; i++)
        parts.push_back(std::async(std::launch::async, [i] {
            thread_local long own = 0;
            for (int j = 0; j < 1000; j++)
                own += i * 1000 + j;
            return own;
        }));
    std::cout << "futures: " << std::accumulate(parts.begin(), parts.end(), 0L, [](long s, auto &f) {
        return s + f.get();
    }) << '\n';

    std::promise<std::string> promise;
    std::thread giver([&] { promise.set_value("kept"); });
    std::cout << "promise: " << promise.get_future().get() << '\n';
    giver.join();

    std::unique_lock held(lock);
    auto begun = std::chrono::steady_clock::now();
    bool in_time = changed.wait_for(held, 5ms) == std::cv_status::no_timeout;
    std::cout << "a wait of 5 ms: "
              << (!in_time && std::chrono::steady_clock::now() - begun >= 5ms ? "over" : "WRONG") << '\n';

    std::once_flag once;
    int times = 0;
    for (int i = 0; i < 3; i++)
        std::call_once(once, [&] { times++; });
    std::cout << "once: " << times
              << ", processors: " << (std::thread::hardware_concurrency() >= 1 ? "some" : "NONE") << '\n';
}

void streams()
{
    std::ostringstream out;
    std::istringstream in("17 3.5 word 0x1f");
    int number;
    double real;
    std::string word;

    in >> number >> real >> word;
    out << std::setw(8) << std::setfill('*') << number << '|' << std::fixed << std::setprecision(4) << real
        << '|' << std::hex << 255 << '|' << std::boolalpha << true;
    std::cout << out.str() << '|' << word << '\n';
    std::cout << "locale: " << std::locale().name() << ", " << std::scientific << 12345.678
              << std::defaultfloat << ", " << 0.1 << '\n';
    try {
        std::locale other("xx_YY");
        std::cout << "a locale that there is not was had\n";
    } catch (const std::runtime_error &) {
        std::cout << "no other locale\n";
    }
    std::mt19937_64 generator(42);
    std::cout << "random: " << generator() % 1000003 << '\n';
}

void files()
{
    const fs::path root = "/tmp/cplusplus";

    fs::remove_all(root);
    fs::create_directories(root / "a" / "b");
    {
        std::ofstream out(root / "a" / "text");
        for (int i = 0; i < 1000; i++)
            out << "line " << i << '\n';
    }
    std::ifstream in(root / "a" / "text");
    std::string line;
    int lines = 0;
    while (std::getline(in, line))
        lines++;
    in.clear();
    in.seekg(-9, std::ios::end);
    std::getline(in, line);
    std::cout << "file: " << lines << " lines, " << fs::file_size(root / "a" / "text") << " bytes, last \""
              << line << "\"\n";
    {
        std::fstream both(root / "a" / "text", std::ios::in | std::ios::out | std::ios::binary);
        both.seekp(5);
        both << 'X';
        both.seekg(0);
        std::getline(both, line);
    }
    std::cout << "changed: " << line << '\n';
    fs::copy_file(root / "a" / "text", root / "a" / "b" / "copy");
    fs::rename(root / "a" / "b" / "copy", root / "moved");
    fs::create_symlink("a/text", root / "link");
    fs::resize_file(root / "moved", 100);
    std::map<std::string, std::string> found;
    for (const auto &entry : fs::recursive_directory_iterator(root))
        found[entry.path().lexically_relative(root)] = entry.is_symlink() ? "link"
                                                       : entry.is_directory()
                                                           ? "folder"
                                                           : std::to_string(entry.file_size());
    for (const auto &[name, what] : found)
        std::cout << "  " << name << ": " << what << '\n';
    std::cout << "canonical: " << fs::canonical(root / "link").string()
              << ", same: " << fs::equivalent(root / "link", root / "a" / "text") << '\n';
    std::cout << "young: " << (fs::file_time_type::clock::now() - fs::last_write_time(root / "moved") < 1min)
              << '\n';
    std::cout << "missing: " << std::ifstream(root / "none").good() << ", " << fs::exists(root / "none")
              << '\n';
    try {
        fs::create_directory(root / "moved" / "below");
    } catch (const fs::filesystem_error &e) {
        std::cout << "caught: " << e.code().message() << '\n';
    }
    std::cout << "removed: " << fs::remove_all(root) << '\n';
}
} // namespace

int main(int count, char **arguments)
{
    const std::string part = count > 1 ? arguments[1] : "all";

    if (part == "all" || part == "language")
        exceptions(), streams();
    if (part == "all" || part == "threads")
        threads();
    if (part == "all" || part == "files")
        files();
    std::cout << "end\n";
}
