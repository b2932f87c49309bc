// SPDX-License-Identifier: Apache-2.0
#include "libtorch_engine.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include <assay/support/plugin_support.hpp>
#include "torch_library.hpp"
#include "torch_options.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace assay::plugin {
namespace fs = std::filesystem;
namespace {

// What libtorch_cpu.so needs beside itself, and where the wheels of PyTorch have it, relative to its folder.
constexpr const char* kLibraries[] = {"libtorch_cpu.so", "libc10.so"};

/// The folder of this plug-in, which has the second library.
Result<fs::path> own_folder() {
#ifdef ASSAY_LIBTORCH_FOLDER
  return fs::path(ASSAY_LIBTORCH_FOLDER);
#else
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&built_for_version), &info) == 0 || info.dli_fname == nullptr)
    return fail(ErrorCode::kInternal, "the folder of the libtorch plug-in is unknown");
  return fs::path(info.dli_fname).parent_path();
#endif
}

Status open_runtime(const fs::path& home) {
  for (const char* name : kLibraries) ASSAY_CHECK_OK(check_whole_library(home / name, kInstallTorch));
  // Never closed. The second library needs it under this name, which the loader then knows.
  if (dlopen((home / kLibraries[0]).c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return {};
  const char* reason = dlerror();
  return fail(ErrorCode::kNotFound,
              fmt::format("cannot open {}: {}", (home / kLibraries[0]).string(), reason ? reason : "no reason given"),
              fmt::format("a part of libtorch is missing; {}", kInstallTorch));
}

assay_error* save(assay_program* program, const assay_save_args* args) noexcept {
  return detail::guard([&]() -> Status {
    const auto* savable = dynamic_cast<const SavableProgram*>(program->object.get());
    if (savable == nullptr) return fail(ErrorCode::kInternal, "this program cannot be saved");
    return savable->save(detail::text(args->path), args->frozen != 0);
  });
}

// PyTorch allocates each tensor of a run with malloc and frees it within the run. glibc would give the pages back each
// time, and the kernel would clear them again: vit_b_16 at batch 8 took 2,425 ms instead of 2,056 ms
// (docs/performance.md). An allocation of more than 32 MiB, the most that mallopt() takes, is still mapped anew.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMostKept = std::numeric_limits<int>::max(), kMapFrom = 32 << 20;
  mallopt(M_TRIM_THRESHOLD, kMostKept);
  mallopt(M_MMAP_THRESHOLD, kMapFrom);
#endif
}

}  // namespace

std::string built_for_version() { return ASSAY_LIBTORCH_VERSION; }

Result<std::unique_ptr<Engine>> LibtorchEngine::create(const std::string& home, const assay_host_api& host) {
  if (home.empty()) return fail(ErrorCode::kNotFound, "no libtorch was found", "`setup/fetch libtorch` installs it");
  ASSAY_TRY(const std::string version, torch_version(home));
  ASSAY_CHECK_OK(check_torch_version(version, built_for_version(), home));
  ASSAY_CHECK_OK(open_runtime(home));
  keep_freed_memory();
  ASSAY_TRY(const fs::path folder, own_folder());
  const fs::path file = folder / kTorchLibrary;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return fail(ErrorCode::kIncompatiblePlugin,
                fmt::format("{} was built for libtorch {} and does not work with {} in '{}': {}", kTorchLibrary,
                            built_for_version(), version, home, reason ? reason : "no reason given"),
                "`setup/fetch libtorch` installs the version that it was built for");
  }
  ASSAY_TRY(void* const symbol, find_symbol(library, kCreateTorchEngine));
  Result<std::unique_ptr<Engine>> made = fail(ErrorCode::kInternal, "the engine was not created");
  reinterpret_cast<CreateTorchEngine*>(symbol)(host, version, made);
  if (!made) return made;
  return std::unique_ptr<Engine>(new LibtorchEngine(std::move(*made)));
}

std::vector<OptionInfo> LibtorchEngine::option_infos() { return torch_options(); }

const void* LibtorchEngine::extension(std::string_view name) {
  static const assay_save_extension table{sizeof table, 1, &save};
  return name == "save" ? &table : nullptr;
}

}  // namespace assay::plugin

#ifndef ASSAY_LIBTORCH_FOLDER  // tests create the engine themselves
ASSAY_EXPORT_ENGINE(assay::plugin::LibtorchEngine);
#endif
