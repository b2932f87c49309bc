// SPDX-License-Identifier: Apache-2.0
#include "app/cli/failure.hpp"

#include <cstdio>
#include <utility>

#include "core/base/text.hpp"
#include "show/report/format.hpp"

namespace assay::cli {
namespace {

TypedNames& typed_names() {
  static TypedNames names;
  return names;
}

}  // namespace

Failure failure_of(const Error& error) {
  return {std::string(to_string(error.code)), error.message, error.hint, error.context};
}

Json to_json(const Failure& failure) {
  return {{"code", failure.code},
          {"message", failure.message},
          {"context", failure.context},
          {"hint", failure.hint.empty() ? Json(nullptr) : Json(failure.hint)}};
}

Json to_json(const std::vector<Error>& errors) {
  Json list = Json::array();
  for (const Error& error : errors) list.push_back(to_json(failure_of(error)));
  return list;
}

void print_document(const Json& content) {
  Json document{{"schema_version", kReportSchema}};
  document.update(content);
  // Paths and arguments may have bytes that are not UTF-8.
  std::printf("%s\n", json_text(document, 2).c_str());
}

void name_options_as_typed(TypedNames names) { typed_names() = std::move(names); }

void print_failure(const Failure& given, bool json) {
  const TypedNames& names = typed_names();
  Failure failure{given.code, names.apply(given.message), names.apply(given.hint), given.context};
  for (std::string& line : failure.context) line = names.apply(line);
  std::fprintf(stderr, "error[%s]: %s\n", failure.code.c_str(), sanitise(failure.message).c_str());
  for (const std::string& line : failure.context) std::fprintf(stderr, "  %s\n", sanitise(line).c_str());
  if (!failure.hint.empty()) std::fprintf(stderr, "  hint: %s\n", sanitise(failure.hint).c_str());
  if (json) print_document({{"error", to_json(failure)}});
}

}  // namespace assay::cli
