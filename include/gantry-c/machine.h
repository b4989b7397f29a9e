/* Gantry C API, what the machine has (libgantry-runtime): devices, links between them, libraries,
 * as `gantry devices` lists them. No driver is started and no device memory taken.
 *
 * Ownership and errors: common.h; messages are gantry_last_error's (runtime.h). What is read stays
 * as it was read: read again for what is free now. */
#ifndef GANTRY_C_MACHINE_H
#define GANTRY_C_MACHINE_H

#include "gantry-c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gantry_machine_t gantry_machine_t;

/** Reads the host, and the GPUs that NVML lists and CUDA_VISIBLE_DEVICES lets through. */
GANTRY_API gantry_status_t gantry_machine_read(gantry_machine_t **machine);
GANTRY_API void gantry_machine_destroy(gantry_machine_t *machine);

/** Measures the rates of the host, which the cost model otherwise assumes, with that many threads
 * (0: all available), then those of the GPUs and of copies to, from and among them, through CUDA.
 * Takes about a second and 384 MiB, and a second and 64 MiB on each GPU. UNAVAILABLE when there are
 * GPUs and CUDA cannot be opened: the host's rates are there all the same. */
GANTRY_API gantry_status_t gantry_machine_calibrate(gantry_machine_t *machine, uint32_t threads);

/** The devices and links as JSON, as --topology takes it. Valid until the machine is calibrated or
 * destroyed. */
GANTRY_API const char *gantry_machine_topology(const gantry_machine_t *machine);

/** A device of the machine. Strings live as long as the machine. */
typedef struct gantry_machine_device_t {
  size_t struct_size;   /**< set to sizeof(gantry_machine_device_t) before the call */
  const char *name;     /**< full: /job:localhost/replica:0/task:0/device:GPU:0 */
  const char *physical; /**< full: /job:localhost/replica:0/task:0/physical_device:GPU:0 */
  const char *driver;   /**< "host", "cuda" */
  const char *model;
  const char *uuid;      /**< empty for the host */
  const char *pci;       /**< bus address; empty for the host */
  uint64_t total_bytes;  /**< 0: not known */
  uint64_t free_bytes;   /**< when the machine was read */
  double flops;          /**< f32 operations a second; 0: not known */
  double bandwidth;      /**< bytes a second of its memory; 0: not known */
  uint32_t architecture; /**< of a GPU, 90 for sm_90; 0: not known */
  double launch;         /**< seconds from one start of a kernel to the next; 0: not known */
} gantry_machine_device_t;

/** CPU:0 first; 0 when `machine` is null. */
GANTRY_API size_t gantry_machine_num_devices(const gantry_machine_t *machine);
GANTRY_API gantry_status_t gantry_machine_device(const gantry_machine_t *machine, size_t index,
                                                 gantry_machine_device_t *device);

/** How fast copies are predicted to go from one device to another, or within one. */
typedef struct gantry_machine_link_t {
  size_t struct_size; /**< set to sizeof(gantry_machine_link_t) before the call */
  double bandwidth;   /**< bytes a second */
  double latency;     /**< seconds */
  int is_known;       /**< 1: measured or read; 0: assumed */
} gantry_machine_link_t;

/** Devices are given by their numbers. */
GANTRY_API gantry_status_t gantry_machine_link(const gantry_machine_t *machine, size_t from,
                                               size_t to, gantry_machine_link_t *link);

/** A library of others that Gantry can use. Strings live as long as the machine. */
typedef struct gantry_machine_library_t {
  size_t struct_size; /**< set to sizeof(gantry_machine_library_t) before the call */
  const char *name;
  const char *version; /**< null when it was not found; "found" when it does not say */
  const char *note;    /**< what it is for, or what is used in its place */
} gantry_machine_library_t;

/** Those that were looked for; 0 when `machine` is null. */
GANTRY_API size_t gantry_machine_num_libraries(const gantry_machine_t *machine);
GANTRY_API gantry_status_t gantry_machine_library(const gantry_machine_t *machine, size_t index,
                                                  gantry_machine_library_t *library);

#ifdef __cplusplus
}
#endif
#endif
