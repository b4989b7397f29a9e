// What the handles of the C API's runtime half are: shared pointers to the C++ objects.
#pragma once

#include "gantry-c/array.h"
#include "gantry-c/runtime.h"

#include "Cancel.h"
#include "Outcome.h"

#include "gantry/Runtime/Array.h"
#include "gantry/Runtime/Session.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct gantry_runtime_t {
  std::shared_ptr<gantry::runtime::Runtime> object;
};
struct gantry_plan_t {
  std::shared_ptr<const gantry::runtime::LoadedPlan> object;
  mutable std::once_flag described;
  mutable std::string json;
  /// What gantry_plan_kernel_choice points to, by choice.
  struct ChoiceTexts {
    std::string driver, description, passedOver;
  };
  std::vector<ChoiceTexts> choices = {};
};
struct gantry_state_t {
  std::shared_ptr<gantry::runtime::State> object;
};
struct gantry_session_t {
  std::shared_ptr<gantry::runtime::Session> object;
  /// Bindings of finished calls, by function, for the next ones.
  std::mutex mutex = {};
  std::vector<std::vector<std::shared_ptr<gantry::runtime::Bindings>>> idle = {};
};
struct gantry_bindings_t {
  std::shared_ptr<gantry::runtime::Bindings> object;
};
struct gantry_fence_t {
  gantry::runtime::Fence object;
};
struct gantry_array_t {
  std::shared_ptr<gantry::runtime::Array> object;
  std::atomic<uint32_t> handles{1};
};

namespace gantry::capi {

/// Hands a freshly made handle out, or the failure.
template <typename Handle, typename Object>
gantry_status_t give(Expected<Object> made, Handle **handle) {
  if (!made)
    return finish(made.status());
  *handle = new Handle{made.take()};
  return GANTRY_OK;
}

/// Fills in as much of the caller's struct as the caller knows; `what` is the type's name.
template <typename Struct>
gantry_status_t fill(Struct *given, Struct full, const char *what) {
  if (given->struct_size < sizeof(size_t))
    return finish(Status::invalidArgument(std::string(what) + ": struct_size is not set"));
  full.struct_size = given->struct_size;
  std::memcpy(given, &full, std::min(given->struct_size, sizeof full));
  return GANTRY_OK;
}

/// Whether a caller's element type and dimensions are a type at all.
inline Expected<runtime::TensorType> readType(gantry_element_type_t element, const int64_t *dims,
                                              uint32_t rank) {
  if (static_cast<unsigned>(element) >= numElementTypes)
    return Status::invalidArgument("unknown element type " +
                                   std::to_string(static_cast<int>(element)));
  if (rank != 0 && !dims)
    return Status::invalidArgument("the dimensions are a null pointer");
  // This bounds the copy; what a rank can be, whoever takes the type knows.
  if (rank > 64)
    return Status::invalidArgument("a rank of " + std::to_string(rank));
  return runtime::TensorType{static_cast<ElementType>(element), {dims, dims + rank}};
}

} // namespace gantry::capi
