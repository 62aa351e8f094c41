// Hosts for tests: each is a process in a network of its own, joined to the others by a bridge, where this
// user may have that.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::faults {

/// A bridge in a network of this process's own, into which the calling thread, and all that it starts, move
/// for good. It is gone with the last process that is in it, however that ends. Where that is not allowed,
/// hosts are plain processes: those who are cut off are stopped instead.
class Network {
 public:
  Network();
  [[nodiscard]] bool is_real() const noexcept { return real_; }
  /// The address of this process.
  [[nodiscard]] static std::string address() { return "10.77.0.1"; }

 private:
  bool real_ = false;
};

/// One process on a host of its own. Killed with the object, and when this process ends.
class Host {
 public:
  /// Runs a program. What it says goes to the file `log`.
  Host(const Network& network, int number, const std::vector<std::string>& command,
       const std::vector<std::string>& environment, const std::string& log);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// All that it sends or should get is lost.
  void cut_off() const;
  void join_again() const;
  /// A SIGTERM. True when it ends in peace.
  bool end();

 private:
  void plug_in(int number) const;

  const bool real_;
  const std::string cable_;
  int pid_ = -1;
};

}  // namespace holdfast::faults
