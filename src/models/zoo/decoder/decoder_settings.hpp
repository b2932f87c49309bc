// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <assay/result.hpp>

#include "models/zoo/decoder/decoder.hpp"

namespace assay::zoo {

/// The variations of an architecture as one configuration has them: conditions decided, "=key" replaced by the
/// configuration's value of that key.
class DecoderSettings {
 public:
  explicit DecoderSettings(const Config& config);
  /// Errors: unsupported, for a value that is not built together with the others.
  [[nodiscard]] Status check() const;

  [[nodiscard]] const DecoderVariations* operator->() const { return &data_; }

  /// The value as it stands, null if there is none.
  [[nodiscard]] Json value(const IntegerSetting& setting) const;
  // nullopt, 1, false and "" for null and for a value of another type.
  [[nodiscard]] std::optional<std::int64_t> optional(const IntegerSetting& setting) const;
  [[nodiscard]] std::optional<float> optional(const NumberSetting& setting) const;
  [[nodiscard]] float number(const NumberSetting& setting) const { return optional(setting).value_or(1.0F); }
  [[nodiscard]] bool flag(const FlagSetting& setting) const;
  [[nodiscard]] std::string text(const TextSetting& setting) const;
  /// Bug: there is none.
  [[nodiscard]] std::int64_t integer(const IntegerSetting& setting) const;

 private:
  const Config& config_;
  DecoderVariations data_;
  std::string refused_;
};

/// What each layer does: windows, rotations, scales; and the rotations themselves. Errors: unsupported,
/// invalid_argument.
[[nodiscard]] Status read_decoder_layers(const Config& config, const DecoderSettings& settings, DecoderSpec& spec);

}  // namespace assay::zoo
