/* Gantry C API: what its two halves, runtime.h and compiler.h, share.
 *
 * Ownership: what a *_create, *_load or *_compile call gives is yours until you call the matching
 * *_destroy; every other pointer is borrowed from the object it was asked of and lives as long.
 * Errors: a call returns a gantry_status_t; anything but GANTRY_OK comes with a message, which
 * gantry_last_error() gives for the calling thread until its next failing call. After it, pointers
 * that the call would have set (to a handle, a text, data) are null and everything else that it
 * would have filled in is as it was, unless the call says otherwise.
 * Strings are UTF-8 and end in a zero byte. */
#ifndef GANTRY_C_COMMON_H
#define GANTRY_C_COMMON_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define GANTRY_API __declspec(dllexport)
#else
#define GANTRY_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Outcome of a call; the same kinds as gantry::StatusCode. */
typedef enum gantry_status_t {
  GANTRY_OK = 0,
  GANTRY_INVALID_ARGUMENT = 1,
  GANTRY_NOT_FOUND = 2,
  GANTRY_CORRUPT = 3,
  GANTRY_UNSUPPORTED = 4,
  GANTRY_DOES_NOT_FIT = 5,
  GANTRY_UNAVAILABLE = 6,
  GANTRY_FAILED_PRECONDITION = 7,
  GANTRY_INTERNAL = 8,
  GANTRY_CANCELLED = 9
} gantry_status_t;

/** "INVALID_ARGUMENT"; null for a number that is no status. */
GANTRY_API const char *gantry_status_name(gantry_status_t status);

/** Element types; the order is that of the plan file. */
typedef enum gantry_element_type_t {
  GANTRY_F32 = 0,
  GANTRY_F64 = 1,
  GANTRY_F16 = 2,
  GANTRY_BF16 = 3,
  GANTRY_I8 = 4,
  GANTRY_U8 = 5,
  GANTRY_I16 = 6,
  GANTRY_U16 = 7,
  GANTRY_I32 = 8,
  GANTRY_U32 = 9,
  GANTRY_I64 = 10,
  GANTRY_U64 = 11,
  GANTRY_I1 = 12
} gantry_element_type_t;

/** "f32", as graphs spell it; null for a number that is no element type. */
GANTRY_API const char *gantry_element_name(gantry_element_type_t element);
/** Bytes of one element in an array; GANTRY_I1 takes a whole one. 0 for a number that is no element
 * type. */
GANTRY_API size_t gantry_element_size(gantry_element_type_t element);

/** A named tensor in the caller's memory: row-major and contiguous. */
typedef struct gantry_value_t {
  const char *name;
  gantry_element_type_t element;
  uint32_t rank;
  const int64_t *dims; /**< `rank` of them; may be null for a scalar */
  void *data;          /**< may be null when there are no elements */
} gantry_value_t;

/** A wish to stop, given to compilations and runs beforehand. It may be set by any thread and by a
 * signal handler; whoever was given it then returns GANTRY_CANCELLED at the next occasion. It must
 * outlive the calls that look at it, and can be used again after gantry_cancel_reset. */
typedef struct gantry_cancel_t gantry_cancel_t;

GANTRY_API gantry_status_t gantry_cancel_create(gantry_cancel_t **cancel);
GANTRY_API void gantry_cancel_set(gantry_cancel_t *cancel);
GANTRY_API void gantry_cancel_reset(gantry_cancel_t *cancel);
GANTRY_API int gantry_cancel_is_set(const gantry_cancel_t *cancel);
GANTRY_API void gantry_cancel_destroy(gantry_cancel_t *cancel);

/** When a command of a plan was done, a launch, copy or fill. */
typedef struct gantry_moment_t {
  uint32_t function; /**< of the plan, from 0 */
  uint32_t
      command;  /**< of the function, from 0: in its order, those of a branch or loop behind it */
  double start; /**< seconds since the run began */
  double end;
} gantry_moment_t;

/** Severity of a line given to a log callback. */
typedef enum gantry_severity_t {
  GANTRY_SEVERITY_NOTE = 0,
  GANTRY_SEVERITY_REMARK = 1,
  GANTRY_SEVERITY_WARNING = 2,
  GANTRY_SEVERITY_ERROR = 3,
  GANTRY_SEVERITY_PROGRESS = 4 /**< a phase began; for a terminal's status line */
} gantry_severity_t;

/** Receives log lines: one complete line without a newline. May be called from any thread. */
typedef void (*gantry_log_callback_t)(void *context, gantry_severity_t severity, const char *text);

#ifdef __cplusplus
}
#endif
#endif
