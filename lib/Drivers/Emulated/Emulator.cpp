// The emulator's library: the PTX interpreter behind a table of C functions.
#include "Emulator.h"

#include "gantry/PTX/Machine.h"
#include "gantry/Support/Version.h"

#include <algorithm>
#include <mutex>
#include <thread>

using namespace gantry;

/// A PTX module. One launch at a time has its buffers in the image's memory.
struct gantry_emulator_code_t {
  std::mutex mutex;
  ptx::Memory memory; ///< outlives the image
  std::unique_ptr<ptx::Image> image;
};

namespace {

constexpr const char *fileName = "kernels.ptx"; ///< of the plan's PTX, for messages

std::string &lastError() {
  thread_local std::string text;
  return text;
}

gantry_emulator_status_t finish(const Status &status) {
  if (!status.ok())
    lastError() = status.message();
  return static_cast<int>(status.code());
}

/// What takes another buffer's place is one region with it.
Status addBuffers(ptx::Memory &memory, const gantry_emulator_launch_t &launch,
                  std::vector<const void *> &added) {
  for (uint32_t i = 0; i < launch.num_buffers; ++i) {
    const auto begin = reinterpret_cast<uint64_t>(launch.buffers[i]);
    const ptx::Region *known = memory.find(begin);
    if (launch.sizes[i] == 0 || (known && known->begin == begin && known->size == launch.sizes[i]))
      continue;
    GANTRY_RETURN_IF_ERROR(
        memory.add(launch.buffers[i], launch.sizes[i], "buffer " + std::to_string(i)));
    added.push_back(launch.buffers[i]);
  }
  return {};
}

/// From so many blocks on all of the host's threads take part in a launch.
constexpr uint64_t kBlocksForThreads = 16;

ptx::Checks checksOf(int checks) {
  return checks == 0 ? ptx::Checks::none : checks == 1 ? ptx::Checks::memory : ptx::Checks::all;
}

Status interpret(ptx::Image &image, const gantry_emulator_launch_t &launch) {
  Expected<const ptx::KernelInfo *> info = image.kernel(launch.kernel);
  if (!info)
    return info.status();
  if ((*info)->parameters.size() != launch.num_buffers)
    return Status::corrupt("kernel '" + std::string(launch.kernel) + "' takes " +
                           std::to_string((*info)->parameters.size()) +
                           " buffers, the plan gives " + std::to_string(launch.num_buffers));
  ptx::Launch run;
  run.kernel = launch.kernel;
  for (int i = 0; i < 3; ++i)
    run.grid[i] = launch.grid[i], run.block[i] = launch.block[i];
  run.dynamicShared = launch.shared_bytes;
  run.arguments = std::as_bytes(std::span(launch.buffers, launch.num_buffers));
  run.checks = checksOf(launch.checks);
  // Few blocks are done before a second thread has begun.
  if (uint64_t(run.grid[0]) * run.grid[1] * run.grid[2] >= kBlocksForThreads)
    run.threads = std::max(1u, std::thread::hardware_concurrency());
  Expected<ptx::Outcome> outcome = ptx::run(image, run);
  if (!outcome)
    return outcome.status();
  if (outcome->faults.empty())
    return {};
  const std::string more =
      outcome->faultCount > 1 ? "; " + std::to_string(outcome->faultCount - 1) + " more" : "";
  return Status::internal(outcome->faults.front().text(fileName) + more);
}

const char *version() { return GANTRY_VERSION_STRING; }

gantry_emulator_status_t load(const char *text, size_t size, gantry_emulator_code_t **code) {
  auto parsed = ptx::Code::of(std::string(text, size), fileName);
  if (!parsed)
    return finish(Status(parsed.status().code() == StatusCode::unsupported ? StatusCode::unsupported
                                                                           : StatusCode::corrupt,
                         parsed.status().message()));
  if ((*parsed)->module().version.empty())
    return finish(Status::corrupt("it is no PTX: it has no .version"));
  auto made = std::make_unique<gantry_emulator_code_t>();
  Expected<std::unique_ptr<ptx::Image>> image = ptx::Image::load(parsed.take(), made->memory);
  if (!image)
    return finish(image.status());
  made->image = image.take();
  *code = made.release();
  return 0;
}

void unload(gantry_emulator_code_t *code) { delete code; }

gantry_emulator_status_t find(gantry_emulator_code_t *code, const char *kernel) {
  std::lock_guard turn(code->mutex);
  return finish(code->image->kernel(kernel).status());
}

gantry_emulator_status_t run(gantry_emulator_code_t *code, const gantry_emulator_launch_t *launch) {
  std::lock_guard turn(code->mutex);
  std::vector<const void *> added;
  Status status = addBuffers(code->memory, *launch, added);
  if (status.ok())
    status = interpret(*code->image, *launch);
  for (const void *address : added)
    (void)code->memory.remove(address);
  return finish(status);
}

const char *error() { return lastError().c_str(); }

} // namespace

extern "C" {
extern const gantry_emulator_t gantry_emulator;
__attribute__((visibility("default")))
const gantry_emulator_t gantry_emulator = {version, load, unload, find, run, error};
}
