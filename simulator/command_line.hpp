// SPDX-License-Identifier: BSD-2-Clause
//
// command_line.hpp: commands with options, as far as the simulator needs them. CLI11 reads them; its headers
// take longer to compile than the simulator, so only command_line.cpp includes them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sim {

// The minimum and the maximum that an option takes.
struct Limits {
    std::uint32_t minimum, maximum;
};

// One command. `names` are in CLI11's form: "-n,--ranks", or a word without a dash for a positional argument.
// CommandLine::parse writes the values; those that are not given stay as they are.
class Command {
public:
    explicit Command(CLI::App &the_app) : app(the_app)
    {
    }

    void option(const char *names, std::string &value, const std::string &help);
    void option(const char *names, std::vector<std::string> &values, const std::string &help);
    void option(const char *names, std::uint32_t &value, const std::string &help);
    void option(const char *names, std::uint32_t &value, const std::string &help, Limits limits);
    void option(const char *names, std::uint64_t &value, const std::string &help);
    // Adds an option or argument that must be given.
    void required(const char *names, std::string &value, const std::string &help);
    void required(const char *names, std::uint32_t &value, const std::string &help);
    // Adds an option that takes one of several words.
    void choice(const char *names, std::string &value, const std::string &help,
                std::initializer_list<const char *> words);
    void flag(const char *names, bool &value, const std::string &help);

    // Returns whether the user has given this command.
    bool given() const;

private:
    CLI::App &app;
};

// A program with commands, of which the user gives one.
class CommandLine {
public:
    CommandLine(const std::string &description, const std::string &name);
    ~CommandLine();

    Command command(const char *name, const char *help);
    // Reads the command line. Returns an exit status if the program must end: 0 after help, 2 after an error,
    // which it has printed.
    std::optional<int> parse(int count, char **words);

private:
    std::unique_ptr<CLI::App> app;
    std::string name;
};

} // namespace sim
