/* Gantry C API, names of devices and topologies (libgantry-runtime): what a graph is compiled for
 * and what a runtime has, made once and given to both. Needs no compiler.
 *
 * A topology is of this machine, of flags, or of JSON; none of these calls starts a driver or takes
 * device memory. The compiler takes it as JSON (gantry_compile_request_t::topology), so that the
 * two libraries share no object. Topologies and names never change: every thread may read them.
 * Ownership and errors: common.h; messages are gantry_last_error's (runtime.h). */
#ifndef GANTRY_C_TOPOLOGY_H
#define GANTRY_C_TOPOLOGY_H

#include "gantry-c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- names of devices -------------------------------------------------------------------------
 */

/** A device by name, of which any part may be left out: "GPU:1", "/GPU:1", "cuda:1", "GPU:*",
 * "/job:localhost/replica:0/task:0/device:GPU:1", "/physical_device:GPU:0". */
typedef struct gantry_device_name_t gantry_device_name_t;

/** INVALID_ARGUMENT says what is wrong and at which column. */
GANTRY_API gantry_status_t gantry_device_name_parse(const char *text, gantry_device_name_t **name);
GANTRY_API void gantry_device_name_destroy(gantry_device_name_t *name);

/** How a name is printed. */
typedef enum gantry_device_name_form_t {
  GANTRY_DEVICE_NAME_AS_GIVEN = 0, /**< the parts that are there, in order: "/device:GPU:1" */
  GANTRY_DEVICE_NAME_FULL = 1,     /**< with localhost, 0 and 0 for a job, replica and task that are
                                      not given: "/job:localhost/replica:0/task:0/device:GPU:1" */
  GANTRY_DEVICE_NAME_SHORT = 2     /**< type and id alone: "GPU:1"; of another task than
                                      /job:localhost/replica:0/task:0 all parts that are there */
} gantry_device_name_form_t;

/** Parsing the text gives the same parts again, but for the short form's. Lives as long as the
 * name; null when `name` is null or there is no such form. */
GANTRY_API const char *gantry_device_name_print(const gantry_device_name_t *name,
                                                gantry_device_name_form_t form);

/** The parts of a name. Strings live as long as the name. */
typedef struct gantry_device_name_parts_t {
  size_t struct_size; /**< set to sizeof(gantry_device_name_parts_t) before the call */
  const char *job;    /**< null when any is meant */
  int64_t replica;    /**< -1: any */
  int64_t task;       /**< -1: any */
  const char *type;   /**< "CPU", "GPU"; null: any */
  int64_t id;         /**< -1: any */
  int is_physical;    /**< 1: names what the machine has, not what placement sees */
} gantry_device_name_parts_t;

GANTRY_API gantry_status_t gantry_device_name_parts(const gantry_device_name_t *name,
                                                    gantry_device_name_parts_t *parts);

/** The name that holds in a scope `inner` within a scope `outer`: the inner one's parts win, and
 * one that changes the type drops the outer id. */
GANTRY_API gantry_status_t gantry_device_name_merge(const gantry_device_name_t *outer,
                                                    const gantry_device_name_t *inner,
                                                    gantry_device_name_t **merged);

/** 1 when every part that `pattern` has is the same in `name`. */
GANTRY_API int gantry_device_name_matches(const gantry_device_name_t *pattern,
                                          const gantry_device_name_t *name);

/* ---- topologies -------------------------------------------------------------------------------
 */

typedef struct gantry_topology_t gantry_topology_t;

/** CPU:0 and the GPUs that NVML lists and CUDA_VISIBLE_DEVICES lets through, as gantry_machine_read
 * finds them. Reads the system anew at each call. */
GANTRY_API gantry_status_t gantry_topology_of_machine(gantry_topology_t **topology);

/** What the tool's flags about devices say. Zero-initialise, set struct_size, then what matters to
 * you; everything is borrowed for the call. */
typedef struct gantry_topology_flags_t {
  size_t struct_size;        /**< sizeof(gantry_topology_flags_t) */
  const char *devices;       /**< "CPU:0,GPU:0,GPU:1@16GiB"; null or empty: those of `base` */
  const char *visible;       /**< physical GPUs that may be used: "0,2", "none"; null: all */
  const char *const *splits; /**< each "GPU:0=1GiB,1GiB": several logical GPUs of a physical one */
  size_t num_splits;
  int simulate; /**< 1: the simulator runs the GPUs */
} gantry_topology_flags_t;

/** Makes what flags say of `base`, which stays as it is; null: of CPU:0 alone. GPUs of `devices`
 * are CUDA's unless they are simulated. Errors name the flag: INVALID_ARGUMENT. */
GANTRY_API gantry_status_t gantry_topology_parse(const gantry_topology_flags_t *flags,
                                                 const gantry_topology_t *base,
                                                 gantry_topology_t **topology);

/** Reads what gantry_topology_to_json, gantry_machine_topology and `gantry devices --json` write;
 * docs/Topology.md describes it. INVALID_ARGUMENT with the place; CORRUPT for what is not JSON. */
GANTRY_API gantry_status_t gantry_topology_from_json(const char *json,
                                                     gantry_topology_t **topology);
/** Lives as long as the topology; null when that is null. */
GANTRY_API const char *gantry_topology_to_json(const gantry_topology_t *topology);

GANTRY_API void gantry_topology_destroy(gantry_topology_t *topology);

/** How many devices the machine has, or placement sees, of a type, "CPU" or "GPU" in any case;
 * null: of all types. 0 for a type that there is not. */
GANTRY_API size_t gantry_topology_num_physical(const gantry_topology_t *topology, const char *type);
GANTRY_API size_t gantry_topology_num_logical(const gantry_topology_t *topology, const char *type);

/** A device of the machine. Strings live as long as the topology. */
typedef struct gantry_physical_device_t {
  size_t struct_size;    /**< set to sizeof(gantry_physical_device_t) before the call */
  const char *name;      /**< full: /job:localhost/replica:0/task:0/physical_device:GPU:0 */
  const char *type;      /**< "CPU", "GPU" */
  const char *driver;    /**< "host", "sim", "cuda" */
  const char *model;     /**< empty: not known */
  uint64_t memory_bytes; /**< 0: not known */
  double flops;          /**< f32 operations a second; 0: not known */
  double bandwidth;      /**< bytes a second of its memory; 0: not known */
} gantry_physical_device_t;

/** A device that placement sees: a physical one, or a part of one. */
typedef struct gantry_logical_device_t {
  size_t struct_size;     /**< set to sizeof(gantry_logical_device_t) before the call */
  const char *name;       /**< full: /job:localhost/replica:0/task:0/device:GPU:0 */
  const char *short_name; /**< "GPU:0" */
  const char *type;       /**< "CPU", "GPU" */
  const char *driver;     /**< "host", "sim", "cuda" */
  const char *physical;   /**< full name of the physical device behind it */
  uint64_t limit_bytes;   /**< that plans may use; 0: not known */
  int is_limited;         /**< 1: by a limit of its own, not by what the machine has */
} gantry_logical_device_t;

/** Device number `index` of those of a type (null: of all), in the order of their names, CPUs
 * first. INVALID_ARGUMENT when there are not so many. */
GANTRY_API gantry_status_t gantry_topology_physical(const gantry_topology_t *topology,
                                                    const char *type, size_t index,
                                                    gantry_physical_device_t *device);
GANTRY_API gantry_status_t gantry_topology_logical(const gantry_topology_t *topology,
                                                   const char *type, size_t index,
                                                   gantry_logical_device_t *device);

/** The number, among all logical devices, of the one that an op or an array goes to: of those that
 * `wanted` names (null: all) GPUs before CPUs, of one type the one that holds most bytes, then the
 * lowest id (docs/Spec.md, P3 and P6). `held` has the bytes of each logical device, in their order,
 * in use as operands; null: none. Where `wanted` names none and `soft` is not 0, any id will do,
 * then any type, of the same task (P5). Each has kernels for every op of graph.h. INVALID_ARGUMENT
 * when it is no name; NOT_FOUND, which lists the devices, when no device is meant. */
GANTRY_API gantry_status_t gantry_topology_place(const gantry_topology_t *topology,
                                                 const char *wanted, int soft, const uint64_t *held,
                                                 size_t *index);

/** The number, among all logical devices, of the first that a name matches. INVALID_ARGUMENT when
 * it is no name; NOT_FOUND, which lists the devices, when no device has it. */
GANTRY_API gantry_status_t gantry_topology_find(const gantry_topology_t *topology, const char *name,
                                                size_t *index);

/** Devices that one entry of a list means: "GPU:0", "/job:worker/task:{0..3}/GPU:0" with a range, or
 * with a "*" all that match, "GPU:*". Writes their numbers, as gantry_topology_logical takes them,
 * up to `capacity` of them, and to `count` how many there are. Errors: INVALID_ARGUMENT for a text
 * that names no devices; NOT_FOUND for a device that is not there. */
GANTRY_API gantry_status_t gantry_topology_list(const gantry_topology_t *topology, const char *text,
                                                size_t *indices, size_t capacity, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
