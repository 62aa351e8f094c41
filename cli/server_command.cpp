// holdfast server
#include "cli/commands.hpp"
#include "server/process/serve.hpp"
#include "server/settings/settings.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {

namespace {

using server::Given;
using server::Setting;

struct ServerFlags {
  std::string file{};
  std::vector<std::pair<CLI::Option*, const Setting*>> options{};
  std::vector<std::vector<std::string>> values{};
};

void add_option(CLI::App& command, ServerFlags& flags, const Setting& setting,
                std::vector<std::string>& values) {
  std::string help(setting.help);
  if (!setting.standard.empty()) help += " [" + std::string(setting.standard) + "]";
  CLI::Option* const option = command.add_option(setting.flag(), values, help);
  option->type_name(std::string(setting.value_name));
  if (setting.kind == Setting::Kind::yes_or_no) {
    option->expected(0, 1);
  } else if (setting.kind == Setting::Kind::list) {
    option->delimiter(',');
  } else {
    option->expected(1);
  }
  flags.options.emplace_back(option, &setting);
}

std::vector<Given> given_flags(const ServerFlags& flags) {
  std::vector<Given> given;
  for (const auto& [option, setting] : flags.options) {
    if (option->count() == 0) continue;
    std::vector<std::string> values = option->results();
    if (setting->kind == Setting::Kind::yes_or_no && (values.empty() || values.front().empty()))
      values = {"true"};
    given.push_back({std::string(setting->name), std::move(values), setting->flag()});
  }
  return given;
}

void run_server(const ServerFlags& flags) {
  std::vector<Given> file;
  if (!flags.file.empty()) file = server::read_settings_file(flags.file);
  server::serve(server::make_settings(file, server::process_environment, given_flags(flags)));
}

}  // namespace

void add_server(CLI::App& app, Action& action) {
  CLI::App* const command = app.add_subcommand("server", "Serve a store over HTTP");
  command->footer(
      "Each setting may also stand in the file (max_body = \"16MiB\") or in the environment\n"
      "(HOLDFAST_MAX_BODY=16MiB). Flags count before the environment, and that before the file.\n\n"
      "Examples:\n"
      "  holdfast server --store app.db\n"
      "  holdfast server --config /etc/holdfast/server.toml --listen 127.0.0.1:8000");
  const auto flags = std::make_shared<ServerFlags>();
  command->add_option("--config", flags->file, "a file with settings, in TOML")->type_name("FILE");
  const std::vector<Setting>& all = server::all_settings();
  flags->values.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) add_option(*command, *flags, all[i], flags->values[i]);
  command->callback([flags, &action] { action = [flags] { run_server(*flags); }; });
}

}  // namespace holdfast::cli
