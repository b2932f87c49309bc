// SPDX-License-Identifier: Apache-2.0
// Modules in the form that jax writes, jax's plug-ins, and the lock of the interpreter.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "xla_testing.hpp"

namespace assay::plugin::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using XlaJax = RuntimeTest;

/// As jax.jit(jnp.linalg.cholesky).lower(x).as_text(), without what follows LAPACK.
constexpr std::string_view kCholesky =
    R"(module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=1]>
  func.func public @main(%arg0: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<2x2xf32> {jax.result_info = "result"}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"d"}, {}]> : tensor<2x2xf32>
    %1:2 = stablehlo.custom_call @lapack_spotrf_ffi(%0) {backend_config = "", mhlo.backend_config = {uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], []) {i=2, j=2, k=2, l=2}, custom>} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
    return %1#0 : tensor<2x2xf32>
  }
})";

TEST_F(XlaJax, AModuleOfJaxWithShardingsAndLapackIsComputed) {
  const auto program = load(write_bytes(kCholesky, "cholesky.stablehlo"));
  ASSERT_THAT(program, IsOk());
  Tensor x = floats({2, 2}, {4, 2, 2, 10});
  const auto context = (*program)->create_context(std::vector{x.shape()});
  ASSERT_THAT(context, IsOk());
  ASSERT_THAT((*context)->set_input(0, 0, x.view()), IsOk());
  ASSERT_THAT((*context)->run(0), IsOk());
  const auto y = output(**context);
  ASSERT_THAT(y, IsOk());
  EXPECT_THAT(y->values, ElementsAre(2, 2, 1, 3)) << "the lower triangle; LAPACK does not write the upper one";
}

TEST_F(XlaJax, APartOfAProgramForSeveralDevicesIsUnsupported) {
  std::string text(kCholesky);
  text.replace(text.find("partitions = 1"), 14, "partitions = 2");
  EXPECT_THAT(load(write_bytes(text, "two.stablehlo")),
              HasError(ErrorCode::kUnsupported, "'two.stablehlo' is a program for several devices (2 partitions)"));
}

/// Multiplies matrices again and again, which takes much longer than a switch of threads.
constexpr std::string_view kLong = R"(module @long {
  func.func public @main(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<256x256xf32>
    cond {
      %many = stablehlo.constant dense<50> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.dot_general %y, %x, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<256x256xf32>
    }
    return %0#1 : tensor<256x256xf32>
  }
})";

TEST_F(XlaJax, TheInterpretersLockIsNotHeldWhileAProgramRuns) {
  const auto program = load(write_bytes(kLong, "long.mlir"));
  ASSERT_THAT(program, IsOk());
  Tensor x = floats({256, 256}, std::vector<float>(256 * 256, 0.001F));
  const auto context = (*program)->create_context(std::vector{x.shape()});
  ASSERT_THAT(context, IsOk());
  ASSERT_THAT((*context)->set_input(0, 0, x.view()), IsOk());
  std::vector<std::int64_t> moments;  // when the other thread had the lock, which guards them
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      {
        const PyLock lock;
        moments.push_back(host().now_ns());
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  // A busy machine may not run the other thread within one run; if the lock is held, it has it within none.
  bool within = false;
  for (int attempt = 0; attempt < 200 && !within; ++attempt) {
    std::int64_t start = 0, duration = 0;
    std::uint8_t kind = 0;
    assay_samples samples{sizeof samples, 0, 1, 0, &start, &duration, &kind};
    EXPECT_THAT((*context)->run_timed(1, 0, 1, samples), IsOk());
    const PyLock lock;
    within = std::ranges::any_of(moments, [&](std::int64_t at) { return at > start && at < start + duration; });
    moments.clear();
  }
  done = true;
  other.join();
  EXPECT_TRUE(within);
}

TEST_F(XlaJax, PluginsOfJaxAreFoundWhereJaxLooksAndAreNotRun) {
  namespace fs = std::filesystem;
  const auto runtime = PyRuntime::start(home());
  ASSERT_THAT(runtime, IsOk());
  const fs::path site = fs::path(write_bytes("", "unused")).parent_path() / "site";
  fs::remove_all(site);
  const auto note = [&](const char* hardware) {
    const PyLock lock;
    const auto found = (*runtime)->call("note_for", "(ys)", site.c_str(), hardware);
    EXPECT_THAT(found, IsOk());
    return found ? text_of(found->get()) : std::string();
  };
  const auto write = [&](const fs::path& file, std::string_view text) {
    fs::create_directories((site / file).parent_path());
    std::ofstream(site / file) << text;
  };
  EXPECT_THAT(note("cuda"), HasSubstr("no plug-in of jax in '" + site.string() + "': `pip install"));
  write("jax_cuda13_plugin-0.10.2.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: jax-cuda13-plugin\nVersion: 0.10.2\n");
  write("jax_cuda13_plugin-0.10.2.dist-info/entry_points.txt", "[jax_plugins]\nxla_cuda13 = jax_plugins.xla_cuda13\n");
  write("broken-1.dist-info/METADATA", "");
  EXPECT_EQ(note("cuda"),
            "found jax's plug-in xla_cuda13 (jax-cuda13-plugin 0.10.2), which is not run in this version of assay");
  write("jax_plugins/my_cuda/__init__.py", "raise SystemExit('nothing is imported')");
  EXPECT_THAT(note("cuda"), HasSubstr("my_cuda (the folder jax_plugins), xla_cuda13"));
  EXPECT_THAT(note("tpu"), HasSubstr("no plug-in of jax"));
  write("libtpu/libtpu.so", "");
  EXPECT_THAT(note("tpu"), HasSubstr("found jax's plug-in libtpu (the folder libtpu)"));
  EXPECT_EQ(note("abacus"), "");
}

}  // namespace
}  // namespace assay::plugin::test
