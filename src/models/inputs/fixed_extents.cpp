// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/fixed_extents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <vector>

#include "core/base/shell.hpp"
#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "models/inputs/input_axes.hpp"

namespace assay {
namespace {

constexpr std::int64_t kSomeLength = 127;  // sums and multiples of it are other numbers

std::string symbol_of(const ModelValue& input, std::size_t axis) {
  const std::string symbol = axis < input.symbols.size() ? lower(trim(input.symbols[axis])) : std::string();
  return symbol == "?" ? std::string() : symbol;  // some exporters write it for every open extent
}

// The symbols in a sum: "past_length + 2 * length" has two.
std::vector<std::string> terms_of(const std::string& symbol) {
  std::vector<std::string> terms;
  for (const std::string& part : split(symbol, '+'))
    terms.emplace_back(trim(std::string_view(part).substr(0, part.find_first_of("*/"))));
  return terms;
}

// nullptr: not given.
template <class Fixed>
auto extent_in(Fixed& fixed, const ModelValue& input, std::size_t axis) -> decltype(&fixed.symbols.begin()->second) {
  if (input.shape[axis] >= 0) return nullptr;
  if (const auto place = fixed.places.find({input.name, axis}); place != fixed.places.end()) return &place->second;
  const auto symbol = fixed.symbols.find(symbol_of(input, axis));
  return symbol == fixed.symbols.end() ? nullptr : &symbol->second;
}

/// What each extent is without given shapes: the batch, the sequence length, or something else.
class Roles {
 public:
  explicit Roles(const ModelInfo& model) {
    ExtentBinder binder({.batch = 1, .sequence = kSomeLength});
    for (const ModelValue& input : model.inputs)
      for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
        const auto bound = binder.bind(input, axis);
        Role role{bound.has_value(), bound && bound->batch, bound && bound->sequence && bound->extent == kSomeLength,
                  bound && bound->sequence};
        if (role.sequence && !first_sequence_ && input.shape[axis] < 0) first_sequence_ = symbol_of(input, axis);
        roles_[{input.name, axis}] = role;
      }
  }
  struct Role {
    bool known = false, batch = false, sequence = false;
    bool of_sequence = false;  ///< the sequence length, or a sum or multiple of it
  };
  [[nodiscard]] Role of(const ModelValue& input, std::size_t axis) const { return roles_.at({input.name, axis}); }
  /// The symbol of the first sequence axis; "" if it has none.
  [[nodiscard]] std::string first_sequence() const { return first_sequence_.value_or(""); }

 private:
  std::map<std::pair<std::string, std::size_t>, Role> roles_;
  std::optional<std::string> first_sequence_;
};

/// Binds given shapes to a model.
class Fixing {
 public:
  explicit Fixing(const ModelInfo& model) : model_(model), roles_(model) {}

  Status add(const GivenShape& shape) {
    const std::string option = option_text(shape);
    const auto input = std::ranges::find(model_.inputs, shape.input, &ModelValue::name);
    if (input == model_.inputs.end())
      return refuse(fmt::format("{}: the model has no input {}", option, shown(shape.input)), input_hint(shape.input));
    if (shape.dtype != DType::kUndefined && input->dtype != DType::kUndefined && shape.dtype != input->dtype)
      return refuse(fmt::format("{}: the input {} is {}", option, shown(shape.input), to_string(input->dtype)),
                    "leave out the type, which is needed for files that do not say it");
    if (shape.extents.size() != input->shape.size())
      return refuse(fmt::format("{}: it has {}, the input {} has {}", option, counted(shape.extents.size(), "extent"),
                                shown(shape.input), input->shape.size()),
                    "");
    for (std::size_t axis = 0; axis < shape.extents.size(); ++axis) {
      const std::int64_t given = shape.extents[axis], own = input->shape[axis];
      if (own >= 0 && given >= 0 && own != given)
        return refuse(fmt::format("{}: extent {} of the input {} is fixed at {} in the model", option, axis + 1,
                                  shown(shape.input), own),
                      "");
      if (own < 0 && given != kOpenExtent) ASSAY_CHECK_OK(fix(*input, axis, given, option));
    }
    return {};
  }

  Status add(const GivenExtent& extent) {
    const std::string option = option_text(extent), wanted = lower(extent.symbol);
    bool found = false, in_sum = false;
    std::set<std::string> symbols;
    for (const ModelValue& input : model_.inputs)
      for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
        const std::string symbol = symbol_of(input, axis);
        if (input.shape[axis] >= 0 || symbol.empty()) continue;
        symbols.insert(std::string(trim(input.symbols[axis])));
        if (symbol == wanted) {
          found = true;
          ASSAY_CHECK_OK(fix(input, axis, extent.extent, option));
        } else if (std::ranges::count(terms_of(symbol), wanted) > 0) {
          in_sum = true;
        }
      }
    if (!found && !in_sum)
      return refuse(fmt::format("{}: no open extent of the model is named '{}'", option, extent.symbol),
                    symbols.empty() ? "its open extents have no names: use --shape"
                                    : did_you_mean(extent.symbol, {symbols.begin(), symbols.end()}));
    return add_term(wanted, extent.extent, option);
  }

  FixedExtents done() && {
    settle_batch();
    settle_sequence();
    return std::move(fixed_);
  }

 private:
  // The extents of an input, with the option that gave them.
  Status fix(const ModelValue& input, std::size_t axis, std::int64_t given, const std::string& option) {
    const Roles::Role role = roles_.of(input, axis);
    FixedExtents::Extent extent{given, role.batch, role.sequence};
    if (given == kBatchExtent) extent = {given, true, false}, follows_batch_ = true;
    if (given == kSequenceExtent) extent = {given, false, true}, follows_sequence_ = true;
    const std::string symbol = symbol_of(input, axis);
    if (symbol.empty()) {
      fixed_.places[{input.name, axis}] = extent;
      return {};
    }
    const auto [there, added] = fixed_.symbols.emplace(symbol, extent);
    if (!added && there->second.value != given)
      return refuse(fmt::format("{} and {} contradict each other: both are the extent '{}'", given_by_[symbol], option,
                                trim(input.symbols[axis])),
                    "");
    given_by_.emplace(symbol, option);
    return given > 0 ? add_term(symbol, given, option) : Status();
  }

  Status add_term(const std::string& term, std::int64_t value, const std::string& option) {
    const auto [there, added] = fixed_.terms.emplace(term, value);
    if (added || there->second == value) return given_by_.emplace(term, option), Status();
    return refuse(
        fmt::format("{} and {} contradict each other: both are the extent '{}'", given_by_[term], option, term), "");
  }

  template <class Use>
  void for_each_fixed(Use use) {
    for (const ModelValue& input : model_.inputs)
      for (std::size_t axis = 0; axis < input.shape.size(); ++axis)
        if (FixedExtents::Extent* extent = extent_in(fixed_, input, axis)) use(*extent, symbol_of(input, axis));
  }

  void settle_batch() {
    for_each_fixed([&](FixedExtents::Extent& extent, const std::string&) {
      if (!extent.batch || extent.value < 0) return;
      if (!follows_batch_ && !fixed_.batch) fixed_.batch = extent.value;
      extent.batch = fixed_.batch == extent.value;
    });
  }

  void settle_sequence() {
    const std::string first = roles_.first_sequence();
    for_each_fixed([&](FixedExtents::Extent& extent, const std::string& symbol) {
      if (!extent.sequence || extent.value < 0) return;
      const bool of_model = symbol.empty() || first.empty() || symbol == first;
      if (!follows_sequence_ && !fixed_.sequence && of_model) fixed_.sequence = extent.value;
      extent.sequence = of_model && fixed_.sequence == extent.value;
    });
  }

  [[nodiscard]] Status refuse(const std::string& message, std::string hint) const {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}; the inputs: {}", message, inputs_text(model_)),
                std::move(hint));
  }

  [[nodiscard]] std::string input_hint(const std::string& name) const {
    std::vector<std::string> names;
    for (const ModelValue& input : model_.inputs) names.push_back(input.name);
    return did_you_mean(name, names);
  }

  const ModelInfo& model_;
  Roles roles_;
  FixedExtents fixed_;
  std::map<std::string, std::string> given_by_;  // options, by symbol
  bool follows_batch_ = false, follows_sequence_ = false;
};

// A name for an open extent in a shape that is to be completed: H and W of images, else the symbol in capitals.
std::string place_name(const ModelValue& input, std::size_t axis) {
  const std::string symbol = symbol_of(input, axis);
  const bool plain = !symbol.empty() && !is_generated_symbol(symbol) &&
                     std::isalpha(static_cast<unsigned char>(symbol.front())) != 0 &&
                     std::ranges::all_of(symbol, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (role_of(input) == InputRole::kImage && input.shape.size() == 4) {
    const bool channels_last = input.shape[3] == 1 || input.shape[3] == 3;
    return std::string(1, (channels_last ? "NHWC" : "NCHW")[axis]);
  }
  if (!plain || symbol == "b" || symbol == "s") return "N";
  std::string name = symbol;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

// "--dim height=N"; "" for symbols that an exporter made up, and for sums.
std::string dim_option(const ModelValue& input, std::size_t axis) {
  const std::string symbol = axis < input.symbols.size() ? std::string(trim(input.symbols[axis])) : std::string();
  if (symbol.empty() || is_generated_symbol(lower(symbol)) || symbol.find_first_of(",=+*/") != std::string::npos)
    return {};
  return "--dim " + shell_quoted(symbol + "=N");
}

}  // namespace

const FixedExtents::Extent* FixedExtents::find(const ModelValue& input, std::size_t axis) const {
  return extent_in(*this, input, axis);
}

Result<FixedExtents> fix_extents(const ModelInfo& model, const GivenShapes& given) {
  if (given.empty()) return FixedExtents{};
  Fixing fixing(model);
  for (const GivenShape& shape : given.shapes) ASSAY_CHECK_OK(fixing.add(shape));
  for (const GivenExtent& extent : given.extents) ASSAY_CHECK_OK(fixing.add(extent));
  return std::move(fixing).done();
}

ModelInfo with_given_ranks(ModelInfo model, const GivenShapes& given) {
  for (ModelValue& input : model.inputs) {
    const auto shape = std::ranges::find(given.shapes, input.name, &GivenShape::input);
    if (input.has_rank || shape == given.shapes.end()) continue;
    input.has_rank = true;
    input.shape.assign(shape->extents.size(), -1);
    input.symbols.assign(shape->extents.size(), "");
  }
  return model;
}

std::string inputs_text(const ModelInfo& model) {
  std::vector<std::string> inputs;
  for (const ModelValue& input : model.inputs) {
    std::vector<std::string> extents;
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      const bool named = axis < input.symbols.size() && !trim(input.symbols[axis]).empty();
      extents.push_back(input.shape[axis] >= 0 ? std::to_string(input.shape[axis])
                        : named                ? std::string(trim(input.symbols[axis]))
                                               : "?");
    }
    inputs.push_back(fmt::format("{} {} {}", one_line(input.name), to_string(input.dtype),
                                 input.has_rank ? "[" + one_line(join(extents, ", ")) + "]" : "of unknown rank"));
  }
  return inputs.empty() ? "none" : join(inputs, ", ");
}

std::string given_text(const ModelInfo& model, const FixedExtents& fixed) {
  if (fixed.places.empty() && fixed.symbols.empty()) return {};
  const Roles roles(model);
  std::vector<std::string> inputs;
  for (const ModelValue& input : model.inputs) {
    bool given = false;
    std::vector<std::string> extents;
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      const FixedExtents::Extent* extent = fixed.find(input, axis);
      given = given || (extent != nullptr && !extent->batch && !extent->sequence);
      const Roles::Role role = roles.of(input, axis);
      if (input.shape[axis] >= 0)
        extents.push_back(std::to_string(input.shape[axis]));
      else if (extent != nullptr ? extent->batch : role.batch)
        extents.emplace_back("B");
      else if (extent != nullptr ? extent->sequence : role.sequence)
        extents.emplace_back("S");
      else
        extents.push_back(extent == nullptr ? "?" : std::to_string(extent->value));
    }
    if (given) inputs.push_back(fmt::format("{}:{}", input.name, join(extents, "x")));
  }
  return join(inputs, ",");
}

std::string given_text(const std::vector<GivenShape>& shapes, std::optional<std::int64_t> batch) {
  std::vector<std::string> inputs;
  for (GivenShape shape : shapes) {
    if (!shape.extents.empty() && batch == shape.extents.front()) shape.extents.front() = kBatchExtent;
    shape.dtype = DType::kUndefined;
    if (std::ranges::any_of(shape.extents, [](std::int64_t extent) { return extent > 0; }))
      inputs.push_back(option_value(shape));
  }
  return join(inputs, ",");
}

std::string shape_options(const ModelInfo& model, const FixedExtents& fixed, OpenExtents which) {
  const Roles roles(model);
  std::vector<std::string> shapes, dims;
  bool all_named = true;
  for (const ModelValue& input : model.inputs) {
    if (!input.has_rank) continue;
    bool open = false;
    std::vector<std::string> extents;
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      const FixedExtents::Extent* extent = fixed.find(input, axis);
      const Roles::Role role = roles.of(input, axis);
      if (input.shape[axis] >= 0 || (extent != nullptr && !extent->batch && !extent->sequence)) {
        extents.push_back(std::to_string(extent != nullptr ? extent->value : input.shape[axis]));
      } else if (role.batch || (extent != nullptr && extent->batch)) {
        extents.emplace_back("B");
      } else if (which != OpenExtents::kEvery && (role.sequence || (extent != nullptr && extent->sequence))) {
        extents.emplace_back("S");
      } else {
        extents.push_back(place_name(input, axis));
        if (which == OpenExtents::kWithoutRule ? role.known : which == OpenExtents::kByRule && role.of_sequence)
          continue;
        open = true;
        const std::string dim = dim_option(input, axis);
        all_named = all_named && !dim.empty();
        if (std::ranges::find(dims, dim) == dims.end()) dims.push_back(dim);
      }
    }
    if (open) shapes.push_back("--shape " + shell_quoted(fmt::format("{}:{}", input.name, join(extents, "x"))));
  }
  if (shapes.empty()) return {};
  return join(shapes, " ") + (all_named ? ", or " + join(dims, " ") : "");
}

}  // namespace assay
