// What all calls share, devices, contexts and modules, and what tests ask.
#include "Fake.h"

#include "gantry/PTX/Module.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace fake {

// Signatures are those that the driver calls.
#define GANTRY_CUDA_FUNCTION(name, symbol, ...) extern "C" Result symbol(__VA_ARGS__);
#include "CUDA/Functions.def"

State &state() {
  static auto *all = new State; // outlives whoever uses it while the process ends
  return *all;
}

void fault(std::string text) { state().faults.push_back(std::move(text)); }

uint64_t bits(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

namespace {

uint64_t variable(const char *name, uint64_t usual) {
  const char *text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : usual;
}

fake_cuda_options_t optionsOfEnvironment() {
  fake_cuda_options_t options{};
  options.devices = static_cast<int>(variable("FAKE_CUDA_DEVICES", 1));
  options.memory = variable("FAKE_CUDA_MEMORY", uint64_t(16) << 30);
  options.arch = static_cast<int>(variable("FAKE_CUDA_ARCH", 90));
  options.seed = variable("FAKE_CUDA_SEED", 0);
  options.checks_order = static_cast<int>(variable("FAKE_CUDA_ORDER", 0));
  options.checks_kernels = static_cast<int>(variable("FAKE_CUDA_KERNELS", 1));
  options.skips_kernels = static_cast<int>(variable("FAKE_CUDA_SKIP", 0));
  options.has_peers = static_cast<int>(variable("FAKE_CUDA_PEERS", 1));
  options.has_vmm = static_cast<int>(variable("FAKE_CUDA_VMM", 1));
  return options;
}

/// As NVML writes the bytes that cuDeviceGetUuid gives.
std::string uuidOf(int device) {
  char text[64];
  std::snprintf(text, sizeof text, "GPU-00000000-0000-0000-0000-0000000000%02x", device + 1);
  return text;
}

/// The device that an entry of CUDA_VISIBLE_DEVICES names, or -1: a number, as strtol reads it, or
/// the beginning of one UUID.
int named(const std::string &entry, bool isUUID) {
  const int count = state().options.devices;
  if (!isUUID) {
    char *end = nullptr;
    const long number = std::strtol(entry.c_str(), &end, 10);
    return end == entry.c_str() || number < 0 || number >= count ? -1 : static_cast<int>(number);
  }
  int found = -1;
  for (int i = 0; i < count; ++i)
    if (entry.starts_with("GPU-") && uuidOf(i).starts_with(entry)) {
      if (found >= 0)
        return -1;
      found = i;
    }
  return found;
}

/// The devices that CUDA_VISIBLE_DEVICES names, up to the first that is none; none if one comes
/// twice.
void findVisible() {
  std::vector<int> &visible = state().visible;
  visible.clear();
  const char *variable = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!variable) {
    for (int i = 0; i < state().options.devices; ++i)
      visible.push_back(i);
    return;
  }
  std::istringstream entries(variable);
  const bool areUUIDs = entries.str().starts_with("GPU-");
  for (std::string entry; std::getline(entries, entry, ',');) {
    const int device = named(entry, areUUIDs);
    if (device < 0)
      return;
    if (std::find(visible.begin(), visible.end(), device) != visible.end()) {
      visible.clear();
      return;
    }
    visible.push_back(device);
  }
}

void reset(const fake_cuda_options_t *options) {
  State &all = state();
  std::lock_guard lock(all.mutex);
  all.options = *options;
  all.isStarted = false;
  all.contexts.clear();
  all.devices.clear();
  for (int i = 0; i < options->devices; ++i) {
    all.devices.push_back(std::make_unique<Device>());
    all.devices.back()->number = i;
    all.contexts.push_back(nullptr);
  }
  findVisible();
  all.pinned.clear(), all.reservations.clear(), all.mappings.clear(), all.chunks.clear();
  all.wholes.clear();
  all.order = {};
  all.defaults.clear();
  all.host.clear();
  all.nextActor = 1;
  all.random.seed(options->seed);
  all.calls.clear();
  all.allCalls = all.failAt = 0;
  all.failsIn.clear();
  all.faults.clear();
}

/// Of the thread. Plain memory, since contexts are made current while a process ends, too.
struct Stack {
  std::array<Context *, 16> all;
  size_t size;
  bool empty() const { return size == 0; }
  Context *back() const { return all[size - 1]; }
  bool push(Context *context) {
    if (size == all.size())
      return false;
    all[size++] = context;
    return true;
  }
};
thread_local constinit Stack stack{};

bool isSticky(Result result) {
  return result == Result::illegalAddress || result == Result::launchFailed ||
         result == Result::misalignedAddress;
}

} // namespace

Context *currentContext() { return stack.empty() ? nullptr : stack.back(); }

void lose(Context &context, Result error) {
  if (context.error == Result::success)
    context.error = error;
}

Call::Call(const char *name, Kind kind) : lock(state().mutex) {
  State &all = state();
  ++all.calls[name];
  ++all.allCalls;
  Context *context = currentContext();
  const bool fails = all.failsIn.empty() ? all.failAt != 0 && all.allCalls == all.failAt
                                         : all.failsIn == name &&
                                               (all.failAt == 0 || all.calls[name] == all.failAt);
  if (fails) {
    all.failedIn = name;
    outcome = all.failure;
    if (isSticky(outcome) && context)
      lose(*context, outcome);
  } else if (!all.isStarted && std::strcmp(name, "cuInit") != 0 &&
             std::strcmp(name, "cuDriverGetVersion") != 0) {
    outcome = Result::notInitialized;
  } else if (kind != Kind::asks && context && context->error != Result::success) {
    outcome = context->error;
  } else if (kind == Kind::inContext && !context) {
    outcome = Result::invalidContext;
    fault(std::string(name) + " without a current context");
  }
  over = outcome != Result::success && kind != Kind::frees;
}

} // namespace fake

using namespace fake;
using Kind = Call::Kind;

FAKE_CUDA cuGetErrorName(Result result, const char **text) {
  switch (result) {
  case Result::outOfMemory:
    *text = "CUDA_ERROR_OUT_OF_MEMORY";
    return Result::success;
  case Result::illegalAddress:
    *text = "CUDA_ERROR_ILLEGAL_ADDRESS";
    return Result::success;
  case Result::launchFailed:
    *text = "CUDA_ERROR_LAUNCH_FAILED";
    return Result::success;
  case Result::notSupported:
    *text = "CUDA_ERROR_NOT_SUPPORTED";
    return Result::success;
  case Result::captureUnsupported:
    *text = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
    return Result::success;
  case Result::invalidPTX:
    *text = "CUDA_ERROR_INVALID_PTX";
    return Result::success;
  default:
    *text = nullptr;
    return Result::invalidValue;
  }
}

FAKE_CUDA cuGetErrorString(Result result, const char **text) {
  *text = result == Result::outOfMemory      ? "out of memory"
          : result == Result::illegalAddress ? "an illegal memory access was encountered"
          : result == Result::launchFailed   ? "unspecified launch failure"
          : result == Result::notSupported   ? "operation not supported"
                                             : "a PTX JIT compilation failed";
  return Result::success;
}

FAKE_CUDA cuInit(unsigned) {
  FAKE_BEGIN(Kind::asks);
  if (state().visible.empty())
    return Result::noDevice;
  state().isStarted = true;
  return Result::success;
}

FAKE_CUDA cuDriverGetVersion(int *version) {
  FAKE_BEGIN(Kind::asks);
  *version = state().options.version ? state().options.version : 13000;
  return Result::success;
}

FAKE_CUDA cuDeviceGetCount(int *count) {
  FAKE_BEGIN(Kind::asks);
  *count = static_cast<int>(state().visible.size());
  return Result::success;
}

FAKE_CUDA cuDeviceGet(DeviceNumber *device, int ordinal) {
  FAKE_BEGIN(Kind::asks);
  if (ordinal < 0 || ordinal >= static_cast<int>(state().visible.size()))
    return Result::invalidDevice;
  *device = state().visible[static_cast<size_t>(ordinal)];
  return Result::success;
}

FAKE_CUDA cuDeviceGetName(char *name, int length, DeviceNumber) {
  FAKE_BEGIN(Kind::asks);
  std::snprintf(name, static_cast<size_t>(length), "fake GPU");
  return Result::success;
}

FAKE_CUDA cuDeviceGetUuid_v2(UUID *uuid, DeviceNumber device) {
  FAKE_BEGIN(Kind::asks);
  *uuid = {};
  uuid->bytes[15] = static_cast<unsigned char>(device + 1);
  return Result::success;
}

FAKE_CUDA cuDeviceGetPCIBusId(char *id, int length, DeviceNumber device) {
  FAKE_BEGIN(Kind::asks);
  std::snprintf(id, static_cast<size_t>(length), "0000:%02x:00.0", device + 1);
  return Result::success;
}

FAKE_CUDA cuDeviceTotalMem_v2(size_t *bytes, DeviceNumber) {
  FAKE_BEGIN(Kind::asks);
  *bytes = state().options.memory;
  return Result::success;
}

FAKE_CUDA cuDeviceGetAttribute(int *value, Attribute attribute, DeviceNumber) {
  FAKE_BEGIN(Kind::asks);
  const fake_cuda_options_t &options = state().options;
  switch (attribute) {
  case Attribute::computeMajor:
    *value = options.arch / 10;
    return Result::success;
  case Attribute::computeMinor:
    *value = options.arch % 10;
    return Result::success;
  case Attribute::virtualMemory:
    *value = options.has_vmm;
    return Result::success;
  case Attribute::multiprocessors:
    *value = 100;
    return Result::success;
  case Attribute::unifiedAddressing:
    *value = 1;
    return Result::success;
  }
  return Result::invalidValue;
}

FAKE_CUDA cuDeviceCanAccessPeer(int *can, DeviceNumber device, DeviceNumber peer) {
  FAKE_BEGIN(Kind::asks);
  *can = device != peer && state().options.has_peers;
  return Result::success;
}

FAKE_CUDA cuDeviceGetP2PAttribute(int *value, PeerAttribute attribute, DeviceNumber device,
                                  DeviceNumber peer) {
  FAKE_BEGIN(Kind::asks);
  if (device == peer)
    return Result::invalidDevice;
  // Two and two are joined by the faster kind of link.
  *value = attribute == PeerAttribute::performanceRank ? device / 2 != peer / 2
                                                       : state().options.has_peers;
  return Result::success;
}

FAKE_CUDA cuDevicePrimaryCtxRetain(ContextHandle *context, DeviceNumber device) {
  FAKE_BEGIN(Kind::asks);
  auto &known = state().contexts[static_cast<size_t>(device)];
  if (!known) {
    known = std::make_unique<fake::Context>();
    known->device = state().devices[static_cast<size_t>(device)].get();
  }
  ++known->retained;
  *context = reinterpret_cast<ContextHandle>(known.get());
  return Result::success;
}

namespace {
/// What a context owns goes with it.
template <typename Set>
void dropOf(Set &set, const fake::Context *context, const char *what) {
  for (auto at = set.begin(); at != set.end();) {
    if ((*at)->context != context) {
      ++at;
      continue;
    }
    if (context->error == Result::success)
      fault(std::string("a context goes that still has ") + what);
    delete *at;
    at = set.erase(at);
  }
}
} // namespace

FAKE_CUDA cuDevicePrimaryCtxRelease_v2(DeviceNumber device) {
  FAKE_BEGIN(Kind::frees);
  auto &known = state().contexts[static_cast<size_t>(device)];
  if (!known)
    return Result::invalidContext;
  if (--known->retained == 0) {
    dropOf(state().execs, known.get(), "a graph");
    dropOf(state().events, known.get(), "an event");
    dropDefaultStreams(*known);
    dropOf(state().streams, known.get(), "a stream");
    dropOf(state().modules, known.get(), "a module");
    known = nullptr;
  }
  return call.end();
}

FAKE_CUDA cuCtxPushCurrent_v2(ContextHandle context) {
  FAKE_BEGIN(Kind::asks);
  return stack.push(reinterpret_cast<fake::Context *>(context)) ? Result::success
                                                                : Result::outOfMemory;
}

FAKE_CUDA cuCtxPopCurrent_v2(ContextHandle *context) {
  FAKE_BEGIN(Kind::frees);
  if (stack.empty())
    return Result::invalidContext;
  *context = reinterpret_cast<ContextHandle>(stack.back());
  --stack.size;
  return call.end();
}

// ---- modules ----

namespace {
/// What the driver's compiler says, for the caller's buffer.
void tell(const std::string &text, unsigned numOptions, const JITOption *options, void **values) {
  char *log = nullptr;
  size_t room = 0;
  for (unsigned i = 0; i < numOptions; ++i) {
    if (options[i] == JITOption::errorLog)
      log = static_cast<char *>(values[i]);
    if (options[i] == JITOption::errorLogBytes)
      room = bits(values[i]);
  }
  if (log && room)
    std::snprintf(log, room, "%s", text.c_str());
}

/// Tests load the same plans again and again: their code stays, up to a sum of texts, which are a
/// twentieth of it.
void keep(const std::shared_ptr<ptx::Code> &code) {
  constexpr size_t kMaxText = size_t(4) << 20;
  auto &recent = state().recent;
  std::erase(recent, code);
  recent.push_front(code);
  size_t text = 0;
  std::erase_if(recent, [&](const auto &each) {
    text += each->module().text->size();
    return text > kMaxText && each != code;
  });
}
} // namespace

FAKE_CUDA cuModuleLoadDataEx(ModuleHandle *module, const void *image, unsigned numOptions,
                             JITOption *options, void **values) {
  FAKE_BEGIN(Kind::inContext);
  if (capturesHere())
    return Result::captureUnsupported;
  auto parsed = ptx::Code::of(static_cast<const char *>(image), "kernels.ptx");
  if (!parsed) {
    tell(parsed.status().message(), numOptions, options, values);
    return Result::invalidPTX;
  }
  keep(*parsed);
  auto loaded = ptx::Image::load(parsed.take(), currentContext()->device->memory);
  if (!loaded)
    return Result::outOfMemory;
  for (const std::string &name : (*loaded)->kernelNames())
    if (auto info = (*loaded)->kernel(name); !info) {
      tell(info.status().message(), numOptions, options, values);
      return Result::invalidPTX;
    }
  auto *made = new Module{currentContext(), loaded.take()};
  state().modules.insert(made);
  *module = reinterpret_cast<ModuleHandle>(made);
  return Result::success;
}

FAKE_CUDA cuModuleUnload(ModuleHandle handle) {
  FAKE_BEGIN(Kind::frees);
  auto *module = reinterpret_cast<Module *>(handle);
  if (state().modules.erase(module) == 0)
    return Result::invalidHandle;
  std::erase_if(state().functions, [&](fake::Function *function) {
    const bool goes = function->module == module;
    if (goes)
      delete function;
    return goes;
  });
  delete module;
  return call.end();
}

FAKE_CUDA cuModuleGetFunction(FunctionHandle *function, ModuleHandle handle, const char *name) {
  FAKE_BEGIN(Kind::inContext);
  auto *module = reinterpret_cast<Module *>(handle);
  if (!state().modules.contains(module))
    return Result::invalidHandle;
  auto info = module->image->kernel(name);
  if (!info)
    return info.status().code() == gantry::StatusCode::notFound ? Result::notFound
                                                                : Result::invalidImage;
  auto *made = new fake::Function{module, name, *info};
  state().functions.insert(made);
  *function = reinterpret_cast<FunctionHandle>(made);
  return Result::success;
}

FAKE_CUDA cuFuncSetAttribute(FunctionHandle, FunctionAttribute, int) {
  FAKE_BEGIN(Kind::inContext);
  return Result::success;
}

// ---- what tests ask ----

namespace {

void fail(uint64_t number, int result) {
  std::lock_guard lock(state().mutex);
  state().calls.clear();
  state().allCalls = 0;
  state().failAt = number;
  state().failure = static_cast<Result>(result);
  state().failsIn.clear();
  state().failedIn.clear();
}

void failIn(const char *function, uint64_t number, int result) {
  fail(number, result);
  std::lock_guard lock(state().mutex);
  state().failsIn = function;
}

uint64_t calls(const char *function) {
  std::lock_guard lock(state().mutex);
  return function ? state().calls[function] : state().allCalls;
}

const char *failed() {
  std::lock_guard lock(state().mutex);
  return state().failedIn.empty() ? nullptr : state().failedIn.c_str();
}

const char *faults() {
  static std::string text;
  std::lock_guard lock(state().mutex);
  text.clear();
  for (const std::string &each : state().faults)
    text += each + "\n";
  return text.c_str();
}

void forgetFaults() {
  std::lock_guard lock(state().mutex);
  state().faults.clear();
}

const char *leaks() {
  static std::string text;
  State &all = state();
  std::lock_guard lock(all.mutex);
  text = describeMemoryLeaks();
  auto add = [&](size_t count, const char *what) {
    if (count)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(static_cast<size_t>(std::count_if(all.contexts.begin(), all.contexts.end(),
                                        [](const auto &context) { return context != nullptr; })),
      "contexts");
  add(all.modules.size(), "modules");
  add(all.streams.size(), "streams");
  add(all.events.size(), "events");
  add(all.graphs.size(), "graphs");
  add(all.execs.size(), "executable graphs");
  add(all.captures.size(), "captures");
  add(all.ofLibraries.size(), "objects of libraries");
  return text.c_str();
}

int hasContext(int device) {
  std::lock_guard lock(state().mutex);
  return state().contexts[static_cast<size_t>(device)] != nullptr;
}

uint64_t bytesOf(int device) {
  std::lock_guard lock(state().mutex);
  return state().devices[static_cast<size_t>(device)]->used;
}

/// FILE gets "calls N", "faults …" and "leaks …".
void report() {
  const char *path = std::getenv("FAKE_CUDA_REPORT");
  FILE *file = path && *path ? std::fopen(path, "a") : nullptr;
  if (!file)
    return;
  std::fprintf(file, "calls %llu\nleaks %s\n", static_cast<unsigned long long>(calls(nullptr)),
               leaks());
  for (const std::string &each : state().faults)
    std::fprintf(file, "fault %s\n", each.c_str());
  std::fclose(file);
}

[[gnu::constructor]] void begin() {
  const fake_cuda_options_t options = optionsOfEnvironment();
  reset(&options);
  if (const char *text = std::getenv("FAKE_CUDA_FAIL"); text && *text) {
    char *rest = nullptr;
    const uint64_t number = std::strtoull(text, &rest, 10);
    fail(number, *rest == ':' ? std::atoi(rest + 1) : 2);
  }
  std::atexit(report);
}

} // namespace

extern "C" {
extern const fake_cuda_control_t fake_cuda_control;
__attribute__((visibility("default"))) const fake_cuda_control_t fake_cuda_control = {
    reset,      fail,    calls,  failed,       faults,           leaks,
    hasContext, bytesOf, failIn, forgetFaults, tileOfLastProduct};
}
