// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "serve/routes.hpp"
#include "serve/server.hpp"

namespace assay::serve {

/// The state that changes while the server runs: the newest document and progress. Readers wait for a change.
/// Thread: any.
class Watch {
 public:
  Watch(const ServeOptions& options, const Content& content);

  /// Looks at the files, and makes the document again if the snapshot changed.
  void look();

  /// What readers see.
  struct Seen {
    std::shared_ptr<const Document> document;
    std::string missing;
    std::string progress;          ///< JSON on one line; "" if nothing runs
    std::uint64_t generation = 0;  ///< grows with each change
    bool ended = false;
  };
  [[nodiscard]] Seen seen() const;
  /// Waits up to a second for something newer than `generation`.
  [[nodiscard]] Seen wait(std::uint64_t generation) const;
  /// Wakes all that wait.
  void end();

 private:
  std::string read_progress() const;

  std::filesystem::path snapshot_, database_, progress_;
  const Content& content_;
  std::string identity_;  ///< of the snapshot that the document is of; only look() uses it
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Seen now_;
};

}  // namespace assay::serve
