// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/worker/process.hpp"
#include "bench/worker/protocol.hpp"
#include "bench/worker/worker.hpp"

namespace assay {

/// The controller's side of bench/worker/protocol.hpp.
class WorkerClient final : public Worker {
 public:
  [[nodiscard]] static Result<std::unique_ptr<WorkerClient>> start(const EngineLocation& location,
                                                                   StartOptions options);

  [[nodiscard]] bool alive() override { return alive_ && !process_.ended(); }
  [[nodiscard]] int pid() const override { return process_.pid(); }
  [[nodiscard]] Result<LoadReply> load(const LoadRequest& request, std::chrono::nanoseconds timeout) override;
  [[nodiscard]] Result<BindReply> bind(const BindRequest& request, std::chrono::nanoseconds timeout) override;
  [[nodiscard]] Result<InferReply> infer(const InferRequest& request, std::chrono::nanoseconds timeout) override;
  [[nodiscard]] Result<MeasureReply> measure(const MeasureRequest& request, std::chrono::nanoseconds timeout) override;
  [[nodiscard]] Status save(const SaveRequest& request, std::chrono::nanoseconds timeout) override;
  /// The runtime's version, devices and options; opens the runtime.
  [[nodiscard]] Result<worker_protocol::Description> describe(std::chrono::nanoseconds timeout);

 private:
  WorkerClient(ChildProcess process, std::string name, StartOptions options, std::uint64_t oom_kills);
  Result<Json> exchange(const Json* request, const std::string& doing, std::chrono::nanoseconds timeout);
  template <class Reply, class Request>
  Result<Reply> call(const char* op, const std::string& doing, const Request& request,
                     std::chrono::nanoseconds timeout);
  /// Why the process ended by itself.
  Error obituary(ProcessEnd end) const;
  /// Ends the process.
  void end();
  /// The same because of a message that is not one of the protocol: nothing after it can be understood.
  tl::unexpected<Error> reject(const std::string& what, const std::string& doing);

  ChildProcess process_;
  std::string name_;  ///< "the onnxruntime worker"
  StartOptions options_;
  std::uint64_t oom_kills_;  ///< number of processes that the kernel had killed for lack of memory before the start
  bool alive_ = true;        ///< false after an exchange that failed
};

}  // namespace assay
