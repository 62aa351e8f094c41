// holdfast token create|list|revoke
#include "cli/commands.hpp"
#include "server/auth/tokens.hpp"
#include "server/settings/settings.hpp"
#include "server/settings/units.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/codec.hpp>

#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::cli {

namespace {

struct TokenFlags {
  std::string file{};
  std::string name{};
  std::string role = "operator";
  std::vector<std::string> namespaces{"default"};
  std::string expires{};
  std::string id{};
};

// As everywhere: the flag, or the environment.
server::TokenFile file_of(const TokenFlags& flags) {
  const std::string path =
      flags.file.empty() ? server::process_environment("HOLDFAST_TOKENS").value_or("") : flags.file;
  if (path.empty())
    throw server::SettingsError("no file with tokens is named: --tokens FILE, or HOLDFAST_TOKENS");
  return server::TokenFile(path);
}

std::string time_text(CalendarTime time) {
  const std::string quoted = encode(time).bytes;
  return quoted.substr(1, quoted.size() - 2);
}

void create(const TokenFlags& flags) {
  server::NewToken made;
  try {
    const std::optional<Duration> life =
        flags.expires.empty() ? std::nullopt : std::optional(server::parse_time(flags.expires));
    made = server::make_token(flags.name, server::parse_role(flags.role), flags.namespaces,
                              real_clock().calendar_now(), life);
  } catch (const std::invalid_argument& error) {
    throw server::SettingsError(error.what());
  }
  file_of(flags).add(made.record);
  std::fprintf(stderr, "token %s; this is the only time that it is shown:\n", made.record.id.c_str());
  std::printf("%s\n", made.text.c_str());
}

void list(const TokenFlags& flags) {
  const server::TokenList list = file_of(flags).read();
  for (const server::TokenRecord& token : list.tokens) {
    std::string namespaces;
    for (const std::string& ns : token.namespaces) namespaces += (namespaces.empty() ? "" : ",") + ns;
    std::printf("%s  %-8s  %-20s  created %s  %s  %s\n", token.id.c_str(), token.role.c_str(),
                namespaces.c_str(), time_text(token.created).c_str(),
                token.expires ? ("expires " + time_text(*token.expires)).c_str() : "does not expire",
                token.name.c_str());
  }
  for (const std::string& problem : list.problems) std::fprintf(stderr, "holdfast: %s\n", problem.c_str());
}

void revoke(const TokenFlags& flags) {
  if (!file_of(flags).remove(flags.id))
    throw std::runtime_error("there is no token with the id '" + flags.id + "'");
  std::fprintf(stderr, "token %s is revoked; servers stop taking it within a second\n", flags.id.c_str());
}

}  // namespace

void add_token(CLI::App& app, Action& action) {
  CLI::App* const noun = app.add_subcommand("token", "Say who may call a server, and for what");
  noun->require_subcommand(1);
  const auto flags = std::make_shared<TokenFlags>();
  const auto verb = [&](const char* name, const char* help, void (*run)(const TokenFlags&)) {
    CLI::App* const command = noun->add_subcommand(name, help);
    command->add_option("--tokens", flags->file, "the file with the tokens, as in the setting of the server")
        ->type_name("FILE");
    command->callback([flags, run, &action] { action = [flags, run] { run(*flags); }; });
    return command;
  };
  CLI::App* const creates = verb("create", "Make a token, and print it", create);
  creates->add_option("--name", flags->name, "whose it is, for people")->type_name("TEXT");
  creates->add_option("--role", flags->role, "worker, operator or admin [operator]")->type_name("ROLE");
  creates->add_option("--namespaces", flags->namespaces, "what it is for; * is all of them [default]")
      ->type_name("NAME")
      ->delimiter(',');
  creates
      ->add_option("--expires", flags->expires, "how long it is valid, such as 90d; otherwise without an end")
      ->type_name("TIME");
  creates->footer(
      "Example:\n  holdfast token create --tokens tokens.jsonl --role operator --name ci --expires 90d");
  verb("list", "List tokens; their texts are not kept", list);
  CLI::App* const revokes = verb("revoke", "Take a token back", revoke);
  revokes->add_option("id", flags->id, "the id of the token, as list shows it")->required();
}

}  // namespace holdfast::cli
