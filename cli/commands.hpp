// The nouns of the command `holdfast`. Each adds what it takes to the command line, and what is to be done
// when it was named.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace holdfast::cli {

/// What the command line asks for; set while it is read, called afterwards.
using Action = std::function<void()>;

void add_server(CLI::App& app, Action& action);
void add_token(CLI::App& app, Action& action);

}  // namespace holdfast::cli
