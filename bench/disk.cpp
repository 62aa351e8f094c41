#include "bench/disk.hpp"

#include "bench/lockstep.hpp"

#include <fcntl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace holdfast::bench {

namespace {

constexpr std::size_t kPage = 4096;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// A file of zeros, all of whose blocks the disk has.
class File {
 public:
  File(const std::filesystem::path& path, std::size_t size)
      : handle_(::open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600)) {
    if (handle_ < 0) fail("can't make " + path.string());
    const std::string zeros(1U << 20U, '\0');
    for (std::size_t at = 0; at < size; at += zeros.size()) {
      write(std::string_view(zeros).substr(0, std::min(zeros.size(), size - at)), at);
    }
    if (::fsync(handle_) != 0) fail("fsync");
  }
  ~File() { ::close(handle_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(std::string_view bytes, std::size_t at) {
    if (::pwrite(handle_, bytes.data(), bytes.size(), static_cast<off_t>(at)) !=
        static_cast<ssize_t>(bytes.size())) {
      fail("pwrite");
    }
  }
  void sync(bool data_only) {
    if ((data_only ? ::fdatasync(handle_) : ::fsync(handle_)) != 0) fail("fsync");
  }

 private:
  int handle_;
};

class AppendLog final : public Lockstep {
 public:
  AppendLog(const std::filesystem::path& path, Shape shape, std::size_t in_flight)
      : Lockstep(shape, in_flight, Start::with_first_turn), file_(path, kSize) {}

 private:
  static constexpr std::size_t kSize = 64U << 20U;

  void start(const Flight& flight) override { group_ += instance_id(flight.key); }
  // An activity is known by the event that schedules it: its input lies in the segment.
  void write(const Flight& flight, const TurnPlan& turn) override {
    number(flight.key);
    number(turn.first_event);
    number(turn.segment_bytes);
    group_.append(turn.segment_bytes, 'h');
  }
  void commit() override {
    if (at_ + group_.size() > kSize) at_ = 0;
    file_.write(group_, at_);
    file_.sync(true);
    at_ += group_.size();
    group_.clear();
  }
  void number(std::uint64_t value) { group_.append(reinterpret_cast<const char*>(&value), sizeof value); }

  File file_;
  std::size_t at_ = 0;
  std::string group_;
};

}  // namespace

DiskFolder::DiskFolder() {
  std::string pattern = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "disk-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) fail("can't make " + pattern);
  path_ = pattern;
}

DiskFolder::~DiskFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string DiskFolder::file_system() const {
  struct statfs info{};
  if (::statfs(path_.c_str(), &info) != 0) fail("statfs");
  switch (info.f_type) {
    case 0xEF53:
      return "ext4";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x794C7630:
      return "overlayfs";
    case 0x01021994:
      return "tmpfs: in memory, its figures say nothing";
    default:
      return "file system " + std::to_string(info.f_type);
  }
}

double sync_time(const DiskFolder& folder, bool data_only) {
  File file(folder / "page", kPage);
  const std::string page(kPage, 'p');
  Measured measured;
  for (int i = 0; i < 500; ++i) {
    file.write(page, 0);
    const auto began = Clock::now();
    file.sync(data_only);
    measured.latencies.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
  }
  return measured.latency(0.5);
}

std::unique_ptr<Contender> append_log(const DiskFolder& folder, Shape shape, std::size_t in_flight) {
  return std::make_unique<AppendLog>(folder / "log", shape, in_flight);
}

}  // namespace holdfast::bench
