/* What the emulator's library gives the runtime, which opens it when GPUs are to be emulated: a PTX
 * interpreter that is larger than all of the runtime, and that only few programs need.
 *
 * Plain C, since it crosses libraries; both are of one version, which gantry_emulator_version says.
 * Texts of errors belong to the library, and to the calling thread, until its next call. */
#ifndef GANTRY_DRIVERS_EMULATED_EMULATOR_H
#define GANTRY_DRIVERS_EMULATED_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gantry_emulator_code_t gantry_emulator_code_t;

/** How a call ended; the numbers are those of gantry::StatusCode. */
typedef int gantry_emulator_status_t;

typedef struct gantry_emulator_launch_t {
  const char *kernel;
  uint32_t grid[3], block[3];
  uint32_t shared_bytes; /**< besides those of the code */
  void *const *buffers;  /**< the kernel's parameters */
  const uint64_t *sizes; /**< bytes of each, which the kernel may touch; no others */
  uint32_t num_buffers;
  int checks; /**< 0: none; 1: bounds, alignment, barriers; 2: races and unwritten memory as well */
} gantry_emulator_launch_t;

/** "0.1.0" */
typedef const char *(*gantry_emulator_version_fn)(void);
/** Reads PTX. CORRUPT when it is none, UNSUPPORTED when it has what the interpreter has not. */
typedef gantry_emulator_status_t (*gantry_emulator_load_fn)(const char *text, size_t size,
                                                            gantry_emulator_code_t **code);
typedef void (*gantry_emulator_unload_fn)(gantry_emulator_code_t *code);
/** NOT_FOUND when the code has no such kernel. */
typedef gantry_emulator_status_t (*gantry_emulator_find_fn)(gantry_emulator_code_t *code,
                                                            const char *kernel);
/** Returns when the kernel has ended. INTERNAL: it did what it must not. Thread-safe. */
typedef gantry_emulator_status_t (*gantry_emulator_run_fn)(gantry_emulator_code_t *code,
                                                           const gantry_emulator_launch_t *launch);
/** What was wrong with this thread's last call that failed. */
typedef const char *(*gantry_emulator_error_fn)(void);

/** The one symbol of the library: `const gantry_emulator_t gantry_emulator`. */
typedef struct gantry_emulator_t {
  gantry_emulator_version_fn version;
  gantry_emulator_load_fn load;
  gantry_emulator_unload_fn unload;
  gantry_emulator_find_fn find;
  gantry_emulator_run_fn run;
  gantry_emulator_error_fn error;
} gantry_emulator_t;

#ifdef __cplusplus
}
#endif

#endif
