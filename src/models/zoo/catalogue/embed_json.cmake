# Writes OUTPUT, a C++ source with the JSON files of FILES as string literals: the program needs no file at run time.
set(entries "")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" content)
  string(APPEND entries "    {\"${name}\", R\"json(${content})json\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by src/models/zoo/catalogue/embed_json.cmake from zoo/*.json.
#pragma GCC diagnostic ignored \"-Woverlength-strings\"  // GCC and Clang have no limit
#include \"models/zoo/catalogue/embedded.hpp\"

namespace assay::zoo {
const std::map<std::string, std::string_view>& embedded_files() {
  static const std::map<std::string, std::string_view> files = {
${entries}  };
  return files;
}
}  // namespace assay::zoo
")
