// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include <assay/result.hpp>

namespace assay {

/// Resident memory of a process, bytes.
struct ResidentMemory {
  std::uint64_t now = 0;   ///< VmRSS
  std::uint64_t peak = 0;  ///< VmHWM: since the start of the process, or since reset_peak_memory()
};

/// From the process's `status`. Errors: not_found (no such process), internal (fields missing).
[[nodiscard]] Result<ResidentMemory> resident_memory(const std::filesystem::path& process = "/proc/self");

/// Resets the peak to the current resident memory, by writing 5 to `clear_refs`.
/// Errors: unsupported if the kernel refuses: the peak then counts from the start of the process.
[[nodiscard]] Status reset_peak_memory(const std::filesystem::path& process = "/proc/self");

/// Peak of the resident memory of this process while it measures, without assay's own part: what happens between
/// pause() and resume() does not count.
class PeakMemory {
 public:
  /// Forgets the peak until now.
  void begin();
  void pause();
  void resume();
  /// Bytes, less the `own_bytes` of assay that are part of it; 0 if it is unknown.
  [[nodiscard]] std::uint64_t end(std::uint64_t own_bytes);

 private:
  std::uint64_t peak_ = 0;
  std::uint64_t paused_at_ = 0;  ///< resident then
  std::uint64_t own_ = 0;        ///< became resident in pauses
};

/// Mean of the resident memory, sampled on request (`statm`, about 2 µs; the file stays open).
class MeanMemory {
 public:
  explicit MeanMemory(const std::filesystem::path& process = "/proc/self");
  MeanMemory(const MeanMemory&) = delete;
  MeanMemory& operator=(const MeanMemory&) = delete;
  ~MeanMemory();
  /// Adds a sample; one that cannot be read is ignored.
  void sample();
  /// 0 before the first sample.
  [[nodiscard]] std::uint64_t mean_bytes() const { return count_ == 0 ? 0 : sum_ / count_; }

 private:
  int file_ = -1;
  std::uint64_t page_bytes_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace assay
