// Deleting: instances go, alone or with all that descend from them.
#pragma once

#include "client/core.hpp"
#include "client/slices.hpp"

#include <holdfast/store.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::client {

/// One thread.
class Deleting {
 public:
  Deleting(detail::ClientCore& core, const DeleteOptions& options)
      : core_(core), slices_(core), options_(options) {}

  /// Why an instance that runs can't be deleted by itself: a child that its parent waits for. Nobody would
  /// ever tell the parent.
  std::vector<std::optional<std::string>> awaited(std::span<const store::InstanceView> views);
  /// An answer for each.
  Slices::Answers remove(std::span<const store::InstanceView> views);
  /// It and its children, theirs, and so on. Throws ClientError.
  void remove_tree(const store::InstanceView& root);

 private:
  void suspend(std::span<const store::InstanceView> views);
  std::vector<store::InstanceView> children_of(std::span<const store::InstanceView> parents);

  detail::ClientCore& core_;
  Slices slices_;
  DeleteOptions options_;
};

}  // namespace holdfast::client
