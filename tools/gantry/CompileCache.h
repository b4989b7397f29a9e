// Plans of graphs that were compiled before, so that `gantry run model.onnx` compiles once.
//
// A plan is kept under the hash of all that decides it and is known before: the graph's bytes, its
// name and folder, the flags, the compiler library, what this machine's CPU can do. What shows only
// while compiling lies beside it and is compared: files that were read besides, values of inputs
// that decide shapes. Lines that the compiler printed are printed again.
//
//   KEY.names           which inputs decide shapes, one a line
//   KEY[-VALUES].json   what was compared and printed; touched at each use
//   KEY[-VALUES].gantry the plan
//   KEY.cubin           machine code of GPUs, which the compiler keeps there (--code-cache)
//
// The folder is GANTRY_CACHE_DIR, else gantry in XDG_CACHE_HOME or ~/.cache; only its owner may
// write there, since plans hold machine code. Plans that were not used for longest go when all take
// more than GANTRY_CACHE_SIZE.
#pragma once

#include "Compiler.h"
#include "Options.h"

#include "gantry/Plan/PlanFile.h"

#include <optional>
#include <string>
#include <vector>

namespace gantry::tool {

class CompileCache {
public:
  /// For this request; none when it must be compiled (a flag that writes or prints), when the user
  /// wants none (--no-cache, GANTRY_CACHE_SIZE=0), or when there is no folder to keep plans in.
  /// INVALID_ARGUMENT for a GANTRY_CACHE_SIZE that is no size.
  static Expected<std::optional<CompileCache>> of(const Options &options,
                                                  const CompileRequest &request);

  struct Hit {
    plan::PlanFile file; ///< its bytes are not verified yet
    std::vector<std::string> shapeValues;
    std::vector<CompilerLine> lines;
  };
  /// The plan that was kept for the request and these candidates. An entry that cannot be read is
  /// removed.
  std::optional<Hit> find(const std::vector<ShapeInput> &candidates) const;

  /// Keeps what was made of the request. Nothing is said when it cannot: the plan is there anyway.
  void keep(const Artifact &artifact, const std::vector<CompilerLine> &lines,
            const std::vector<ShapeInput> &candidates) const;

  /// Removes the entry, which turned out to be damaged.
  void forget(const std::vector<ShapeInput> &candidates) const;

private:
  /// Path without ending; none when a value is missing, or it is not known which are needed.
  std::optional<std::string> entryFor(const std::vector<std::string> &names,
                                      const std::vector<ShapeInput> &candidates) const;
  std::optional<std::string> entryFor(const std::vector<ShapeInput> &candidates) const;

  std::string folder, key;
  std::string request; ///< in words
  uint64_t limit = 0;  ///< bytes of all plans
};

/// The folder for --code-cache, with room made in it; empty where plans are not kept either, and
/// where no machine code for GPUs is asked for.
/// INVALID_ARGUMENT for a GANTRY_CACHE_SIZE that is no size.
Expected<std::string> folderForCode(const Options &options);

/// What `gantry cache` shows and clears.
struct CacheContents {
  std::string folder; ///< empty: there is none
  uint64_t limit = 0, bytes = 0;
  struct Entry {
    std::string graph;
    uint64_t bytes = 0;
    int64_t usedSecondsAgo = 0;
  };
  std::vector<Entry> entries; ///< the last used first
  size_t numCubins = 0;       ///< their bytes are in `bytes`

  static Expected<CacheContents> read();
  /// Removes everything.
  static Status clear();
};

} // namespace gantry::tool
