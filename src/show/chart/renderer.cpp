// SPDX-License-Identifier: Apache-2.0
#include <duktape.h>
#include <fmt/format.h>

#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "show/chart/child.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/render.hpp"

namespace assay::embedded {
std::string_view charts_script();
}

namespace assay::chart {

// The interpreter's memory, with a limit. Each block has its size before it.
struct Heap {
  std::size_t used = 0;
  bool full = false;
};

namespace {

constexpr std::size_t kMostMemory = std::size_t{512} << 20;

struct alignas(std::max_align_t) BlockHead {
  std::size_t size;
};

void* reallocate(void* heap_pointer, void* old, duk_size_t size) {
  Heap& heap = *static_cast<Heap*>(heap_pointer);
  BlockHead* const head = old == nullptr ? nullptr : static_cast<BlockHead*>(old) - 1;
  const std::size_t before = head == nullptr ? 0 : head->size;
  if (size == 0) {
    heap.used -= before;
    std::free(head);
    return nullptr;
  }
  if (heap.used - before + size > kMostMemory) {
    heap.full = true;
    return nullptr;
  }
  auto* const made = static_cast<BlockHead*>(std::realloc(head, size + sizeof(BlockHead)));
  if (made == nullptr) {
    heap.full = true;
    return nullptr;
  }
  made->size = size;
  heap.used += size - before;
  return made + 1;
}
void* allocate(void* heap, duk_size_t size) { return size == 0 ? nullptr : reallocate(heap, nullptr, size); }
void release(void* heap, void* block) {
  if (block != nullptr) reallocate(heap, block, 0);
}

[[noreturn]] void on_fatal(void* /*heap*/, const char* message) {
  ASSAY_CHECK(false, message == nullptr ? "the script interpreter stopped" : message);
  std::abort();
}

// measure(text, font) for ECharts; a font is "bold 16px DejaVu Sans, Verdana".
duk_ret_t measure(duk_context* context) {
  duk_size_t length = 0;
  const char* text = duk_safe_to_lstring(context, 0, &length);
  const std::string font = duk_safe_to_string(context, 1);
  const std::size_t unit = font.find("px");
  std::size_t at = unit == std::string::npos ? 0 : unit;
  while (at > 0 && (std::isdigit(static_cast<unsigned char>(font[at - 1])) != 0 || font[at - 1] == '.')) --at;
  const double size = unit == std::string::npos ? 12 : std::strtod(font.c_str() + at, nullptr);
  duk_push_number(context, text_width({text, length}, size, font.find("bold") != std::string::npos));
  return 1;
}

constexpr std::string_view kHalfCapital = "dy=\"0.36em\"";

bool is_number_part(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.'; }

// "3.5999999999999996" becomes "3.6" and "12.00" "12"; also those with an exponent.
std::string rounded_number(std::string_view number) {
  std::string text = fmt::format("{:.2f}", std::strtod(std::string(number).c_str(), nullptr));
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

// Inside of tags every number has at most two decimals, and each element has a line: so that versions can be compared.
// ECharts' class names contain numbers that count instances and classes since the script was loaded: "zr3-cls-12".
std::string tidy_svg(std::string_view svg, const std::string& name) {
  std::string out;
  out.reserve(svg.size());
  bool in_tag = false;
  std::map<std::string, std::size_t> classes;  // their number to that in this picture
  constexpr std::string_view kCentral = "dominant-baseline=\"central\"";
  for (std::size_t at = 0; at < svg.size();) {
    const char c = svg[at];
    if (in_tag && svg.substr(at).starts_with(kCentral)) {
      out += kHalfCapital;
      at += kCentral.size();
      continue;
    }
    if (c == '<') in_tag = true;
    if (c == '>') in_tag = false;
    if (in_tag && svg.substr(at).starts_with("zr") && at + 2 < svg.size() &&
        std::isdigit(static_cast<unsigned char>(svg[at + 2])) != 0) {
      at += 2;
      while (std::isdigit(static_cast<unsigned char>(svg[at])) != 0) ++at;
      out += name;
      constexpr std::string_view kClass = "-cls-";
      if (svg.substr(at).starts_with(kClass)) {
        at += kClass.size();
        std::string number;
        while (std::isdigit(static_cast<unsigned char>(svg[at])) != 0) number += svg[at++];
        out += fmt::format("{}{}", kClass, classes.try_emplace(number, classes.size()).first->second);
      }
      continue;
    }
    if (in_tag && c == '#') {  // a colour: its digits are not a number
      do out += svg[at++];
      while (at < svg.size() && std::isxdigit(static_cast<unsigned char>(svg[at])) != 0);
      continue;
    }
    const bool starts = in_tag && std::isdigit(static_cast<unsigned char>(c)) != 0 &&
                        (out.empty() || std::isalnum(static_cast<unsigned char>(out.back())) == 0 ||
                         std::string_view("MLHVAQCZmlhvaqcz").find(out.back()) != std::string_view::npos);
    if (starts) {
      std::size_t end = at;
      while (end < svg.size() && is_number_part(svg[end])) ++end;
      if (end + 1 < svg.size() && svg[end] == 'e' &&
          (svg[end + 1] == '-' || std::isdigit(static_cast<unsigned char>(svg[end + 1])) != 0)) {
        end += 2;
        while (end < svg.size() && std::isdigit(static_cast<unsigned char>(svg[end])) != 0) ++end;
      }
      const std::string_view number = svg.substr(at, end - at);
      out += number.find_first_of(".e") == std::string_view::npos ? std::string(number) : rounded_number(number);
      at = end;
      continue;
    }
    out += c;
    ++at;
  }
  return out;
}

}  // namespace

struct Renderer::State {
  Heap heap;
  Limits limits;
  duk_context* context = nullptr;
  explicit State(Limits given) : limits(std::move(given)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  State(State&&) = delete;
  State& operator=(State&&) = delete;
  ~State() {
    if (context != nullptr) duk_destroy_heap(context);
  }

  // The error at the top of the stack.
  Error failure(const char* doing) {
    std::string message = duk_safe_to_string(context, -1);
    duk_pop(context);
    return {.code = heap.full ? ErrorCode::kOutOfMemory : ErrorCode::kInternal,
            .message = fmt::format("{}: {}", doing, message)};
  }

  // The text on the top of the stack after `call`, which returns 0, or an error there. The copy of the process in which
  // it runs ends afterwards, and with it what is left on the stack.
  Result<std::string> text_of(const std::function<int()>& call, const char* doing) {
    const auto work = [&]() -> Result<std::string> {
      if (call() != 0) return tl::unexpected(failure(doing));
      duk_size_t length = 0;
      const char* text = duk_safe_to_lstring(context, -1, &length);
      return std::string(text, length);
    };
    Result<std::string> text = run_in_child(work, limits.deadline, limits.cancelled);
    if (!text && text.error().code == ErrorCode::kTimeout)
      return fail(
          ErrorCode::kTimeout,
          fmt::format("{}: not finished after {} s", doing, std::chrono::duration<double>(limits.deadline).count()),
          "draw fewer results: options such as --model and --since select");
    return text;
  }

  Status load(std::string_view script) {
    duk_push_c_function(context, measure, 2);
    duk_put_global_string(context, "measure");
    if (duk_peval_string(context, "var self = this; function setTimeout() { return 0; } function clearTimeout() {}") !=
        0)
      return tl::unexpected(failure("the script interpreter could not be prepared"));
    duk_pop(context);
    // Compiled as a program: with eval, names of a strict script would not be global.
    if (duk_pcompile_lstring(context, 0, script.data(), script.size()) != 0 || duk_pcall(context, 0) != 0)
      return tl::unexpected(failure("the script of charts could not be loaded"));
    duk_pop(context);
    return {};
  }
};

Renderer::Renderer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Renderer::Renderer(Renderer&&) noexcept = default;
Renderer& Renderer::operator=(Renderer&&) noexcept = default;
Renderer::~Renderer() = default;

Result<Renderer> Renderer::create(Limits limits) {
  auto state = std::make_unique<State>(std::move(limits));
  state->context = duk_create_heap(allocate, reallocate, release, &state->heap, on_fatal);
  if (state->context == nullptr)
    return fail(ErrorCode::kOutOfMemory, "the script interpreter that draws charts could not get memory");
  ASSAY_CHECK_OK(state->load(embedded::charts_script()));
  return Renderer(std::move(state));
}

Result<std::string> Renderer::svg(const Chart& chart, const Theme& theme) {
  ASSAY_CHECK(!chart.option.is_null(), "a chart without data is not drawn");
  const std::string option = json_text(chart.option), tokens = json_text(theme.tokens);
  const auto render = [&, context = state_->context] {
    duk_get_global_string(context, "assayCharts");
    duk_push_string(context, "renderText");
    duk_push_lstring(context, option.data(), option.size());
    duk_push_lstring(context, tokens.data(), tokens.size());
    duk_push_int(context, chart.width);
    duk_push_int(context, chart.height);
    duk_get_global_string(context, "measure");
    return duk_pcall_prop(context, -7, 5);
  };
  ASSAY_TRY(const std::string drawn, state_->text_of(render, ("while drawing the chart " + chart.name).c_str()));
  std::string svg = tidy_svg(drawn, theme.name == "light" ? chart.name : chart.name + "-" + std::string(theme.name));
  const std::size_t head = svg.find('>') + 1;
  svg.insert(head, fmt::format("\n<title>{}</title>\n<desc>{}</desc>", escaped(chart.title), escaped(chart.summary)));
  svg.insert(4, " role=\"img\"");
  return svg + "\n";
}

Result<Json> Renderer::call(std::string_view function, const Json& argument) {
  const std::string code =
      fmt::format("JSON.stringify(assayCharts.{}({}))", function, argument.is_null() ? "" : json_text(argument));
  const auto evaluate = [&] { return duk_peval_lstring(state_->context, code.data(), code.size()); };
  ASSAY_TRY(const std::string text, state_->text_of(evaluate, "while calling a function of the charts' script"));
  return parse_json(text, "the script's answer");
}

}  // namespace assay::chart
