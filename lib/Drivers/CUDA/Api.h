// The part of the CUDA driver API that is used, in our own words, so that nothing of CUDA has to be
// installed to build: types here, functions in Functions.def.
//
// Names, numbers and layouts are those of CUDA 12 and 13, in which nothing of this differs; a test
// holds them against the Toolkit's cuda.h where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gantry::runtime::cuda {

/// What a call returns. Only those that are told apart have names; any other number may come.
enum class Result : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  deinitialized = 4,
  stubLibrary = 34,
  noDevice = 100,
  invalidDevice = 101,
  invalidImage = 200,
  invalidContext = 201,
  noBinaryForGPU = 209,
  eccUncorrectable = 214,
  invalidPTX = 218,
  nvlinkUncorrectable = 220,
  jitCompilerNotFound = 221,
  unsupportedPTXVersion = 222,
  jitCompilationDisabled = 223,
  invalidHandle = 400,
  notFound = 500,
  notReady = 600,
  illegalAddress = 700,
  launchOutOfResources = 701,
  launchTimeout = 702,
  peerAccessAlreadyEnabled = 704,
  contextIsDestroyed = 709,
  assertion = 710,
  hardwareStackError = 714,
  illegalInstruction = 715,
  misalignedAddress = 716,
  invalidAddressSpace = 717,
  invalidPC = 718,
  launchFailed = 719,
  notPermitted = 800,
  notSupported = 801,
  systemDriverMismatch = 803,
  captureUnsupported = 900,
  captureInvalidated = 901,
  captureMerge = 902,
  captureUnmatched = 903,
  captureUnjoined = 904,
  captureIsolation = 905,
  captureImplicit = 906,
  capturedEvent = 907,
  captureWrongThread = 908,
  graphExecUpdateFailure = 910,
  unknown = 999,
};

using DeviceNumber = int;
using DevicePointer = unsigned long long;
using AllocationHandle = unsigned long long;
using ContextHandle = struct ContextOpaque *;
using ModuleHandle = struct ModuleOpaque *;
using FunctionHandle = struct FunctionOpaque *;
using StreamHandle = struct StreamOpaque *;
using EventHandle = struct EventOpaque *;
using GraphHandle = struct GraphOpaque *;
using GraphExecHandle = struct GraphExecOpaque *;
using GraphNodeHandle = struct GraphNodeOpaque *;

enum class Attribute : int {
  multiprocessors = 16,
  unifiedAddressing = 41,
  computeMajor = 75,
  computeMinor = 76,
  virtualMemory = 102,
};

enum class PeerAttribute : int { performanceRank = 1, accessSupported = 2, nativeAtomics = 3 };

enum class PointerAttribute : int { memoryType = 2, deviceOrdinal = 9 };
enum class MemoryType : unsigned { host = 1, device = 2 };

enum class FunctionAttribute : int { maxDynamicSharedBytes = 8 };

enum class JITOption : int { errorLog = 5, errorLogBytes = 6 };

enum class CaptureMode : int { global = 0, threadLocal = 1, relaxed = 2 };
enum class CaptureStatus : int { none = 0, active = 1, invalidated = 2 };

namespace flags {
inline constexpr unsigned streamNonBlocking = 1;
inline constexpr unsigned eventDisableTiming = 2;
inline constexpr unsigned hostPortable = 1;
} // namespace flags

// Virtual memory.

enum class LocationType : int { device = 1 };
struct Location {
  LocationType type = LocationType::device;
  int id = 0;
};

struct AllocationProperties {
  int type = 1; ///< pinned: cannot move
  int requestedHandleTypes = 0;
  Location location;
  void *win32HandleMetaData = nullptr;
  unsigned char compressionType = 0;
  unsigned char gpuDirectRDMACapable = 0;
  unsigned short usage = 0;
  unsigned char reserved[4] = {};
};

enum class Granularity : int { minimum = 0, recommended = 1 };

struct AccessDescription {
  Location location;
  int flags = 3; ///< read and write
};

struct UUID {
  unsigned char bytes[16] = {};
};

struct UpdateResult {
  int result = 0;
  GraphNodeHandle node = nullptr, from = nullptr;
};

} // namespace gantry::runtime::cuda
