#include "billing.hpp"

#include "examples/support/command_line.hpp"

#include <holdfast/activity_context.hpp>
#include <holdfast/errors.hpp>

#include <charconv>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace nightly {

using holdfast::ActivityContext;
using holdfast::ActivityFailure;

namespace {

std::ifstream open_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("can't read " + file);
  return in;
}

Chunk read(const std::string& file, std::int64_t offset, int lines_before) {
  std::ifstream in = open_file(file);
  in.seekg(offset);
  Chunk chunk{.items = {}, .next = offset, .lines = lines_before};
  for (std::string text; chunk.items.size() < kChunkItems && std::getline(in, text);) {
    chunk.next += static_cast<std::int64_t>(text.size()) + 1;
    ++chunk.lines;
    if (!text.empty()) chunk.items.push_back({.line = chunk.lines, .text = text});
  }
  return chunk;
}

struct Invoice {
  std::string customer;
  std::int64_t cents = 0;
};

/// "ada,1250": a customer and an amount in cents.
Invoice parse(const std::string& text) {
  const auto refuse = [](const std::string& why) -> void {
    throw ActivityFailure("bad_item", why, /*retryable=*/false);
  };
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos || comma == 0) refuse("not of the form customer,cents");
  Invoice invoice{.customer = text.substr(0, comma), .cents = 0};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + comma + 1, end, invoice.cents);
  if (error != std::errc() || stopped != end) refuse("the amount is no number");
  if (invoice.cents <= 0) refuse("the amount is not above zero");
  return invoice;
}

}  // namespace

int count_lines(const std::string& file) {
  std::ifstream in = open_file(file);
  int count = 0;
  for (std::string text; std::getline(in, text);) count += text.empty() ? 0 : 1;
  return count;
}

void Billing::register_with(holdfast::Runtime& rt) const {
  rt.activity(count_items, [](ActivityContext&, std::string file) { return count_lines(file); });
  rt.activity(read_chunk, [](ActivityContext&, std::string file, std::int64_t offset, int lines_before) {
    return read(file, offset, lines_before);
  });
  rt.activity(bill, [this](ActivityContext&, std::string batch, Item item) { write_invoice(batch, item); });
}

void Billing::write_invoice(const std::string& batch, const Item& item) const {
  const Invoice invoice = parse(item.text);
  support::say("begins line " + std::to_string(item.line));
  std::this_thread::sleep_for(latency_ / 2);
  // The key is the batch's own, and not the activity's: a batch that is started again bills nobody twice.
  ledger_.add_once(batch + "/" + std::to_string(item.line), [&](const support::LedgerEntries&) {
    return support::LedgerEntry{.action = "invoice", .subject = invoice.customer, .amount = invoice.cents};
  });
  support::say("billed line " + std::to_string(item.line));
  std::this_thread::sleep_for(latency_ / 2);
}

}  // namespace nightly
