#include "server/settings/settings.hpp"

#include "server/settings/units.hpp"

#include <algorithm>
#include <cstdlib>

namespace holdfast::server {

namespace {

using Kind = Setting::Kind;
using Values = std::vector<std::string>;

bool parse_yes(const std::string& text) {
  if (text == "true" || text == "yes" || text == "1") return true;
  if (text == "false" || text == "no" || text == "0") return false;
  throw std::invalid_argument("'" + text + "' is neither true nor false");
}

LogLevel parse_level(const std::string& text) {
  for (const LogLevel level :
       {LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error, LogLevel::off}) {
    if (to_string(level) == text) return level;
  }
  throw std::invalid_argument("'" + text + "' is no level: it is debug, info, warn, error or off");
}

LogFormat parse_format(const std::string& text) {
  if (text == "text") return LogFormat::text;
  if (text == "json") return LogFormat::json;
  throw std::invalid_argument("'" + text + "' is no format: it is text or json");
}

auto text(std::string Settings::* member) {
  return [member](Settings& s, const Values& values) { s.*member = values.front(); };
}
auto list(std::vector<std::string> Settings::* member) {
  return [member](Settings& s, const Values& values) {
    s.*member = values;
    std::erase(s.*member, std::string());
  };
}
auto yes_or_no(bool Settings::* member) {
  return [member](Settings& s, const Values& values) { s.*member = parse_yes(values.front()); };
}
auto size(std::size_t Settings::* member) {
  return [member](Settings& s, const Values& values) { s.*member = parse_size(values.front()); };
}
auto count(std::size_t Settings::* member, std::uint64_t least, std::uint64_t most) {
  return [=](Settings& s, const Values& values) {
    const std::uint64_t number = parse_count(values.front());
    if (number < least || number > most) {
      throw std::invalid_argument(values.front() + " is not from " + std::to_string(least) + " to " +
                                  std::to_string(most));
    }
    s.*member = number;
  };
}
auto time(Duration Settings::* member, Duration least, Duration most = std::chrono::hours(24)) {
  return [=](Settings& s, const Values& values) {
    const Duration parsed = parse_time(values.front());
    if (parsed < least || parsed > most) {
      throw std::invalid_argument(
          values.front() + " is out of range: at least " +
          std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(least).count()) +
          "ms, at most " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(most).count()) +
          "s");
    }
    s.*member = parsed;
  };
}

constexpr std::uint64_t kMany = 1'000'000;

std::vector<Setting> make_all() {
  using namespace std::chrono_literals;
  return {
      {"store", Kind::text, "ADDRESS", "", "the store: a file for SQLite (`app.db`), or a PostgreSQL URL",
       text(&Settings::store)},
      {"namespaces", Kind::list, "NAME", "default", "the namespaces of the store that are served",
       list(&Settings::namespaces)},
      {"listen", Kind::text, "HOST:PORT", "127.0.0.1:7420", "where to listen", text(&Settings::listen)},
      {"tls_certificate", Kind::text, "FILE", "",
       "serve HTTPS with this certificate: PEM, with those that signed it behind it",
       text(&Settings::tls_certificate)},
      {"tls_key", Kind::text, "FILE", "", "the private key of the certificate: PEM",
       text(&Settings::tls_key)},
      {"tokens", Kind::text, "FILE", "", "who may do what: the file that `holdfast token create` writes",
       text(&Settings::tokens)},
      {"insecure", Kind::yes_or_no, "", "false",
       "listen on other addresses than those of this machine without TLS, such as behind a proxy",
       yes_or_no(&Settings::insecure)},
      {"hosts", Kind::list, "NAME", "",
       "names by which browsers may call a server without tokens, besides localhost", list(&Settings::hosts)},
      {"schedules", Kind::yes_or_no, "", "true",
       "keep the schedules of the served namespaces, also where no worker runs",
       yes_or_no(&Settings::schedules)},
      {"max_header", Kind::text, "SIZE", "16KiB", "the largest head of a request",
       size(&Settings::max_header)},
      {"max_body", Kind::text, "SIZE", "8MiB", "the largest body of a request", size(&Settings::max_body)},
      {"max_bodies", Kind::text, "SIZE", "256MiB", "all bodies that are in memory at a time",
       size(&Settings::max_bodies)},
      {"max_connections", Kind::text, "N", "12000", "connections at a time; further ones are closed",
       count(&Settings::max_connections, 1, kMany)},
      {"max_connections_per_address", Kind::text, "N", "12000", "the same from one address",
       count(&Settings::max_connections_per_address, 1, kMany)},
      {"max_requests_per_token", Kind::text, "N", "12000",
       "requests of one token at a time, those that wait included; further ones get 429",
       count(&Settings::max_requests_per_token, 1, kMany)},
      {"max_waiting", Kind::text, "N", "1000", "requests that wait for a thread; further ones get 503",
       count(&Settings::max_waiting, 1, kMany)},
      {"store_threads", Kind::text, "N", "8", "threads that call the store",
       count(&Settings::store_threads, 1, 256)},
      {"header_time", Kind::text, "TIME", "10s", "for the head of a request to arrive",
       time(&Settings::header_time, 1ms)},
      {"body_time", Kind::text, "TIME", "30s", "for a body to arrive, and a second more for each 64 KiB",
       time(&Settings::body_time, 1ms)},
      {"write_time", Kind::text, "TIME", "30s", "for a reply to be taken, and a second more for each 64 KiB",
       time(&Settings::write_time, 1ms)},
      {"idle_time", Kind::text, "TIME", "75s", "until a connection without requests is closed",
       time(&Settings::idle_time, 1ms)},
      {"poll_time", Kind::text, "TIME", "60s", "the longest that a request waits for news",
       time(&Settings::poll_time, 1ms, 1h)},
      {"store_time", Kind::text, "TIME", "3s",
       "how long a call is repeated while the store does not answer, before the reply is 503",
       time(&Settings::store_time, 0ms)},
      {"stop_time", Kind::text, "TIME", "30s", "for requests that are under way when the server is stopped",
       time(&Settings::stop_time, 0ms)},
      {"log_level", Kind::text, "LEVEL", "info", "debug, info, warn, error or off",
       [](Settings& s, const Values& values) { s.log_level = parse_level(values.front()); }},
      {"log_format", Kind::text, "FORMAT", "text", "text, or json: one object for each line",
       [](Settings& s, const Values& values) { s.log_format = parse_format(values.front()); }},
  };
}

const Setting& setting(const Given& given) {
  const std::vector<Setting>& all = all_settings();
  const auto found = std::ranges::find(all, given.name, &Setting::name);
  if (found == all.end()) {
    throw SettingsError(given.where + ": there is no setting '" + given.name +
                        "'; `holdfast server --help` lists them");
  }
  return *found;
}

void apply(Settings& settings, const Given& given) {
  const Setting& one = setting(given);
  try {
    if (given.values.empty()) throw std::invalid_argument("there is no value");
    if (one.kind != Kind::list && given.values.size() > 1) throw std::invalid_argument("it takes one value");
    one.set(settings, given.values);
  } catch (const std::invalid_argument& error) {
    throw SettingsError(given.where + ": " + error.what());
  }
}

Values parts_of(const std::string& text) {
  Values parts;
  std::size_t begin = 0;
  for (std::size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', begin)) {
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// What contradicts each other, whoever said it.
void check(const Settings& settings) {
  if (settings.store.empty()) {
    throw SettingsError("no store is named: --store app.db, or a PostgreSQL URL");
  }
  if (settings.namespaces.empty()) throw SettingsError("no namespace is served: --namespaces default");
  if (settings.tls_certificate.empty() != settings.tls_key.empty()) {
    throw SettingsError("TLS needs both a certificate and its key: --tls-certificate and --tls-key");
  }
}

}  // namespace

std::string Setting::flag() const {
  std::string text = "--" + std::string(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

std::string Setting::environment() const {
  std::string text = "HOLDFAST_";
  for (const char c : name) text += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

const std::vector<Setting>& all_settings() {
  static const std::vector<Setting> kAll = make_all();
  return kAll;
}

std::optional<std::string> process_environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Settings make_settings(const std::vector<Given>& file, const Environment& environment,
                       const std::vector<Given>& flags) {
  Settings settings;
  for (const Setting& one : all_settings()) one.set(settings, {std::string(one.standard)});
  for (const Given& given : file) apply(settings, given);
  for (const Setting& one : all_settings()) {
    const std::optional<std::string> value = environment(one.environment());
    if (!value) continue;
    apply(settings, {std::string(one.name), one.kind == Kind::list ? parts_of(*value) : Values{*value},
                     one.environment()});
  }
  for (const Given& given : flags) apply(settings, given);
  check(settings);
  return settings;
}

std::string settings_table() {
  std::string table = "| setting | default | meaning |\n|---|---|---|\n";
  for (const Setting& one : all_settings()) {
    table += "| `" + std::string(one.name) + "` | " +
             (one.standard.empty() ? std::string() : "`" + std::string(one.standard) + "`") + " | " +
             std::string(one.help) + " |\n";
  }
  return table;
}

}  // namespace holdfast::server
