// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json_object.hpp"
#include "models/zoo/catalogue/architecture.hpp"
#include "models/zoo/catalogue/skeleton_spec.hpp"

namespace assay::zoo {

using Documents = std::map<std::string, JsonDocument>;

/// The files of zoo/ that are not architectures.
[[nodiscard]] const std::set<std::string>& shared_files();

/// Reads architectures: a file's own keys over those of the files and blocks that it extends.
/// Lifetime: the documents and `statements` must outlive the reader.
class ArchitectureFiles {
 public:
  /// Errors: invalid_argument, in the files that all share (keys, layouts).
  [[nodiscard]] static Result<ArchitectureFiles> over(const Documents& documents, std::vector<Statement*>& statements);

  /// The architecture of the file `name`. Errors: invalid_argument, with file and line.
  [[nodiscard]] Result<Architecture> read(const std::string& name);

 private:
  /// A file, or a block of blocks.json, with what must be known before its keys are read.
  struct Source {
    std::string file, block;  ///< block "": the whole file
    const JsonDocument* document = nullptr;
    bool own = false;  ///< the file that is read, not one that it extends

    [[nodiscard]] const Json& json() const;
    [[nodiscard]] std::string text(const std::string& key) const;
  };

  ArchitectureFiles(const Documents& documents, std::vector<Statement*>& statements)
      : documents_(&documents), statements_(&statements) {}
  [[nodiscard]] Status read_shared();
  [[nodiscard]] Status collect(const std::string& name, std::vector<Source>& sources, std::size_t depth) const;
  [[nodiscard]] Result<std::vector<std::string>> extended(const Source& source) const;
  [[nodiscard]] Status read_source(const Source& source, Architecture& made) const;
  void read_object(FileLayer& layer, ObjectReader& object, bool own, Architecture& made) const;
  void read_classes(FileLayer& layer, ObjectReader& object, Architecture& made) const;
  void read_keys(FileLayer& layer, ObjectReader& object, Architecture& made) const;
  [[nodiscard]] std::string class_name(std::string name) const;

  const Documents* documents_;
  std::vector<Statement*>* statements_;
  std::map<std::string, KeyRule> rules_;  ///< rules of keys.json
  std::map<std::string, LayerNames> layouts_;
  std::string prefix_;  ///< "class_prefix" of the architecture that is being read
};

}  // namespace assay::zoo
