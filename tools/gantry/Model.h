// FILE of the command line as a plan: read when it is one, compiled when it is a graph.
#pragma once

#include "Compiler.h"
#include "Options.h"

#include "gantry/Plan/PlanFile.h"
#include "gantry/Show/Explain.h"

#include <optional>

namespace gantry::tool {

/// What a plan is wanted for: an outline is there in a fraction of the time.
enum class Purpose { run, tell };

/// A plan, and what it took to get it.
struct Model {
  plan::PlanFile file;
  std::optional<double> compileSeconds; ///< none: FILE was a plan already
  std::vector<std::string> shapeValues; ///< the candidates that are compiled in
  double openSeconds = 0;               ///< for header and metadata of a plan
  bool isCached = false;                ///< compiled before; compileSeconds is the search for it

  /// Recognises a plan by its first bytes, whatever its name, and compiles anything else: in
  /// memory, or with large weights into a nameless file in TMPDIR, from which they are mapped. The
  /// compiler's diagnostics have been printed when this fails. Of `candidates` a graph takes the
  /// values that decide shapes. Where it fails, `printed` are the diagnostics.
  static Expected<Model> load(const Options &options, Purpose purpose,
                              std::vector<ShapeInput> candidates = {},
                              std::vector<CompilerLine> *printed = nullptr);

  /// One of two files, to tell what it does beside the `other`. Flags are for graphs; a plan beside
  /// a graph does not mind them. Only one of the two can be standard input.
  static Expected<Model> loadOfTwo(const Options &options, const std::string &file,
                                   const std::string &other);

  /// "compiled in 1.234 s"; empty for a plan.
  std::string describeCompilation() const;

  const plan::fb::Plan &plan() const { return file.plan(); }

  /// What the flags ask of it.
  show::Subject subject(const Options &options) const;
};

/// Whether FILE is a plan; false also for what cannot be read, which whoever opens it will report.
bool isPlanFile(const std::string &path);

/// Says so when there is no such file or it is a folder: that needs no compiler. "-" is a file.
Status checkIsFile(const std::string &path);

/// Says so when a file could not be written there: no such folder, a folder itself, no permission.
/// Whoever works long for a result asks first. "-" is standard output.
Status checkCanBeWritten(const std::string &path);

/// The same of all files that a command writes, the placement lock included. None of them may be
/// the graph or plan that is read, and no two the same.
Status checkOutputs(const Options &options, std::vector<std::string> files);

/// Whether it can be read only once: "-", a pipe, a terminal or other device.
bool isStream(const std::string &path);

/// What a stream holds: read at the first call, kept for the later ones.
Expected<std::span<const uint8_t>> streamContent(const std::string &path);

/// What to ask the compiler for FILE and its flags. Says first what needs no compiler: no such
/// file, a lock that cannot be written.
Expected<CompileRequest> requestFor(const Options &options);

} // namespace gantry::tool
