// NVIDIA GPUs through CUDA's driver API, which is opened when the first of them is.
#pragma once

#include "gantry/Runtime/Driver.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gantry::runtime {

class ThreadPool;

struct CUDAOptions {
  /// Stretches of commands are captured once and replayed; without, each is issued by itself.
  bool graphs = true;
  /// Each command is waited for, so that a failure on the GPU names the op: for finding it.
  bool syncEach = false;
  /// Its threads help to copy what goes to devices and comes from there; it outlives the driver.
  ThreadPool *copyingPool = nullptr;
};

/// A driver of the name "cuda". Devices are UNAVAILABLE where NVIDIA's driver, or the GPU, is not;
/// GANTRY_CUDA_LIB names another library than libcuda.so.1.
std::unique_ptr<Driver> createCUDADriver(CUDAOptions options = {});

/// What CUDA says of a GPU's way to the memory of another.
struct CUDAPeer {
  bool isDirect = false; ///< without the host
  bool hasAtomics = false;
  int rank = 0; ///< of the ways that there are, 0 being the fastest
};

/// Of pairs of GPUs by their numbers. Starts CUDA, and makes no context. UNAVAILABLE where CUDA, or
/// one of the GPUs, is not there.
Expected<std::vector<CUDAPeer>> askCUDAPeers(std::span<const std::pair<uint32_t, uint32_t>> pairs);

} // namespace gantry::runtime
