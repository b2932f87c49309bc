# assay_embed_binary(OUT NAME FILE): sets OUT to a source that contains the bytes of FILE and defines
# `std::string_view assay::embedded::NAME()`, which its user declares. FILE may be built: name it in OUTPUT of a custom command.
function(assay_embed_binary out name file)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
// Made by cmake/embed_binary.cmake.
#include <cstddef>
#include <string_view>

asm(R"(.pushsection .rodata
.balign 16
.hidden assay_embedded_@name@
.global assay_embedded_@name@
assay_embedded_@name@:
.incbin "@file@"
.hidden assay_embedded_@name@_end
.global assay_embedded_@name@_end
assay_embedded_@name@_end:
.byte 0
.popsection
)");

extern "C" {  // NOLINTBEGIN(readability-identifier-naming): the symbols above
extern const char assay_embedded_@name@[];
extern const char assay_embedded_@name@_end[];
}  // NOLINTEND(readability-identifier-naming)

namespace assay::embedded {
std::string_view @name@();
std::string_view @name@() {
  return {assay_embedded_@name@, static_cast<std::size_t>(assay_embedded_@name@_end - assay_embedded_@name@)};  // NOLINT(clang-analyzer-security.PointerSub)
}
}  // namespace assay::embedded
]])
  set_source_files_properties("${source}" PROPERTIES GENERATED TRUE OBJECT_DEPENDS "${file}" SKIP_PRECOMPILE_HEADERS ON)
  set(${out} "${source}" PARENT_SCOPE)
endfunction()
