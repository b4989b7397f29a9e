// A compiler for tests of the driver: the "graph" is a list of orders, one a line, that say what it
// should do. It proves what goes over the C API and back without any MLIR.
//
//   note TEXT | remark TEXT | error TEXT | progress NAME    calls the log
//   flags                                     logs the flags as a note
//   plan PATH                                 the artifact is the content of that file
//   replicated PATH                           the same, if the flag "replicate" is given
//   first PATH                                the same, if the flag "first-replica" is given
//   spill PATH                                the same, as of a plan with large weights
//   text TEXT                                 the artifact is this line
//   json TEXT                                 the same, if the flag "json" is given
//   sleep MILLISECONDS
//   fail STATUS TEXT                          ends with that status and message
#include "gantry-c/compiler.h"
#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/Version.h"

#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

struct gantry_artifact_t {
  gantry::AlignedBuffer bytes;
};

namespace {

thread_local std::string lastError;

gantry_artifact_t *makeArtifact(const std::string &content) {
  const auto *data = reinterpret_cast<const uint8_t *>(content.data());
  return new gantry_artifact_t{gantry::AlignedBuffer::copyOf({data, content.size()})};
}

void replaceArtifact(gantry_artifact_t **artifact, const std::string &content) {
  delete *artifact;
  *artifact = makeArtifact(content);
}

bool isLast(const char *const *flags, size_t numFlags, const char *flag) {
  return numFlags && std::strcmp(flags[numFlags - 1], flag) == 0;
}

bool has(const char *const *flags, size_t numFlags, const char *prefix) {
  for (size_t i = 0; i < numFlags; ++i)
    if (std::string_view(flags[i]).starts_with(prefix))
      return true;
  return false;
}

std::string contentOf(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(path == "-" ? std::cin : in), {}};
}

} // namespace

extern "C" gantry_status_t gantry_compile(const char *file, const char *const *flags,
                                          size_t numFlags, gantry_log_callback_t log, void *context,
                                          gantry_artifact_t **artifact) {
  std::istringstream orders(contentOf(file));
  bool large = false;
  for (std::string line; std::getline(orders, line);) {
    const size_t space = line.find(' ');
    const std::string order = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (order == "note" || order == "remark" || order == "error" || order == "progress") {
      log(context,
          order == "note"     ? GANTRY_SEVERITY_NOTE
          : order == "remark" ? GANTRY_SEVERITY_REMARK
          : order == "error"  ? GANTRY_SEVERITY_ERROR
                              : GANTRY_SEVERITY_PROGRESS,
          rest.c_str());
    } else if (order == "flags") {
      std::string all;
      for (size_t i = 0; i < numFlags; ++i)
        all += std::string(i ? " " : "") + flags[i];
      log(context, GANTRY_SEVERITY_NOTE, all.c_str());
    } else if (order == "plan" || order == "spill") {
      large = order == "spill";
      replaceArtifact(artifact, contentOf(rest));
    } else if (order == "replicated" || order == "first") {
      if (has(flags, numFlags, order == "first" ? "first-replica" : "replicate="))
        replaceArtifact(artifact, contentOf(rest));
    } else if (order == "text" || (order == "json" && isLast(flags, numFlags, "json"))) {
      replaceArtifact(artifact, rest + "\n");
    } else if (order == "sleep") {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(rest)));
    } else if (order == "fail") {
      lastError = rest.substr(2);
      return static_cast<gantry_status_t>(rest[0] - '0');
    }
  }
  for (size_t i = 0; i < numFlags; ++i)
    if (std::string_view(flags[i]).starts_with("write-to=") &&
        (large || !has(flags, numFlags, "write-above="))) {
      const auto bytes = (*artifact)->bytes.bytes();
      std::ofstream(flags[i] + std::strlen("write-to="), std::ios::binary)
          .write(reinterpret_cast<const char *>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
      replaceArtifact(artifact, "");
    }
  return GANTRY_OK;
}

extern "C" gantry_status_t gantry_check(const char *file, const char *const *flags, size_t numFlags,
                                        gantry_log_callback_t log, void *context,
                                        gantry_artifact_t **artifact) {
  return gantry_compile(file, flags, numFlags, log, context, artifact);
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
extern "C" void gantry_artifact_destroy(gantry_artifact_t *artifact) { delete artifact; }
extern "C" const char *gantry_compiler_last_error(void) { return lastError.c_str(); }
extern "C" const char *gantry_compiler_version(void) { return GANTRY_VERSION_STRING; }
