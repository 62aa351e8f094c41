#include "contract/rows.hpp"

#include <holdfast/store.hpp>

#include <gtest/gtest.h>

namespace holdfast::store {
namespace {

void expect_round_trip(MessageKind kind, const MessageBody& body) {
  EXPECT_EQ(decode_body(kind, encode_body(body)), body);
}

TEST(MessageBody, WhatAStoreSaysComesBackAsItWas) {
  expect_round_trip(MessageKind::taken,
                    ActivityTaken{CancelReason::session_lost, "gpu", std::string("\0\xff", 2), 3});
  expect_round_trip(MessageKind::taken, ActivityTaken{.reason = CancelReason::session_aborted,
                                                      .session = "gpu",
                                                      .owner = "a",
                                                      .session_reason = SessionReason::aborted,
                                                      .note = "it burns"});
  expect_round_trip(MessageKind::value, ValueAnswer{true, std::string("null")});
  expect_round_trip(MessageKind::value, ValueAnswer{true, std::nullopt});
  expect_round_trip(MessageKind::session, SessionAnswer{SessionAnswer::Kind::missing});
  expect_round_trip(MessageKind::news,
                    SessionNews{SessionNews::Kind::moved, "a", "b", "drained", Generation{7}});
  expect_round_trip(MessageKind::ended, EndAnswer{EndAnswer::Kind::ended, Status::failed, "why"});
  expect_round_trip(MessageKind::ended, EndAnswer{.kind = EndAnswer::Kind::deleted});
  expect_round_trip(MessageKind::cancel, std::string("\0\xff", 2));
  expect_round_trip(MessageKind::outcome, std::string("\0caller's bytes", 15));
}

TEST(MessageBody, DamagedBytesAreNoMessage) {
  const std::string bytes = encode_body(ActivityTaken{CancelReason::dropped, "gpu", "failure", 3});
  EXPECT_FALSE(decode_body(MessageKind::taken, std::string_view(bytes).substr(0, bytes.size() - 3)));
  EXPECT_FALSE(decode_body(MessageKind::taken, ""));
}

TEST(Rows, StructsWithSetsAndOptionalsComeBackAsTheyWere) {
  const Abilities abilities{
      .handlers = {"a", "b"}, .queues = {.any = false, .names = {}}, .capabilities = {"gpu:l4"}};
  Abilities read;
  ASSERT_TRUE(from_bytes(to_bytes(abilities), read));
  EXPECT_EQ(read, abilities);

  const SessionPolicy policy{
      .requirements = {"x"}, .lease = Duration(5), .idle_timeout = never, .max_concurrent = 2};
  SessionPolicy read_policy;
  ASSERT_TRUE(from_bytes(to_bytes(policy), read_policy));
  EXPECT_EQ(read_policy, policy);
}

}  // namespace
}  // namespace holdfast::store
