// Whatever is wrong with a uri, no message shows the password in it.
#include "uri.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/postgres.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast::postgres_store::uri_test {
namespace {

/// A password of two halves around something that tears it apart.
constexpr const char* kHalves[] = {"hunter", "secret"};

StoreOpenError refused(const std::string& uri) {
  try {
    postgres(uri);
  } catch (const StoreOpenError& error) {
    return error;
  }
  throw std::runtime_error("it was opened");
}

void expect_hidden(const std::string& uri, StoreOpenError::Kind kind) {
  const StoreOpenError error = refused(uri);
  EXPECT_EQ(error.kind(), kind) << uri << ": " << error.what();
  for (const char* half : kHalves) {
    EXPECT_EQ(std::string(error.what()).find(half), std::string::npos) << uri << ": " << error.what();
  }
}

TEST(PostgresUri, APasswordThatTearsItApartIsNotShown) {
  for (const char* torn : {"@", "/", "?", "#", "%", "%zz", " ", ":@", "[", "/x@"}) {
    const std::string password = std::string(kHalves[0]) + torn + kHalves[1];
    const StoreOpenError error = refused("postgresql://me:" + password + "@127.0.0.1:1/db");
    for (const char* half : kHalves) {
      EXPECT_EQ(std::string(error.what()).find(half), std::string::npos) << torn << ": " << error.what();
    }
  }
}

TEST(PostgresUri, OneThatCantBeReadIsAnErrorOfItsOwn) {
  using Kind = StoreOpenError::Kind;
  expect_hidden("postgresql://me:hunter@secret@127.0.0.1/db", Kind::invalid);
  expect_hidden("postgresql://me:hunter/secret@127.0.0.1/db", Kind::invalid);
  expect_hidden("postgresql://me:hunter%zz@127.0.0.1/db", Kind::invalid);
  expect_hidden("postgresql://me@127.0.0.1/db?password=hunter&secret", Kind::invalid);
  expect_hidden("host=127.0.0.1 password=hunter secret", Kind::invalid);
  expect_hidden("host=127.0.0.1 password='hunter secret", Kind::invalid);
  expect_hidden("host=127.0.0.1 passwort=hunter", Kind::invalid);
  expect_hidden("nonsense hunter", Kind::invalid);
}

TEST(PostgresUri, SecretsAreHiddenAsTheyStandThereAndAsTheyAreMeant) {
  const Secrets in_uri("postgresql://me:two%20words@host/db?sslpassword=third%21");
  EXPECT_EQ(in_uri.hidden_in("me says two words, two%20words and third! at host"),
            "me says ***, *** and *** at host");
  const Secrets in_pairs("user=me password='two words'");
  EXPECT_EQ(in_pairs.hidden_in("two words"), "***");
  EXPECT_EQ(Secrets("host=x").hidden_in("nothing to hide"), "nothing to hide");
}

}  // namespace
}  // namespace holdfast::postgres_store::uri_test
