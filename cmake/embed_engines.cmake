# Writes OUTPUT, a C++ source with the files of FILES (below ROOT) as string literals: engines/*/engine.json are part of the
# program.
set(entries "")
foreach(file IN LISTS FILES)
  file(RELATIVE_PATH name "${ROOT}" "${file}")
  file(READ "${file}" content)
  string(APPEND entries "      {\"${name}\", R\"json(${content})json\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by cmake/embed_engines.cmake.
#include \"core/traits/own_engine_files.hpp\"

namespace assay {
const std::vector<std::pair<std::string_view, std::string_view>>& own_engine_files() {
  static const std::vector<std::pair<std::string_view, std::string_view>> files{
${entries}  };
  return files;
}
}  // namespace assay
")
