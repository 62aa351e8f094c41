#include "server/settings/settings.hpp"

#include "server/settings/units.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::server::settings_test {

using namespace std::chrono_literals;
using Variables = std::map<std::string, std::string>;

Settings made(const std::vector<Given>& file, const Variables& variables, const std::vector<Given>& flags) {
  return make_settings(
      file,
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
      },
      flags);
}

std::string error_of(const std::vector<Given>& file, const Variables& variables,
                     const std::vector<Given>& flags) {
  try {
    static_cast<void>(made(file, variables, flags));
  } catch (const SettingsError& error) {
    return error.what();
  }
  return "none";
}

Given flag(std::string name, std::string value) { return {std::move(name), {std::move(value)}, "--flag"}; }

TEST(Settings, HaveDefaults) {
  const Settings settings = made({}, {}, {flag("store", "app.db")});
  EXPECT_EQ(settings.store, "app.db");
  EXPECT_EQ(settings.listen, "127.0.0.1:7420");
  EXPECT_EQ(settings.namespaces, std::vector<std::string>{"default"});
  EXPECT_TRUE(settings.hosts.empty());
  EXPECT_EQ(settings.max_body, std::size_t{8} << 20U);
  EXPECT_EQ(settings.poll_time, 60s);
  EXPECT_TRUE(settings.schedules);
  EXPECT_FALSE(settings.insecure);
}

TEST(Settings, FlagsCountBeforeTheEnvironmentAndThatBeforeTheFile) {
  const std::vector<Given> file{
      {"store", {"file.db"}, "line 1"}, {"max_body", {"1MiB"}, "line 2"}, {"poll_time", {"1s"}, "line 3"}};
  const Variables variables{
      {"HOLDFAST_MAX_BODY", "2MiB"}, {"HOLDFAST_POLL_TIME", "2s"}, {"HOLDFAST_NAMESPACES", "a,b"}};
  const Settings settings = made(file, variables, {flag("poll_time", "3s")});
  EXPECT_EQ(settings.store, "file.db");
  EXPECT_EQ(settings.max_body, std::size_t{2} << 20U);
  EXPECT_EQ(settings.poll_time, 3s);
  EXPECT_EQ(settings.namespaces, (std::vector<std::string>{"a", "b"}));
}

TEST(Settings, AMistakeIsNamedWithItsPlace) {
  const std::vector<Given> store{flag("store", "app.db")};
  EXPECT_EQ(error_of({}, {}, {}), "no store is named: --store app.db, or a PostgreSQL URL");
  EXPECT_EQ(error_of({{"stor", {"x"}, "line 3 of s.toml"}}, {}, store),
            "line 3 of s.toml: there is no setting 'stor'; `holdfast server --help` lists them");
  EXPECT_EQ(error_of({}, {{"HOLDFAST_POLL_TIME", "60"}}, store),
            "HOLDFAST_POLL_TIME: '60' is no time: write a number and us, ms, s, min, h or d, such as 30s");
  EXPECT_EQ(error_of({}, {{"HOLDFAST_INSECURE", "maybe"}}, store),
            "HOLDFAST_INSECURE: 'maybe' is neither true nor false");
  EXPECT_EQ(error_of({}, {{"HOLDFAST_STORE_THREADS", "0"}}, store),
            "HOLDFAST_STORE_THREADS: 0 is not from 1 to 256");
  EXPECT_EQ(error_of({}, {{"HOLDFAST_TLS_KEY", "k.pem"}}, store),
            "TLS needs both a certificate and its key: --tls-certificate and --tls-key");
  EXPECT_EQ(error_of({}, {{"HOLDFAST_NAMESPACES", ""}}, store),
            "no namespace is served: --namespaces default");
}

TEST(Settings, AreReadFromToml) {
  const support::TemporaryFolder folder;
  std::ofstream(folder / "s.toml") << "store = \"app.db\"\n# a comment\nmax_connections = 100\ninsecure = "
                                      "true\nnamespaces = [\"a\", \"b\"]\n";
  const Settings settings = made(read_settings_file(folder / "s.toml"), {}, {});
  EXPECT_EQ(settings.store, "app.db");
  EXPECT_EQ(settings.max_connections, 100U);
  EXPECT_TRUE(settings.insecure);
  EXPECT_EQ(settings.namespaces, (std::vector<std::string>{"a", "b"}));
}

TEST(Settings, AMistakeInAFileIsNamedWithItsLine) {
  const support::TemporaryFolder folder;
  const auto error = [&](const std::string& text) -> std::string {
    std::ofstream(folder / "s.toml") << text;
    try {
      static_cast<void>(made(read_settings_file(folder / "s.toml"), {}, {}));
    } catch (const SettingsError& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_TRUE(error("store = \"a\"\nmax_body = \n").starts_with("line 2 of " + (folder / "s.toml") + ": "))
      << error("store = \"a\"\nmax_body = \n");
  EXPECT_EQ(error("store = \"a\"\nmax_body = 1.5\n"),
            "line 2 of " + (folder / "s.toml") +
                ": a setting is a text, a whole number, true or false, or a list of texts");
  EXPECT_EQ(error("store = \"a\"\n\nmax_body = \"big\"\n"),
            "line 3 of " + (folder / "s.toml") +
                ": 'big' is no size: write a number of bytes, or one with KiB, MiB or GiB");
  EXPECT_THROW(static_cast<void>(read_settings_file(folder / "none.toml")), SettingsError);
}

TEST(Settings, ThePageHasTheTable) {
  std::ifstream in("docs/server.md");
  std::ostringstream page;
  page << in.rdbuf();
  EXPECT_NE(page.str().find(settings_table()), std::string::npos)
      << "docs/server.md does not hold this table:\n"
      << settings_table();
}

TEST(Units, AreNumbersWithAUnit) {
  EXPECT_EQ(parse_time("250us"), 250us);
  EXPECT_EQ(parse_time("0s"), 0s);
  EXPECT_EQ(parse_time("90d"), 24h * 90);
  EXPECT_EQ(parse_size("12"), 12U);
  EXPECT_EQ(parse_size("2GiB"), 2ULL << 30U);
  for (const char* wrong :
       {"", "s", "-1s", "1.5s", "1 s", "1S", "9223372036854775807d", "99999999999999999999s"}) {
    EXPECT_THROW(static_cast<void>(parse_time(wrong)), std::invalid_argument) << wrong;
  }
  for (const char* wrong : {"", "KiB", "-1", "1kb", "9223372036854775807GiB"}) {
    EXPECT_THROW(static_cast<void>(parse_size(wrong)), std::invalid_argument) << wrong;
  }
}

}  // namespace holdfast::server::settings_test
