// Billing: the activities of the batch. They read the file of customers and write invoices to a ledger.
#pragma once

#include "batch.hpp"
#include "examples/support/ledger.hpp"

#include <holdfast/runtime.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

namespace nightly {

class Billing {
 public:
  /// `latency`: how long an invoice takes, half of it before its effect and half of it after.
  Billing(std::filesystem::path ledger, std::chrono::milliseconds latency)
      : ledger_(std::move(ledger)), latency_(latency) {}

  void register_with(holdfast::Runtime& rt) const;

 private:
  void write_invoice(const std::string& batch, const Item& item) const;

  support::Ledger ledger_;
  std::chrono::milliseconds latency_;
};

/// How many lines a file has that are not empty; throws when it can't be read.
int count_lines(const std::string& file);

}  // namespace nightly
