// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "bench/hardware/host.hpp"
#include "core/base/text.hpp"

namespace assay {

Result<ResidentMemory> resident_memory(const std::filesystem::path& process) {
  const Host host(process, {});
  if (!host.exists("status"))
    return fail(ErrorCode::kNotFound, fmt::format("no process at '{}': it has no file 'status'", process.string()));
  const auto now = host.field_bytes("status", "VmRSS");
  const auto peak = host.field_bytes("status", "VmHWM");
  if (!now || !peak)
    return fail(ErrorCode::kInternal, fmt::format("'{}/status' has no VmRSS and VmHWM", process.string()));
  return ResidentMemory{*now, *peak};
}

Status reset_peak_memory(const std::filesystem::path& process) {
  const auto path = process / "clear_refs";
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = file >= 0 && ::write(file, "5", 1) == 1;
  const int error = errno;
  if (file >= 0) ::close(file);
  if (written) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("cannot reset the memory peak with '{}': {}", path.string(),
                                                   std::generic_category().message(error)));
}

void PeakMemory::begin() {
  peak_ = own_ = 0;
  (void)reset_peak_memory();
}

void PeakMemory::pause() {
  const auto memory = resident_memory();
  if (!memory) return;
  peak_ = std::max(peak_, memory->peak - std::min(own_, memory->peak));
  paused_at_ = memory->now;
}

// If the kernel refuses the reset, the peak counts from the start of the process.
void PeakMemory::resume() {
  const auto memory = resident_memory();
  if (memory && memory->now > paused_at_) own_ += memory->now - paused_at_;
  (void)reset_peak_memory();
}

std::uint64_t PeakMemory::end(std::uint64_t own_bytes) {
  pause();
  return peak_ > own_bytes ? peak_ - own_bytes : 0;
}

MeanMemory::MeanMemory(const std::filesystem::path& process)
    : file_(::open((process / "statm").c_str(), O_RDONLY | O_CLOEXEC)),
      page_bytes_(static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L))) {}

MeanMemory::~MeanMemory() {
  if (file_ >= 0) ::close(file_);
}

void MeanMemory::sample() {
  std::array<char, 128> buffer{};
  const ssize_t n = ::pread(file_, buffer.data(), buffer.size(), 0);
  if (n <= 0) return;
  // Fields: size, resident, …, in pages.
  std::string_view text(buffer.data(), static_cast<std::size_t>(n));
  text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
  const auto pages = parse_number<std::uint64_t>(text.substr(0, text.find(' ')));
  if (!pages) return;
  sum_ += *pages * page_bytes_;
  ++count_;
}

}  // namespace assay
