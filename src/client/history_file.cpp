#include "client/core.hpp"
#include "client/history_events.hpp"
#include "client/history_source.hpp"
#include "client/stored_turns.hpp"
#include "codec/history_lines.hpp"
#include "codec/segment.hpp"

#include <holdfast/history_file.hpp>
#include <holdfast/run.hpp>

#include <istream>
#include <ostream>
#include <utility>
#include <variant>

namespace holdfast {

namespace {

std::string place(const std::string& name, std::uint64_t line) {
  return (name.empty() ? "" : name + ", ") + "line " + std::to_string(line);
}

// ---- from a store -------------------------------------------------------------------------------

class StoreSource final : public history::Source {
 public:
  StoreSource(std::shared_ptr<detail::ClientCore> core, const store::InstanceView& view,
              ExecutionNumber execution)
      : header_{.instance = view.instance,
                .execution = execution,
                .orchestration = view.code.name,
                .version = execution == view.execution ? view.code.version : ""},
        turns_(std::move(core), view.instance, view.key, execution) {
    fetch();
    // An execution began in the version that its own history has.
    if (!done()) take_version(batch_.front());
  }

  [[nodiscard]] const HistoryHeader& header() const noexcept override { return header_; }

  std::optional<std::string> next_segment() override {
    if (done()) return std::nullopt;
    first_event_ = batch_[next_].first_event;
    std::string segment = std::move(batch_[next_++].bytes);
    if (done()) fetch();
    return segment;
  }

  bool next_history() override { return false; }

  [[noreturn]] void refuse(const std::string& problem) const override {
    turns_.refuse_damaged(first_event_, problem);
  }

 private:
  static constexpr std::size_t kBytesAtOnce = std::size_t{256} << 10U;

  [[nodiscard]] bool done() const { return next_ == batch_.size(); }
  void fetch() {
    batch_ = turns_.next(kBytesAtOnce);
    next_ = 0;
  }
  void take_version(const store::Segment& first) {
    const auto events = history::read_segment(first.bytes);
    if (!events) return;  // whoever wants its events is told
    for (const history::Event& event : *events) {
      if (const auto* const started = std::get_if<history::Started>(&event.body))
        header_.version = started->version;
    }
  }

  HistoryHeader header_;
  client::StoredTurns turns_;
  std::vector<store::Segment> batch_;
  std::size_t next_ = 0;
  EventId first_event_{1};
};

// ---- from a stream ------------------------------------------------------------------------------

class StreamSource final : public history::Source {
 public:
  StreamSource(std::istream& in, std::string name) : name_(std::move(name)), lines_(in) {
    if (!in) throw HistoryFileError(name_, 1, "the file can't be opened");
    if (next_header()) return;
    throw HistoryFileError(
        name_, 1,
        in.bad() ? "the file can't be read" : "the file is empty: an exported history has a header");
  }

  [[nodiscard]] const HistoryHeader& header() const noexcept override { return header_; }

  std::optional<std::string> next_segment() override {
    if (done_) return std::nullopt;
    std::optional<std::string> segment = value_of(lines_.next_turn());
    done_ = !segment;
    return segment;
  }

  bool next_history() override {
    while (next_segment()) {
    }
    return next_header();
  }

  [[noreturn]] void refuse(const std::string& problem) const override {
    throw HistoryFileError(name_, lines_.line(), problem);
  }

 private:
  template <class T>
  T value_of(Result<T, history::LinesError> result) {
    if (!result) throw HistoryFileError(name_, result.error().line, result.error().reason);
    return *std::move(result);
  }
  bool next_header() {
    std::optional<history::LinesHeader> next = value_of(lines_.next_history());
    if (!next) return false;
    done_ = false;
    header_ = {.instance = std::move(next->instance),
               .execution = next->execution,
               .orchestration = std::move(next->orchestration),
               .version = std::move(next->version)};
    return true;
  }

  std::string name_;
  history::LinesReader lines_;
  HistoryHeader header_;
  bool done_ = false;
};

}  // namespace

// ---- the public face ----------------------------------------------------------------------------

HistoryFileError::HistoryFileError(const std::string& name, std::uint64_t line, const std::string& reason)
    : std::runtime_error(place(name, line) + ": " + reason), line_(line) {}

HistoryReader::HistoryReader(std::unique_ptr<history::Source> source) noexcept : source_(std::move(source)) {}
HistoryReader::HistoryReader(HistoryReader&&) noexcept = default;
HistoryReader& HistoryReader::operator=(HistoryReader&&) noexcept = default;
HistoryReader::~HistoryReader() = default;

const HistoryHeader& HistoryReader::header() const noexcept { return source_->header(); }
bool HistoryReader::next_history() { return source_->next_history(); }

std::vector<HistoryEvent> HistoryReader::next_turn() {
  std::vector<HistoryEvent> events;
  const std::optional<std::string> segment = source_->next_segment();
  if (!segment) return events;
  if (const auto added = history::append_events(*segment, events); !added) source_->refuse(added.error());
  return events;
}

HistoryReader read_history(const Run& run, ExecutionNumber execution) {
  detail::ClientCore& core = run.core();
  const InstanceKey key = run.key();
  const auto views = core.call([&] { return core.store().look({&key, 1}); });
  if (!views.front()) detail::refuse_as_gone(core.store(), run.id());
  if (execution.value == 0) execution = views.front()->execution;
  return HistoryReader(std::make_unique<StoreSource>(run.own_core(), *views.front(), execution));
}

HistoryReader read_history(std::istream& in, std::string name) {
  return HistoryReader(std::make_unique<StreamSource>(in, std::move(name)));
}

void write_history(HistoryReader history, std::ostream& out) {
  const HistoryHeader& header = history.header();
  const auto check = [&] {
    if (out) return;
    throw std::runtime_error("the history of instance '" + header.instance +
                             "' could not be written to its end: the stream takes no more");
  };
  history::LinesWriter lines;
  out << history::LinesWriter::header({.instance = header.instance,
                                       .execution = header.execution,
                                       .orchestration = header.orchestration,
                                       .version = header.version});
  while (const std::optional<std::string> segment = history.source().next_segment()) {
    const auto turn = lines.turn(*segment);
    if (!turn) history.source().refuse(turn.error());
    out << *turn;
    check();
  }
  out << lines.end() << std::flush;
  check();
}

void write_history(const Run& run, std::ostream& out, ExecutionNumber execution) {
  write_history(read_history(run, execution), out);
}

}  // namespace holdfast
