// What Api.h says of CUDA, held against the Toolkit's own header; compiles where that is installed.
#include "CUDA/Api.h"
#include "SameCall.h"

#include <cuda.h>
#include <gtest/gtest.h>
#include <type_traits>

namespace gantry::runtime::cuda {
namespace {

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename... Ours, typename... Theirs>
struct SameCall<Result (*)(Ours...), CUresult(Theirs...)>
    : std::bool_constant<(sizeof...(Ours) == sizeof...(Theirs))> {
  static constexpr bool parametersAreAlike() {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs))
      return (isAlike<Ours, Theirs> && ...);
    return false;
  }
};

// cuda.h maps plain names to the versions that we name.
#define GANTRY_CUDA_FUNCTION(name, symbol, ...)                                                    \
  static_assert(SameCall<Result (*)(__VA_ARGS__), decltype(::symbol)>::parametersAreAlike(),       \
                #symbol " has other parameters in cuda.h");
#include "CUDA/Functions.def"

#define SAME(ours, theirs)                                                                         \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs)
SAME(Result::success, CUDA_SUCCESS);
SAME(Result::invalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(Result::outOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(Result::notInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(Result::deinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(Result::stubLibrary, CUDA_ERROR_STUB_LIBRARY);
SAME(Result::noDevice, CUDA_ERROR_NO_DEVICE);
SAME(Result::invalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(Result::invalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(Result::invalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(Result::noBinaryForGPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(Result::eccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(Result::invalidPTX, CUDA_ERROR_INVALID_PTX);
SAME(Result::nvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME(Result::jitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
SAME(Result::unsupportedPTXVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(Result::jitCompilationDisabled, CUDA_ERROR_JIT_COMPILATION_DISABLED);
SAME(Result::invalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(Result::notFound, CUDA_ERROR_NOT_FOUND);
SAME(Result::notReady, CUDA_ERROR_NOT_READY);
SAME(Result::illegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(Result::launchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(Result::launchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(Result::contextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(Result::assertion, CUDA_ERROR_ASSERT);
SAME(Result::hardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(Result::illegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(Result::misalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(Result::invalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME(Result::invalidPC, CUDA_ERROR_INVALID_PC);
SAME(Result::launchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(Result::notPermitted, CUDA_ERROR_NOT_PERMITTED);
SAME(Result::notSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(Result::systemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(Result::captureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(Result::captureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(Result::captureMerge, CUDA_ERROR_STREAM_CAPTURE_MERGE);
SAME(Result::captureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
SAME(Result::captureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
SAME(Result::captureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SAME(Result::captureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(Result::capturedEvent, CUDA_ERROR_CAPTURED_EVENT);
SAME(Result::captureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME(Result::graphExecUpdateFailure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
SAME(Result::unknown, CUDA_ERROR_UNKNOWN);

SAME(Attribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(Attribute::unifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(Attribute::computeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(Attribute::computeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(Attribute::virtualMemory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME(PeerAttribute::performanceRank, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK);
SAME(PeerAttribute::accessSupported, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED);
SAME(PeerAttribute::nativeAtomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
SAME(PointerAttribute::memoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(PointerAttribute::deviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(MemoryType::host, CU_MEMORYTYPE_HOST);
SAME(MemoryType::device, CU_MEMORYTYPE_DEVICE);
SAME(CaptureStatus::none, CU_STREAM_CAPTURE_STATUS_NONE);
SAME(CaptureStatus::active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(FunctionAttribute::maxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(JITOption::errorLog, CU_JIT_ERROR_LOG_BUFFER);
SAME(JITOption::errorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(CaptureMode::global, CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME(CaptureMode::threadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(flags::streamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(flags::eventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(flags::hostPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME(LocationType::device, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(Granularity::minimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
SAME(Granularity::recommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
SAME(AllocationProperties().type, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(AccessDescription().flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

#define SAME_PLACE(ours, a, theirs, b)                                                             \
  static_assert(offsetof(ours, a) == offsetof(theirs, b), #theirs "::" #b)
static_assert(isAlike<Location, CUmemLocation>);
SAME_PLACE(Location, id, CUmemLocation, id);
static_assert(isAlike<AllocationProperties, CUmemAllocationProp>);
SAME_PLACE(AllocationProperties, requestedHandleTypes, CUmemAllocationProp, requestedHandleTypes);
SAME_PLACE(AllocationProperties, location, CUmemAllocationProp, location);
SAME_PLACE(AllocationProperties, compressionType, CUmemAllocationProp, allocFlags);
static_assert(isAlike<AccessDescription, CUmemAccessDesc>);
SAME_PLACE(AccessDescription, flags, CUmemAccessDesc, flags);
static_assert(isAlike<UUID, CUuuid>);
static_assert(isAlike<UpdateResult, CUgraphExecUpdateResultInfo>);
SAME_PLACE(UpdateResult, node, CUgraphExecUpdateResultInfo, errorNode);
SAME_PLACE(UpdateResult, from, CUgraphExecUpdateResultInfo, errorFromNode);

TEST(CUDAApi, isWhatTheToolkitSays) {
  SUCCEED() << "held by static asserts, CUDA " << CUDA_VERSION;
}

} // namespace
} // namespace gantry::runtime::cuda
