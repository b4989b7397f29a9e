// A function of a plan with everything bound, ready to run: what `run` and `bench` share.
#pragma once

#include "Model.h"

#include "gantry/Formats/Array.h"
#include "gantry/Runtime/Session.h"

#include <memory>

namespace gantry::tool {

/// NAME=FILE of a flag. Without a name the part before "=" is empty.
struct NamedFile {
  std::string name;
  std::string file;
};
NamedFile parseNamedFile(const std::string &text);

/// An array that a flag gives.
struct GivenArray {
  std::string name; ///< the flag's, else the file's; may be empty
  std::string file;
  arrays::Array array;
};
using GivenArrays = std::vector<GivenArray>;

/// Refuses standard input, "-", for more than one of FILE, --input, --expect and --load-state.
Status checkStandardInput(const Options &options);

/// Reads the files of --input or --expect flags; an archive gives an array for each of its names.
Expected<GivenArrays> readGiven(const std::vector<std::string> &flags, const char *flag);

/// For a second run on what can be read only once. DOES_NOT_FIT when memory is short.
Expected<GivenArrays> copyOf(const GivenArrays &given);

/// Arrays by the index of the input or output that they belong to. Errors list what there is;
/// `flag` ("--input") and `kind` ("input") are for them.
Expected<std::vector<std::optional<GivenArray>>>
assignGiven(GivenArrays given, std::span<const runtime::BindingInfo> bindings, const char *flag,
            const char *kind);

class Execution {
public:
  /// Loads the plan, binds the given inputs, makes up the others, and says on standard error which.
  /// Errors list expected and actual: unknown names, types and shapes that do not fit.
  static Expected<Execution> prepare(const Options &options, const Model &model,
                                     GivenArrays inputs);

  Status run() { return session->run(*bindings); }
  /// With a clock around each command: what ran, in the order in which it began.
  Expected<std::vector<runtime::CommandEvent>> runTraced() { return session->runTraced(*bindings); }
  const runtime::FunctionInfo &function() const { return bindings->info(); }
  /// Seconds that the last run took on the virtual clock; none when nothing is simulated.
  std::optional<double> virtualSeconds() const;
  /// What the last run did on the virtual clock of simulated devices.
  std::vector<runtime::CommandEvent> timeline() const { return session->timeline(); }
  const runtime::LoadedPlan &plan() const { return *loaded; }
  /// The session's variables; null when the plan has none.
  runtime::State *state() const { return session->state().get(); }
  runtime::Runtime &machine() const { return *runtime; }
  /// Values of an output, valid until the next run.
  Expected<arrays::ArrayView> output(unsigned index);
  /// Milliseconds from a plan file to a session, with all that was verified; inputs not counted.
  double loadMilliseconds() const { return loadTime; }

private:
  Execution() = default;

  std::shared_ptr<runtime::Runtime> runtime;
  std::shared_ptr<const runtime::LoadedPlan> loaded;
  std::shared_ptr<runtime::Session> session;
  Status bindInputs(const Options &options, GivenArrays given);
  Status bindOutputs();

  std::vector<arrays::Array> inputs, outputs; ///< bound, so alive as long as the bindings
  std::shared_ptr<runtime::Bindings> bindings;
  double loadTime = 0;
};

/// What `run` and `bench` begin with: FILE compiled or loaded, its function bound.
struct Prepared {
  Model model;
  Execution execution;

  /// Reads --input, has those of a graph that decide shapes compiled in, compiles or loads FILE and
  /// binds the others.
  static Expected<Prepared> from(const Options &given);
  /// The same with what --input gave.
  static Expected<Prepared> from(const Options &options, GivenArrays inputs);
};

/// "x: f32[1,784], y: i64[]".
std::string describeBindings(std::span<const runtime::BindingInfo> bindings);

} // namespace gantry::tool
