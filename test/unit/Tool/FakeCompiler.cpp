// A compiler for tests of the driver: the "graph" is a list of orders, one a line, that say what it
// should do. It proves what goes over the C API and back without any MLIR.
//
//   note TEXT | remark TEXT | error TEXT | progress NAME    calls the log
//   flags                                     logs the flags as a note, then the rest of the
//   request plan PATH                                 the artifact is the content of that file
//   replicated PATH                           the same, if the flag "replicate" is given
//   first PATH                                the same, if the flag "first-replica" is given
//   text TEXT                                 the artifact, or the report, is this line
//   json TEXT                                 the report's other form is this line
//   shape NAME                                the candidate of that name decides shapes
//   sleep MILLISECONDS
//   fail STATUS TEXT                          ends with that status and message
#include "gantry-c/compiler.h"
#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/Version.h"

#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

struct gantry_artifact_t {
  gantry::AlignedBuffer bytes;
  std::vector<std::string> shapeValues = {};
};

struct gantry_graph_info_t {
  std::string text, json;
};

namespace {

thread_local std::string lastError;

gantry_artifact_t *makeArtifact(const std::string &content) {
  const auto *data = reinterpret_cast<const uint8_t *>(content.data());
  return new gantry_artifact_t{gantry::AlignedBuffer::copyOf({data, content.size()})};
}

bool has(const gantry_compile_request_t &request, const char *prefix) {
  for (size_t i = 0; i < request.num_flags; ++i)
    if (std::string_view(request.flags[i]).starts_with(prefix))
      return true;
  return false;
}

std::string contentOf(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The flags, then what else of the request is not zero.
std::string inWords(const gantry_compile_request_t &request) {
  std::string all;
  const auto add = [&](const std::string &text) { all += (all.empty() ? "" : " ") + text; };
  for (size_t i = 0; i < request.num_flags; ++i)
    add(request.flags[i]);
  for (size_t i = 0; i < request.num_candidates; ++i)
    add(std::string("candidate=") + request.candidates[i].name);
  if (request.output)
    add(std::string("output=") + request.output);
  if (request.scratch_above)
    add("scratch-above=" + std::to_string(request.scratch_above));
  return all;
}

/// What the orders come to.
struct Outcome {
  gantry_status_t status = GANTRY_OK;
  std::optional<std::string> content;
  std::string json;
  std::vector<std::string> shapeValues;
};

/// Does the orders; `more` is logged with the flags.
Outcome follow(const gantry_compile_request_t &request, const std::string &more) {
  std::istringstream orders(
      request.data ? std::string(static_cast<const char *>(request.data), request.data_size)
                   : contentOf(request.file));
  Outcome outcome;
  const auto log = [&](gantry_severity_t severity, const std::string &text) {
    request.log(request.log_context, severity, text.c_str());
  };
  for (std::string line; std::getline(orders, line);) {
    const size_t space = line.find(' ');
    const std::string order = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (order == "note")
      log(GANTRY_SEVERITY_NOTE, rest);
    else if (order == "remark")
      log(GANTRY_SEVERITY_REMARK, rest);
    else if (order == "error")
      log(GANTRY_SEVERITY_ERROR, rest);
    else if (order == "progress")
      log(GANTRY_SEVERITY_PROGRESS, rest);
    else if (order == "flags")
      log(GANTRY_SEVERITY_NOTE, inWords(request) + more);
    else if (order == "plan" || (order == "replicated" && has(request, "replicate=")) ||
             (order == "first" && has(request, "first-replica")))
      outcome.content = contentOf(rest);
    else if (order == "text")
      outcome.content = rest + "\n";
    else if (order == "json")
      outcome.json = rest + "\n";
    else if (order == "shape")
      outcome.shapeValues.push_back(rest);
    else if (order == "sleep")
      std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(rest)));
    else if (order == "fail") {
      lastError = rest.substr(2);
      outcome.status = static_cast<gantry_status_t>(rest[0] - '0');
      return outcome;
    }
  }
  return outcome;
}

} // namespace

extern "C" gantry_status_t gantry_compile(const gantry_compile_request_t *request,
                                          gantry_artifact_t **artifact) {
  Outcome outcome = follow(*request, "");
  if (outcome.status != GANTRY_OK)
    return outcome.status;
  std::string content = outcome.content.value_or("");
  if (request->output) {
    std::ofstream(request->output, std::ios::binary) << content;
    content.clear();
  }
  *artifact = makeArtifact(content);
  for (const std::string &name : outcome.shapeValues)
    for (size_t i = 0; i < request->num_candidates; ++i)
      if (request->candidates[i].name == name)
        (*artifact)->shapeValues.push_back(name);
  return GANTRY_OK;
}

extern "C" gantry_status_t gantry_why_not(const gantry_compile_request_t *request, const char *op,
                                          const char *device, gantry_artifact_t **artifact) {
  Outcome outcome = follow(*request, std::string(" why not ") + op + " on " + device);
  if (outcome.status == GANTRY_OK)
    *artifact = makeArtifact(outcome.content.value_or(""));
  return outcome.status;
}

extern "C" gantry_status_t gantry_check(const gantry_compile_request_t *request,
                                        gantry_graph_info_t **info) {
  Outcome outcome = follow(*request, "");
  if (outcome.content)
    *info = new gantry_graph_info_t{*outcome.content, outcome.json};
  return outcome.status;
}

extern "C" const char *gantry_graph_info_text(const gantry_graph_info_t *info) {
  return info->text.c_str();
}
extern "C" const char *gantry_graph_info_json(const gantry_graph_info_t *info) {
  return info->json.c_str();
}
extern "C" void gantry_graph_info_destroy(gantry_graph_info_t *info) { delete info; }

/// A flag whose value is "wrong" cannot be meant.
extern "C" gantry_status_t gantry_check_flags(const char *const *flags, size_t num_flags) {
  for (size_t i = 0; i < num_flags; ++i)
    if (std::string_view(flags[i]).ends_with("=wrong"))
      return GANTRY_INVALID_ARGUMENT;
  return GANTRY_OK;
}

extern "C" gantry_status_t gantry_plan_to_text(const void *, size_t size,
                                               gantry_artifact_t **artifact) {
  *artifact = makeArtifact("a plan of " + std::to_string(size) + " bytes\n");
  return GANTRY_OK;
}

extern "C" const void *gantry_artifact_data(const gantry_artifact_t *artifact, size_t *size) {
  *size = artifact->bytes.size();
  return artifact->bytes.data();
}
extern "C" size_t gantry_artifact_num_shape_values(const gantry_artifact_t *artifact) {
  return artifact->shapeValues.size();
}
extern "C" const char *gantry_artifact_shape_value(const gantry_artifact_t *artifact,
                                                   size_t index) {
  return artifact->shapeValues[index].c_str();
}
extern "C" size_t gantry_artifact_num_files(const gantry_artifact_t *) { return 0; }
extern "C" const char *gantry_artifact_file(const gantry_artifact_t *, size_t) { return nullptr; }
extern "C" void gantry_artifact_destroy(gantry_artifact_t *artifact) { delete artifact; }
extern "C" const char *gantry_compiler_last_error(void) { return lastError.c_str(); }
extern "C" const char *gantry_compiler_version(void) { return GANTRY_VERSION_STRING; }
