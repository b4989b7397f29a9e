/* Gantry C API, arrays on devices (libgantry-runtime): values that stay where they were made, from
 * one run to the next, and are shared with other libraries.
 *
 *   gantry_array_from_host(runtime, "GPU:1", data, ...)    an array there
 *   gantry_session_call(session, function, in, n, out, m)  computes with arrays in one call
 *   gantry_array_read(array, data, size)                   brings it back
 *
 * Devices are named as everywhere ("GPU:1", "/gpu:1", "cuda:1", the full name), and are those of
 * the runtime's topology; null is CPU:0. A name that leaves a part open means the first device that
 * it matches. Ownership and errors: common.h; messages are gantry_last_error's (runtime.h). All
 * calls are thread-safe but for contents: whoever writes an array, or lets a run write it, sees to
 * it that nobody else uses it meanwhile. */
#ifndef GANTRY_C_ARRAY_H
#define GANTRY_C_ARRAY_H

#include "gantry-c/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gantry_array_t gantry_array_t;

/* ---- making -----------------------------------------------------------------------------------
 */

/** An array whose contents are undefined. INVALID_ARGUMENT for a device that is not there or a type
 * that no array can have, DOES_NOT_FIT, UNAVAILABLE (driver). */
GANTRY_API gantry_status_t gantry_array_create(gantry_runtime_t *runtime, const char *device,
                                               gantry_element_type_t element, const int64_t *dims,
                                               uint32_t rank, gantry_array_t **array);

/** The same with a copy of `data`, row-major and contiguous, in memory of the host. */
GANTRY_API gantry_status_t gantry_array_from_host(gantry_runtime_t *runtime, const char *device,
                                                  const void *data, gantry_element_type_t element,
                                                  const int64_t *dims, uint32_t rank,
                                                  gantry_array_t **array);

/** An array of memory that is on the device already and is used where it is, until `release` is
 * called with the last handle; also when this call fails. `release` may be null. */
GANTRY_API gantry_status_t gantry_array_from_pointer(gantry_runtime_t *runtime, const char *device,
                                                     void *data, gantry_element_type_t element,
                                                     const int64_t *dims, uint32_t rank,
                                                     gantry_release_t release, void *context,
                                                     gantry_array_t **array);

/** Each create and retain wants a destroy; the memory goes with the last one, and the last run. */
GANTRY_API void gantry_array_retain(gantry_array_t *array);
GANTRY_API void gantry_array_destroy(gantry_array_t *array);

/* ---- looking and copying ----------------------------------------------------------------------
 */

/** Pointers live as long as the array. */
typedef struct gantry_array_info_t {
  size_t struct_size; /**< set to sizeof(gantry_array_info_t) before the call */
  gantry_element_type_t element;
  uint32_t rank;
  const int64_t *dims;
  uint64_t size;      /**< bytes */
  const char *device; /**< full name */
  const char *driver; /**< "host", "sim", "cuda" */
  void *data;         /**< an address of the device's; to be touched by its own work only */
  int is_on_host;     /**< 1: `data` can be read and written through */
  /** 1: the memory is this handle's alone, not the caller's (gantry_array_from_pointer), nor
   * another library's, nor that of bindings or of a run that goes on: nobody else would see it
   * change. */
  int is_alone;
} gantry_array_info_t;

GANTRY_API gantry_status_t gantry_array_info(const gantry_array_t *array,
                                             gantry_array_info_t *info);

/** Copies all of it out to, or in from, memory of the host; `size` must be the array's. */
GANTRY_API gantry_status_t gantry_array_read(const gantry_array_t *array, void *data, size_t size);
GANTRY_API gantry_status_t gantry_array_write(gantry_array_t *array, const void *data, size_t size);

/** A new array of the same contents on any device of its runtime, its own among them. */
GANTRY_API gantry_status_t gantry_array_copy_to(const gantry_array_t *array, const char *device,
                                                gantry_array_t **copy);

/* ---- sharing, by DLPack -----------------------------------------------------------------------
 */

/** The array as other libraries take it: a DLManagedTensor, or from version 1 on of the protocol,
 * when `is_versioned`, a DLManagedTensorVersioned, which shares the memory and keeps it until its
 * deleter is called. UNSUPPORTED where memory of the device cannot be shared, as simulated one. */
GANTRY_API gantry_status_t gantry_array_to_dlpack(const gantry_array_t *array, int is_versioned,
                                                  void **managed);

/** An array of another library's memory, which is used where it is; its deleter is called with the
 * last handle. When this call fails, `managed` is still the caller's. UNSUPPORTED for memory that
 * is not row-major and contiguous, for types that Gantry has not, for other kinds of devices. */
GANTRY_API gantry_status_t gantry_array_from_dlpack(gantry_runtime_t *runtime, void *managed,
                                                    int is_versioned, gantry_array_t **array);

/** Where in DLPack's terms the array is: a DLDeviceType and a number. */
GANTRY_API gantry_status_t gantry_array_dlpack_device(const gantry_array_t *array, int32_t *type,
                                                      int32_t *id);

/* ---- computing --------------------------------------------------------------------------------
 */

/** Binds an array, which the bindings keep until another is bound. Arrays in host memory may be
 * bound to an input or output on any device; others only to one on their device. */
GANTRY_API gantry_status_t gantry_bindings_set_input_array_at(gantry_bindings_t *bindings,
                                                              uint32_t index,
                                                              gantry_array_t *array);
GANTRY_API gantry_status_t gantry_bindings_set_output_array_at(gantry_bindings_t *bindings,
                                                               uint32_t index,
                                                               gantry_array_t *array);
/** The output where it was left, an array on its device: the one that was bound, else one over the
 * bindings' own memory, which the next run with them writes again. */
GANTRY_API gantry_status_t gantry_bindings_output_array_at(gantry_bindings_t *bindings,
                                                           uint32_t index, gantry_array_t **array);

/** Runs a function of the session's plan to its end: reads `inputs`, one for each input, in their
 * order, and gives `outputs`. One that is null on entry becomes a new array on the output's device;
 * another is written. It must not be an input's, but for that of gantry_plan_output_over, whose
 * contents the caller so gives away: the handle stays the caller's, and the output takes no memory
 * of its own. From any thread: calls of one session wait for one another, and need no bindings of
 * the caller's. `cancel` may be null. On failure no array that was null is set; what was given away
 * is as it was after INVALID_ARGUMENT about what was given and after DOES_NOT_FIT, and else
 * undefined. */
GANTRY_API gantry_status_t gantry_session_call(gantry_session_t *session, uint32_t function,
                                               gantry_array_t *const *inputs, size_t num_inputs,
                                               gantry_array_t **outputs, size_t num_outputs,
                                               const gantry_cancel_t *cancel);

/* ---- variables --------------------------------------------------------------------------------
 */

/** A state without variables, which programs fill before or between the plans that use them. */
GANTRY_API gantry_status_t gantry_state_create_empty(gantry_runtime_t *runtime,
                                                     gantry_state_t **state);
/** Adds a variable of the array's type, device and contents. INVALID_ARGUMENT when there is one of
 * that name. While a variable is added no other call may use the state; runs may. */
GANTRY_API gantry_status_t gantry_state_add(gantry_state_t *state, const char *name,
                                            const gantry_array_t *array);
/** Takes a variable out; the name is free again. Sessions and bindings that use it keep its memory
 * and go on with it. FAILED_PRECONDITION for a variable of the plan that the state was made for,
 * NOT_FOUND when there is none. No other call may use the state meanwhile; runs may. */
GANTRY_API gantry_status_t gantry_state_remove(gantry_state_t *state, const char *name);
/** Adds those variables of the plan that the state lacks, with the plan's values. INVALID_ARGUMENT
 * when one is there with another type or on another device. */
GANTRY_API gantry_status_t gantry_state_extend(gantry_state_t *state, const gantry_plan_t *plan);
/** A copy of a variable's value, on its device. Waits for runs that write it. */
GANTRY_API gantry_status_t gantry_state_array(const gantry_state_t *state, const char *name,
                                              gantry_array_t **array);

/* ---- memory -----------------------------------------------------------------------------------
 */

/** Memory of a device of the runtime's topology. One that nothing has used yet is not opened for
 * this: its numbers are those of the topology, of the host's memory or what a simulated device
 * would have, and nothing is in use. */
typedef struct gantry_memory_info_t {
  size_t struct_size;    /**< set to sizeof(gantry_memory_info_t) before the call */
  uint64_t bytes_in_use; /**< taken by Gantry: arrays, and what plans, states and sessions have */
  uint64_t peak_bytes;   /**< the most since the start, or gantry_runtime_reset_peak */
  uint64_t limit_bytes;  /**< 0: none */
  uint64_t total_bytes;  /**< 0: not known */
  uint64_t free_bytes;   /**< of the moment; 0: not known */
  int is_open;           /**< 1: something has used it */
  /** Taken of the physical device ahead (`reserve`), in use or not; of all of its parts. */
  uint64_t reserved_bytes;
} gantry_memory_info_t;

GANTRY_API gantry_status_t gantry_runtime_memory(const gantry_runtime_t *runtime,
                                                 const char *device, gantry_memory_info_t *info);
GANTRY_API gantry_status_t gantry_runtime_reset_peak(gantry_runtime_t *runtime, const char *device);

#ifdef __cplusplus
}
#endif
#endif
