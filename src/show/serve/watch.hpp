// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "show/serve/routes.hpp"
#include "show/serve/server.hpp"

namespace assay::serve {

/// The state that changes while the server runs: the newest document and progress. Readers wait for a change.
/// Thread: any.
class Watch {
 public:
  /// `pause`: before a snapshot that could not be read is read again.
  Watch(const ServeOptions& options, const Content& content,
        std::chrono::milliseconds pause = std::chrono::seconds(10));

  /// Looks at the files, and makes the document again if the snapshot is not the one that the document is of.
  void look();

  /// What readers see.
  struct Seen {
    std::shared_ptr<const Document> document;
    std::string missing;           ///< why there is no document, or why it is an old one; "" if it is of the snapshot
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
  std::chrono::milliseconds pause_;
  /// Identity of the document's snapshot, and of the snapshot that could not be read last.
  std::string identity_, failed_;
  std::chrono::steady_clock::time_point retry_at_{};  ///< the three are used by look() only
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Seen now_;
};

}  // namespace assay::serve
