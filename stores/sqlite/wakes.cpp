#include "wakes.hpp"

#include "base/block_containers.hpp"
#include "base/moments.hpp"
#include "base/mutex.hpp"
#include "futex.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

namespace holdfast::sqlite_store {

namespace {

using store::kActivities;
using store::kAnswers;
using store::kAsks;
using store::kCancels;
using store::kSweep;
using store::kTurns;
using store::kWatched;
using store::News;
using store::Wake;
using store::WorkMask;

/// What stands in the mask of News itself.
constexpr WorkMask kOfMask = kTurns | kActivities | kSweep | kAsks | kAnswers;
constexpr std::size_t kKinds = 8;
using Tally = std::array<std::uint32_t, kKinds>;

WorkMask kinds_of(const News& news) {
  WorkMask kinds = news.work & kOfMask;
  if (!news.cancelled.empty()) kinds |= kCancels;
  if (!news.instances.empty() || news.any_instance) kinds |= kWatched;
  return kinds;
}

/// What changes with every commit, looked at without opening anything.
struct Footprint {
  struct timespec log{};
  struct timespec file{};

  static Footprint of(const std::string& database) {
    Footprint found;
    struct stat about{};
    if (::stat((database + "-wal").c_str(), &about) == 0) found.log = about.st_mtim;
    if (::stat(database.c_str(), &about) == 0) found.file = about.st_mtim;
    return found;
  }
  friend bool operator==(const Footprint& a, const Footprint& b) {
    const auto same = [](const timespec& x, const timespec& y) {
      return x.tv_sec == y.tv_sec && x.tv_nsec == y.tv_nsec;
    };
    return same(a.log, b.log) && same(a.file, b.file);
  }
};

}  // namespace

/// What the listeners of one file have in common with it, and outlives it with them.
class FileWakes::Shared {
 public:
  Shared(std::string path, std::shared_ptr<SideFile> side, const Clock& of,
         std::chrono::milliseconds interval)
      : database(std::move(path)), side_file(std::move(side)), clock(of), floor(interval), bus(of) {}

  void publish(const News& news) {
    const WorkMask kinds = kinds_of(news);
    if (kinds.empty()) return;
    bus.publish(news);
    ring(*count(kinds));
  }

  /// Wakes all who wait, to look at what is there.
  static void ring(SharedPage& page) {
    page.words().sequence.fetch_add(1);
    if (page.words().waiters.load() != 0) futex_wake_all(page.words().sequence);
  }

  /// How often others had news of each kind.
  Tally others(const std::shared_ptr<SharedPage>& page) {
    const MutexLock lock(mutex_);
    Tally tally{};
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      tally[kind] = page->words().news[kind].load() - (page == own_page_ ? own_[kind] : 0);
    }
    return tally;
  }

  const std::string database;
  const std::shared_ptr<SideFile> side_file;
  const Clock& clock;
  const std::chrono::milliseconds floor;
  store::WakeBus bus;

 private:
  /// Counts news of this process in the page that is used now. The page is asked for
  /// under the mutex: two threads that publish while it changes would else forget in turn what they counted.
  std::shared_ptr<SharedPage> count(WorkMask kinds) {
    const MutexLock lock(mutex_);
    auto page = side_file->page();
    if (page != own_page_) {
      own_page_ = page;
      own_ = {};
    }
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      if (!kinds.has({static_cast<std::uint8_t>(1U << kind)})) continue;
      page->words().news[kind].fetch_add(1);
      ++own_[kind];
    }
    return page;
  }

  Mutex mutex_;
  std::shared_ptr<SharedPage> own_page_ HOLDFAST_GUARDED_BY(mutex_){};
  Tally own_ HOLDFAST_GUARDED_BY(mutex_){};  // of what stands in own_page_
};

class FileWakes::Ear final : public store::Listener {
 public:
  Ear(std::shared_ptr<Shared> shared, WorkMask mask, WorkerKey worker)
      : shared_(std::move(shared)),
        mask_(mask),
        worker_(worker),
        near_(shared_->bus.listen(mask, worker)),
        page_(shared_->side_file->page()),
        heard_(shared_->others(page_)),
        seen_(Footprint::of(shared_->database)),
        floor_(shared_->clock.boot_now() + shared_->floor) {}

  Wake wait(BootTime deadline) override {
    const bool blocks = &shared_->clock == &real_clock();
    for (;;) {
      follow_the_file();
      const std::uint32_t sequence = page_->words().sequence.load();
      Wake wake = hear();
      const BootTime now = shared_->clock.boot_now();
      if (blocks && now >= floor_) {
        if (wake.work.empty()) wake = look_at_the_files();
        floor_ = now + shared_->floor;
      }
      if (!wake.work.empty() || interrupted_.exchange(false) || !blocks || now >= deadline) return wake;
      sleep(sequence, left(std::min(deadline, floor_), now));
    }
  }

  void interrupt() override {
    interrupted_ = true;
    Shared::ring(*shared_->side_file->page());
  }

  void watch(InstanceKey key) override {
    near_->watch(key);
    const MutexLock lock(mutex_);
    watched_.insert(key);
  }
  void unwatch(InstanceKey key) override {
    near_->unwatch(key);
    const MutexLock lock(mutex_);
    watched_.erase(key);
  }

 private:
  /// What has come, from here and from others.
  Wake hear() {
    Wake wake = near_->wait(kLongAgo);
    const Tally now = shared_->others(page_);
    WorkMask kinds;
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      if (now[kind] != heard_[kind]) kinds |= WorkMask{static_cast<std::uint8_t>(1U << kind)};
    }
    heard_ = now;
    add(wake, kinds);
    return wake;
  }

  void add(Wake& wake, WorkMask kinds) {
    kinds = kinds & mask_;
    wake.work |= kinds & kOfMask;
    if (kinds.has(kCancels) && worker_.value != 0) wake.work |= kCancels;
    const MutexLock lock(mutex_);
    if (kinds.has(kWatched) && !watched_.empty()) {
      wake.work |= kWatched;
      wake.any_instance = true;
    }
  }

  Wake look_at_the_files() {
    Wake wake;
    if (shared_->database.empty()) return wake;
    const Footprint now = Footprint::of(shared_->database);
    const bool changed = std::exchange(seen_, now) != now;
    // Times of files are coarse, and more may come within the same tick: look once more the next time.
    if (changed || in_doubt_) add(wake, store::kAllWork);
    in_doubt_ = changed;
    return wake;
  }

  /// When the side file went away or came back, nobody knows what was missed.
  void follow_the_file() {
    shared_->side_file->look_after();
    auto page = shared_->side_file->page();
    if (page == page_) return;
    page_ = std::move(page);
    heard_ = shared_->others(page_);
    for (std::uint32_t& count : heard_) --count;
  }

  void sleep(std::uint32_t sequence, BootTime::duration at_most) {
    SharedWords& words = page_->words();
    words.waiters.fetch_add(1);
    if (words.sequence.load() == sequence) futex_wait(words.sequence, sequence, at_most);
    words.waiters.fetch_sub(1);
  }

  const std::shared_ptr<Shared> shared_;
  const WorkMask mask_;
  const WorkerKey worker_;
  const std::unique_ptr<store::Listener> near_;
  std::shared_ptr<SharedPage> page_;
  Tally heard_;
  Footprint seen_;
  BootTime floor_;  // when to look at the files
  bool in_doubt_ = true;
  std::atomic<bool> interrupted_{false};
  Mutex mutex_;
  BlockSet<InstanceKey> watched_ HOLDFAST_GUARDED_BY(mutex_){};
};

FileWakes::FileWakes(std::string database, std::shared_ptr<SideFile> side_file, const Clock& clock,
                     std::chrono::milliseconds floor)
    : shared_(std::make_shared<Shared>(std::move(database), std::move(side_file), clock, floor)) {}
FileWakes::~FileWakes() = default;

std::unique_ptr<store::Listener> FileWakes::listen(WorkMask mask, WorkerKey worker) {
  return std::make_unique<Ear>(shared_, mask, worker);
}

void FileWakes::publish(const News& news) { shared_->publish(news); }

}  // namespace holdfast::sqlite_store
