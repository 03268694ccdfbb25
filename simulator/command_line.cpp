// SPDX-License-Identifier: BSD-2-Clause
//
// command_line.cpp: see command_line.hpp. The only file that includes CLI11.
#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

namespace sim {

void Command::option(const char *names, std::string &value, const std::string &help)
{
    app.add_option(names, value, help);
}

void Command::option(const char *names, std::vector<std::string> &values, const std::string &help)
{
    app.add_option(names, values, help);
}

void Command::option(const char *names, std::uint32_t &value, const std::string &help)
{
    app.add_option(names, value, help);
}

void Command::option(const char *names, std::uint32_t &value, const std::string &help, Limits limits)
{
    app.add_option(names, value, help)->check(CLI::Range(limits.minimum, limits.maximum));
}

void Command::option(const char *names, std::uint64_t &value, const std::string &help)
{
    app.add_option(names, value, help);
}

void Command::required(const char *names, std::string &value, const std::string &help)
{
    app.add_option(names, value, help)->required();
}

void Command::required(const char *names, std::uint32_t &value, const std::string &help)
{
    app.add_option(names, value, help)->required();
}

void Command::choice(const char *names, std::string &value, const std::string &help,
                     std::initializer_list<const char *> words)
{
    app.add_option(names, value, help)
        ->check(CLI::IsMember(std::vector<std::string>(words.begin(), words.end())));
}

void Command::flag(const char *names, bool &value, const std::string &help)
{
    app.add_flag(names, value, help);
}

bool Command::given() const
{
    return app.parsed();
}

CommandLine::CommandLine(const std::string &description, const std::string &the_name)
    : app(std::make_unique<CLI::App>(description, the_name)), name(the_name)
{
    app->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::command(const char *the_name, const char *help)
{
    return Command(*app->add_subcommand(the_name, help));
}

std::optional<int> CommandLine::parse(int count, char **words)
{
    try {
        app->parse(count, words);
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == 0)
            return app->exit(error);
        std::cerr << name << ": " << error.what() << "; see " << name << " --help\n";
        return 2;
    }
    return std::nullopt;
}

} // namespace sim
