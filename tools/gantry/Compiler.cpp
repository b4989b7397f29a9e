#include "Compiler.h"

#include "Console.h"

#include "gantry/Support/Environment.h"
#include "gantry/Support/Version.h"

#include <dlfcn.h>
#include <filesystem>

namespace gantry::tool {

namespace {

constexpr const char *libraryName = "libgantry-compiler.so";

/// Why the library cannot be opened and what to do: it is there and lacks others, or it is not.
Status cannotOpen(const std::string &path, const std::string &reason) {
  for (const char *sign :
       {"failed to map segment", "cannot allocate memory", "Cannot allocate memory",
        "out of memory", "cannot create shared object descriptor",
        "cannot create search path array"})
    if (reason.find(sign) != std::string::npos)
      return Status::doesNotFit("there is no memory to load the compiler library '" + path + "': " +
                                reason + "; it takes about 150 MB of address space (ulimit -v)");
  const bool lacksMlir =
      reason.find("libMLIR") != std::string::npos || reason.find("libLLVM") != std::string::npos;
  return Status::unavailable(
      "compiling a graph needs the compiler library '" + path +
      "', which cannot be opened: " + reason + "; " +
      (lacksMlir ? "install MLIR 22: apt-get install libmlir-22"
                 : "set GANTRY_COMPILER to the path of " + std::string(libraryName)));
}

template <typename Fn>
bool find(void *library, const char *name, Fn &function) {
  function = reinterpret_cast<Fn>(::dlsym(library, name));
  return function != nullptr;
}

/// A request as the C API takes it, with the lists that it points to.
struct CRequest : gantry_compile_request_t {
  std::vector<const char *> flagPointers;
  std::vector<gantry_value_t> values;
  CompilerLog lines;

  explicit CRequest(const CompileRequest &from) : gantry_compile_request_t{} {
    for (const std::string &flag : from.flags)
      flagPointers.push_back(flag.c_str());
    for (const ShapeInput &candidate : from.candidates)
      values.push_back(
          {candidate.name.c_str(), static_cast<gantry_element_type_t>(candidate.value.element),
           static_cast<uint32_t>(candidate.value.shape.size()), candidate.value.shape.data(),
           const_cast<uint8_t *>(candidate.value.data)}); // it is only read
    struct_size = sizeof(gantry_compile_request_t);
    if (from.bytes) {
      data = from.bytes->data();
      data_size = from.bytes->size();
      name = "<stdin>";
    } else {
      file = from.file.c_str();
    }
    candidates = values.data();
    num_candidates = values.size();
    flags = flagPointers.data();
    num_flags = flagPointers.size();
    output = from.output.empty() ? nullptr : from.output.c_str();
    scratch_above = from.scratchAbove;
    outline = from.isOutline;
    log = &CompilerLog::receive;
    log_context = &lines;
  }

  /// The first diagnostic is the last error as well; once is enough.
  Status withoutRepetition(Status status) {
    return lines.hasTold(status.message()) ? Status(status.code(), "") : status;
  }
};

} // namespace

/// What the environment says, else beside the program, as in a build and in an installed tree, else
/// where the loader looks; never in the current folder.
std::string Compiler::libraryPath() {
  if (std::string exact = environment("GANTRY_COMPILER"); !exact.empty())
    return exact;
  std::error_code error;
  const auto prefix =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  for (const char *folder : {"lib", GANTRY_LIBDIR})
    if (const auto beside = prefix / folder / libraryName;
        beside.is_absolute() && std::filesystem::exists(beside, error))
      return beside.string();
  return libraryName;
}

Expected<Compiler> Compiler::open() {
  const std::string path = libraryPath();
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *said = ::dlerror(); // nothing where there is no memory for it
    std::string reason = said ? said : "out of memory";
    // The loader names the file first when it is the one that is not there.
    if (reason.starts_with(path + ": "))
      reason.erase(0, path.size() + 2);
    return cannotOpen(path, reason);
  }
  // The library stays open: LLVM registers things that must not be unloaded.
  Compiler compiler;
  if (!find(library, "gantry_compile", compiler.compileFn) ||
      !find(library, "gantry_check_flags", compiler.checkFlagsFn) ||
      !find(library, "gantry_why_not", compiler.whyNotFn) ||
      !find(library, "gantry_check", compiler.checkFn) ||
      !find(library, "gantry_plan_to_text", compiler.planToTextFn) ||
      !find(library, "gantry_artifact_data", compiler.artifactData) ||
      !find(library, "gantry_artifact_num_shape_values", compiler.artifactNumShapeValues) ||
      !find(library, "gantry_artifact_shape_value", compiler.artifactShapeValue) ||
      !find(library, "gantry_artifact_num_files", compiler.artifactNumFiles) ||
      !find(library, "gantry_artifact_file", compiler.artifactFile) ||
      !find(library, "gantry_artifact_destroy", compiler.artifactDestroy) ||
      !find(library, "gantry_graph_info_text", compiler.infoText) ||
      !find(library, "gantry_graph_info_json", compiler.infoJson) ||
      !find(library, "gantry_graph_info_destroy", compiler.infoDestroy) ||
      !find(library, "gantry_compiler_last_error", compiler.lastError) ||
      !find(library, "gantry_compiler_version", compiler.version))
    return Status{StatusCode::unavailable,
                  std::string("the compiler library lacks a function: ") + ::dlerror()};
  if (compiler.version() != std::string_view(GANTRY_VERSION_STRING))
    return Status{StatusCode::unavailable, std::string("the compiler library is of version ") +
                                               compiler.version() + ", expected " +
                                               GANTRY_VERSION_STRING};
  return compiler;
}

Status Compiler::statusOf(gantry_status_t status) const {
  return status == GANTRY_OK ? Status() : Status(static_cast<StatusCode>(status), lastError());
}

Outcome Compiler::outcome(gantry_status_t status, gantry_artifact_t *artifact) const {
  Outcome result{statusOf(status), {}, {}};
  if (artifact) {
    result.artifact.emplace();
    result.artifact->handle.reset(artifact, artifactDestroy);
    size_t size = 0;
    const void *data = artifactData(artifact, &size);
    result.artifact->content = {static_cast<const uint8_t *>(data), size};
    for (size_t i = 0; i < artifactNumShapeValues(artifact); ++i)
      result.artifact->values.emplace_back(artifactShapeValue(artifact, i));
    for (size_t i = 0; i < artifactNumFiles(artifact); ++i)
      result.artifact->files.emplace_back(artifactFile(artifact, i));
  }
  return result;
}

void Compiler::blame(const gantry_compile_request_t &request, const Status &failure) const {
  if (failure.code() == StatusCode::invalidArgument &&
      checkFlagsFn(request.flags, request.num_flags) != GANTRY_OK)
    noteWrongUsage();
}

Outcome Compiler::compile(const CompileRequest &given) const {
  CRequest request(given);
  gantry_artifact_t *artifact = nullptr;
  const gantry_status_t status = compileFn(&request, &artifact);
  Outcome result = outcome(status, artifact);
  blame(request, result.status);
  result.status = request.withoutRepetition(result.status);
  result.lines = request.lines.printed();
  return result;
}

Outcome Compiler::whyNot(const CompileRequest &given, const std::string &op,
                         const std::string &device) const {
  CRequest request(given);
  gantry_artifact_t *artifact = nullptr;
  const gantry_status_t status = whyNotFn(&request, op.c_str(), device.c_str(), &artifact);
  Outcome result = outcome(status, artifact);
  blame(request, result.status);
  result.status = request.withoutRepetition(result.status);
  return result;
}

CheckOutcome Compiler::check(const CompileRequest &given) const {
  CRequest request(given);
  gantry_graph_info_t *info = nullptr;
  const Status status = statusOf(checkFn(&request, &info));
  blame(request, status);
  CheckOutcome result{request.withoutRepetition(status), {}, {}};
  if (info) {
    result.text = infoText(info);
    result.json = infoJson(info);
    infoDestroy(info);
  }
  return result;
}

Outcome Compiler::planToText(std::span<const uint8_t> plan) const {
  gantry_artifact_t *artifact = nullptr;
  const gantry_status_t status = planToTextFn(plan.data(), plan.size(), &artifact);
  return outcome(status, artifact);
}

} // namespace gantry::tool
