// holdfast: the server and the tools around a store.
#include "cli/commands.hpp"
#include "server/settings/settings.hpp"

#include <holdfast/version.hpp>

#include <cstdio>
#include <exception>

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUse = 2;

int fail(int code, const std::exception& error) {
  std::fprintf(stderr, "holdfast: %s\n", error.what());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Durable execution for C++: the server, and tools for what is in a store.", "holdfast");
  app.set_version_flag("--version", HOLDFAST_VERSION);
  app.require_subcommand(1);
  holdfast::cli::Action action;
  holdfast::cli::add_server(app, action);
  holdfast::cli::add_token(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUse;
  }
  try {
    action();
    return 0;
  } catch (const holdfast::server::SettingsError& error) {
    return fail(kWrongUse, error);
  } catch (const std::exception& error) {
    return fail(kFailed, error);
  }
}
