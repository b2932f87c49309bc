// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/result/hardware_words.hpp"

namespace assay {
namespace {
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

/// A machine with a processor, and engines that answer what a test says.
class Targets : public ::testing::Test {
 protected:
  Targets() {
    for (const std::string& word : hardware_words()) {
      HardwareEntry entry;
      entry.word = word;
      entry.available = word == "cpu";
      if (!entry.available) {
        entry.reason_code = Reason::kNoHardware;
        entry.why_not = "there is no " + word;
      }
      machine_.entries.push_back(std::move(entry));
    }
    engines_["onnxruntime"] = {{"cpu", "cpu", "the processor", 0, 1}};
    engines_["openvino"] = {{"CPU", "cpu", "the processor", 0, 1}};
  }

  FoundEngine look(const std::string& name) {
    asked_.push_back(name);
    FoundEngine found;
    found.entry = *registry_.entry(name);
    const auto known = engines_.find(name.substr(0, name.find('@')));
    found.available = known != engines_.end();
    found.why_not = found.available ? "" : name + " is not installed";
    if (found.available) found.devices = known->second;
    found.notes = notes_;
    return found;
  }
  Result<std::vector<Target>> resolve(const TargetRequest& request) {
    asked_.clear();
    return resolve_targets(request, registry_, machine_, [this](const std::string& name) { return look(name); });
  }
  using Words = std::vector<std::string>;
  /// "cuda libtorch" of each target, and the notes. `word`: the preferred hardware, or "".
  std::pair<Words, Words> preferred(const std::string& word, const TargetRequest& request, const Words& order = {}) {
    const auto probe = [this](const std::string& name) { return look(name); };
    const auto found = word.empty() ? resolve_first(order, request, registry_, machine_, probe)
                                    : resolve_preferred(word, order, request, registry_, machine_, probe);
    if (!found) return {{to_string(found.error())}, {}};
    std::vector<std::string> words;
    for (const Target& target : found->targets) words.push_back(target.hardware + " " + target.engine);
    return {words, found->notes};
  }
  /// "cpu onnxruntime cpu", or the reason of a refusal in place of the device.
  std::vector<std::string> words_of(const TargetRequest& request) {
    std::vector<std::string> words;
    const auto targets = resolve(request);
    EXPECT_TRUE(targets) << to_string(targets.error());
    for (const Target& target : targets.value_or(std::vector<Target>()))
      words.push_back(target.hardware + " " + target.engine + " " +
                      (target.runnable() ? target.device.id : std::string(to_string(target.refusal->reason_code))));
    return words;
  }

  EngineRegistry registry_{EngineRegistry::Places{}};
  Hardware machine_;
  std::map<std::string, std::vector<EngineDevice>> engines_;
  EngineOptions notes_;  ///< notes that every engine reports
  std::vector<std::string> asked_;
};

TEST_F(Targets, WithNothingAskedForOnlyWhatIsHereAppears) {
  EXPECT_THAT(words_of({}), ElementsAre("cpu onnxruntime cpu"));
}

TEST_F(Targets, HardwareThatIsAskedForAndNotHereSaysSoAndNoRuntimeIsLoadedForIt) {
  TargetRequest request;
  request.hardware = {"cuda", "cpu"};
  EXPECT_THAT(words_of(request), ElementsAre("cuda onnxruntime no_hardware", "cpu onnxruntime cpu"));
  EXPECT_THAT(asked_, ElementsAre("onnxruntime"));
  request.hardware = {"cuda"};
  EXPECT_THAT(words_of(request), ElementsAre("cuda onnxruntime no_hardware"));
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(Targets, AWrongDeviceIsAnsweredWithTheNearest) {
  TargetRequest request;
  request.engines = {"openvino"};
  request.hardware = {"cpu"};
  request.device = "CPU.0";
  const auto targets = resolve(request);
  ASSERT_TRUE(targets && targets->size() == 1 && targets->front().refusal);
  EXPECT_EQ(targets->front().refusal->message, "openvino has no cpu device 'CPU.0' (it has: CPU)");
  EXPECT_EQ(targets->front().refusal->hint, "did you mean CPU?");
  request.device = "cpu";
  EXPECT_THAT(words_of(request), ElementsAre("cpu openvino CPU"));
}

TEST_F(Targets, HardwareForWhichAnEngineHasNoDeviceIsAnsweredWithWhatItFound) {
  for (HardwareEntry& entry : machine_.entries) entry.available = entry.available || entry.word == "cuda";
  notes_ = {{"tpu", "no plug-in for it"}, {"cuda", "found a plug-in"}};
  TargetRequest request;
  request.engines = {"onnxruntime"};
  request.hardware = {"cuda"};
  const auto targets = resolve(request);
  ASSERT_TRUE(targets && targets->size() == 1 && targets->front().refusal);
  EXPECT_THAT(targets->front().refusal->message, HasSubstr("no cuda device here (it has: cpu); found a plug-in"));
}

TEST_F(Targets, EachEngineIsAskedOnce) {
  machine_.entries[0].available = true;
  TargetRequest request;
  request.hardware = {"cpu", "openvino"};
  request.engines = {"onnxruntime", "openvino"};
  static_cast<void>(words_of(request));
  EXPECT_THAT(asked_, ElementsAre("onnxruntime", "openvino"));
}

TEST_F(Targets, ARuntimeThatIsMissingIsUnavailable) {
  engines_.clear();
  TargetRequest request;
  request.hardware = {"cpu"};
  EXPECT_THAT(words_of(request), ElementsAre("cpu onnxruntime no_runtime"));
  EXPECT_THAT(resolve(request)->at(0).refusal->message, HasSubstr("onnxruntime is not installed"));
  EXPECT_THAT(resolve(request)->at(0).refusal->hint, IsEmpty()) << "without a plug-in the runtime would help nobody";
}

TEST_F(Targets, WithNothingThatRunsTheHardwareThatIsHereSaysWhatIsMissing) {
  engines_.clear();
  EXPECT_THAT(words_of({}), ElementsAre("cpu onnxruntime no_runtime"));
}

TEST_F(Targets, ADeviceIsChosenByItsScoreOrItsName) {
  engines_["openvino"] = {{"CPU", "cpu", "the processor", 0, 1},
                          {"GPU.0", "openvino", "small", 0, 2},
                          {"GPU.1", "openvino", "large", 0, 3}};
  for (HardwareEntry& entry : machine_.entries) entry.available = entry.available || entry.word == "openvino";
  TargetRequest request;
  request.hardware = {"openvino"};
  EXPECT_THAT(words_of(request), ElementsAre("openvino openvino GPU.1"));
  request.device = "gpu.0";
  EXPECT_THAT(words_of(request), ElementsAre("openvino openvino GPU.0"));
  request.device = "GPU.7";
  EXPECT_THAT(resolve(request)->at(0).refusal->message, HasSubstr("no openvino device 'GPU.7' (it has: GPU.0, GPU.1)"));
  EXPECT_THAT(resolve(request)->at(0).refusal->hint, HasSubstr("GPU.0"));
  // A row says which hardware was measured: a device of another one is refused.
  request.hardware = {"cpu"};
  request.engines = {"openvino"};
  request.device = "GPU.1";
  EXPECT_THAT(words_of(request), ElementsAre("cpu openvino no_runtime"));
  EXPECT_THAT(resolve(request)->at(0).refusal->hint, HasSubstr("--hardware openvino"));
}

TEST_F(Targets, PreferredHardwareIsUsedIfItCanRunElseANoteSaysWhatIsAndWhy) {
  engines_["libtorch"] = {{"cpu", "cpu", "the processor", 0, 1}};
  TargetRequest cpu, two, one;
  cpu.hardware = {"cpu"};
  two.engines = {"libtorch", "openvino"};
  one.engines = {"onnxruntime"};
  EXPECT_THAT(preferred("cpu", {}), Pair(ElementsAre("cpu onnxruntime"), IsEmpty()));
  EXPECT_THAT(
      preferred("cuda", cpu),
      Pair(ElementsAre("cpu onnxruntime"),
           ElementsAre("--device-prefer: cuda is not available (there is no cuda); cpu of onnxruntime is used")));

  for (HardwareEntry& entry : machine_.entries) entry.available = entry.available || entry.word == "cuda";
  engines_["libtorch"].push_back({"cuda:0", "cuda", "a GPU", 0, 1});
  EXPECT_THAT(preferred("cuda", two),
              Pair(ElementsAre("cuda libtorch", "cpu openvino"),
                   ElementsAre("--device-prefer: cuda is not available (the engine 'openvino' does not support it); "
                               "cpu of openvino is used")));
  EXPECT_THAT(preferred("cuda", one),  // the hardware is here, and the runtime cannot use it
              Pair(ElementsAre("cpu onnxruntime"), ElementsAre(HasSubstr("offers no cuda device"))));
}

TEST_F(Targets, TheFirstHardwareThatARuntimeCanUseIsChosen) {
  const Words order{"cuda", "rocm", "cpu"};
  EXPECT_THAT(preferred("", {}, order), Pair(ElementsAre("cpu onnxruntime"), IsEmpty()));
  // A driver is here, and no runtime for it.
  for (HardwareEntry& entry : machine_.entries) entry.available = entry.available || entry.word == "cuda";
  EXPECT_THAT(
      preferred("", {}, order),
      Pair(ElementsAre("cpu onnxruntime"),
           ElementsAre(AllOf(HasSubstr("has cuda, but no runtime for it (onnxruntime"), EndsWith("; cpu is used")))));
  EXPECT_THAT(preferred("cuda", {}, order),
              Pair(ElementsAre("cpu onnxruntime"), ElementsAre(EndsWith("; cpu of onnxruntime is used"))));
  EXPECT_THAT(preferred("", {}, {"cuda", "rocm"}), Pair(ElementsAre("cuda onnxruntime"), IsEmpty()))
      << "its row says why it does not run";
  engines_["onnxruntime"].push_back({"cuda:0", "cuda", "a GPU", 0, 1});
  EXPECT_THAT(preferred("", {}, order), Pair(ElementsAre("cuda onnxruntime"), IsEmpty()));
  EXPECT_THAT(preferred("rocm", {}, order), Pair(ElementsAre("cuda onnxruntime"), SizeIs(1)));
}

TEST_F(Targets, AnEngineThatIsPlannedIsNotBuilt) {
  TargetRequest request;
  request.engines = {"browser"};
  EXPECT_THAT(words_of(request), ElementsAre("cpu browser not_built"));
}

TEST_F(Targets, UnknownWordsAreTheUsersMistake) {
  TargetRequest request;
  request.hardware = {"cudda"};
  EXPECT_EQ(resolve(request).error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(resolve(request).error().hint, HasSubstr("did you mean cuda"));
  request.hardware = {};
  request.engines = {"onnxruntme"};
  EXPECT_THAT(resolve(request).error().hint, HasSubstr("onnxruntime"));
  request.engines = {"onnxruntime"};
  request.hardware = {"tpu"};
  EXPECT_THAT(resolve(request).error().message, HasSubstr("does not support tpu"));
}

TEST_F(Targets, AllAndOtherSpellingsAreWords) {
  TargetRequest request;
  request.hardware = {"all"};
  EXPECT_EQ(resolve(request)->size(), hardware_words().size());
  request.hardware = {"Qualcomm"};
  EXPECT_EQ(resolve(request)->at(0).hardware, "qnn");
}

}  // namespace
}  // namespace assay
