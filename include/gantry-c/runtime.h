/* Gantry C API, runtime half (libgantry-runtime): load a plan, run it. Needs no compiler.
 *
 *   runtime   devices, threads, registered kernels, log   gantry_runtime_create
 *   plan      a loaded plan file, immutable               gantry_plan_load
 *   state     values of the plan's variables              gantry_state_create
 *   session   memory to run the plan in                   gantry_session_create
 *   bindings  one caller's inputs and outputs             gantry_bindings_create
 *   fence     the end of a run                            gantry_session_submit
 *
 * A session makes its own state when it is given none.
 * Each keeps what is above it alive: destroy them in any order. Ownership and errors: common.h.
 * All calls are thread-safe but for bindings, which one thread at a time may use, and destroying,
 * which is the last call on a handle; runs of one session wait for one another. See
 * examples/hello_terse.c and examples/hello_explained.c.
 */
#ifndef GANTRY_C_RUNTIME_H
#define GANTRY_C_RUNTIME_H

#include "gantry-c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gantry_runtime_t gantry_runtime_t;
typedef struct gantry_plan_t gantry_plan_t;
typedef struct gantry_state_t gantry_state_t;
typedef struct gantry_session_t gantry_session_t;
typedef struct gantry_bindings_t gantry_bindings_t;
typedef struct gantry_fence_t gantry_fence_t;

/** Message of the calling thread's last failing call into this library; never null. */
GANTRY_API const char *gantry_last_error(void);

/** Version of this library, "0.1.0". */
GANTRY_API const char *gantry_runtime_version(void);

/* ---- runtime ----------------------------------------------------------------------------------
 */

/** When the bytes of a plan (weights, code, initial values) are compared with their checksums. Its
 * header and metadata always are. */
typedef enum gantry_verify_t {
  GANTRY_VERIFY_FULL = 0, /**< at load, on the runtime's threads */
  GANTRY_VERIFY_LAZY = 1, /**< weights that are used where the file is mapped: by the first run,
                             which then returns CORRUPT before its first command; else as FULL */
  GANTRY_VERIFY_OFF = 2   /**< never: damaged storage then gives wrong numbers, or worse */
} gantry_verify_t;

/** Whether plans for NVIDIA GPUs run on emulated ones: their machine code is interpreted on the
 * host, and checked. */
typedef enum gantry_emulate_t {
  GANTRY_EMULATE_OFF = 0,
  GANTRY_EMULATE_CHECK_ALL = 1,    /**< bounds, alignment, barriers, races, reads of what was never
                                      written */
  GANTRY_EMULATE_CHECK_MEMORY = 2, /**< bounds, alignment, barriers */
  GANTRY_EMULATE_CHECK_NOTHING = 3
} gantry_emulate_t;

/** How a runtime is made. Zero-initialise, set struct_size, then what matters to you. */
typedef struct gantry_runtime_options_t {
  size_t struct_size; /**< sizeof(gantry_runtime_options_t) */
  uint32_t threads;   /**< for kernels of the host, the calling one included; 0: all available */
  uint64_t
      host_memory_limit;     /**< bytes that may be allocated on the host device; 0: what is free */
  gantry_log_callback_t log; /**< may be null */
  void *log_context;
  /** In what order commands of simulated devices run: "virtual" (by a virtual clock; also when
   * null) or "random:SEED", another legal order, for finding missing waits. */
  const char *sim_order;
  /** Devices of plans that run on others, each "GPU:0=GPU:3"; null when num_bindings is 0. A plan
   * that lacks one of them does not load. */
  const char *const *bindings;
  size_t num_bindings;
  gantry_verify_t verify;   /**< of all plans that are loaded; default: FULL */
  gantry_emulate_t emulate; /**< GPUs of plans; default: OFF */
  /** 1: each command of a GPU is waited for, so that a failure on the GPU names its op: for finding
   * it, slow. 0: stretches of commands are one graph, and a failure names the stretch. */
  int sync_each;
  /** The devices that arrays (array.h) can be made on, as JSON, which gantry_machine_topology and
   * `gantry devices --json` write; null: the host alone. Plans say themselves what they use, and
   * should be compiled for the same topology. */
  const char *topology;
  /** How much of the machine's devices may be taken, each "GPU:0=limit:4GiB,growth" as the tool's
   * --memory has it, of a device or of all of a type ("GPU:*"); null when num_memory is 0. Later
   * ones count more, and all of them more than GANTRY_MEMORY and TF_FORCE_GPU_ALLOW_GROWTH, which
   * are read whenever a runtime is made. */
  const char *const *memory;
  size_t num_memory;
} gantry_runtime_options_t;

/** `options` may be null: the defaults. */
GANTRY_API gantry_status_t gantry_runtime_create(const gantry_runtime_options_t *options,
                                                 gantry_runtime_t **runtime);
/** Changes host_memory_limit, sim_order, bindings and topology, and memory when it has any; the
 * other options stay. FAILED_PRECONDITION once a device is in use: another runtime can have other
 * devices. */
GANTRY_API gantry_status_t gantry_runtime_configure_devices(
    gantry_runtime_t *runtime, const gantry_runtime_options_t *options);
GANTRY_API void gantry_runtime_destroy(gantry_runtime_t *runtime);

/** Threads that kernels can use. */
GANTRY_API uint32_t gantry_runtime_threads(const gantry_runtime_t *runtime);

/** A kernel: computes work items begin..end-1. `buffers` are operands, then results, 64-byte
 * aligned. Any partition of the items must give the same bytes; disjoint ranges may run at the same
 * time. */
typedef void (*gantry_kernel_t)(void *const *buffers, int64_t begin, int64_t end);

/** Makes `kernel` known to plans that are loaded afterwards, as the target of custom ops of that
 * name. INVALID_ARGUMENT when the name has another kernel already. */
GANTRY_API gantry_status_t gantry_kernel_register(gantry_runtime_t *runtime, const char *name,
                                                  gantry_kernel_t kernel);

/** What a copy joins; index into the arrays of gantry_device_info_t. */
typedef enum gantry_copy_kind_t {
  GANTRY_COPY_SAME_DEVICE = 0,
  GANTRY_COPY_HOST_TO_DEVICE = 1,
  GANTRY_COPY_DEVICE_TO_HOST = 2,
  GANTRY_COPY_DEVICE_TO_DEVICE = 3
} gantry_copy_kind_t;
#define GANTRY_NUM_COPY_KINDS 4

typedef struct gantry_copy_count_t {
  uint64_t copies; /**< values */
  uint64_t bytes;
  uint64_t transfers; /**< at most `copies`: small values may go together */
} gantry_copy_count_t;

/** A device that loaded plans use, with its memory and counters at this moment. */
typedef struct gantry_device_info_t {
  size_t struct_size;   /**< set to sizeof(gantry_device_info_t) before the call */
  const char *name;     /**< full: /job:localhost/replica:0/task:0/device:CPU:0 */
  const char *driver;   /**< "host", "sim" */
  uint64_t total_bytes; /**< of the machine or container */
  uint64_t free_bytes;
  uint64_t limit_bytes;  /**< 0: none */
  uint64_t bytes_in_use; /**< allocated by Gantry */
  uint64_t peak_bytes;
  uint64_t mapped_bytes; /**< constants used in place from plan files; not in bytes_in_use */
  uint64_t allocations;
  uint64_t copies; /**< values that were copied */
  uint64_t copied_bytes;
  uint64_t staged_copies; /**< of inputs and outputs whose memory was not aligned or not there */
  uint64_t staged_bytes;
  /** `copies` by kind, counted on the GPU of the two, between GPUs on the target: what the plan's
   * copy ledger says for one run, times the runs. */
  gantry_copy_count_t run_copies[GANTRY_NUM_COPY_KINDS];
  /** Constants that loaded plans want on another device than they are used on. */
  gantry_copy_count_t load_copies[GANTRY_NUM_COPY_KINDS];
  /** Memory of the host that is locked for copies to and from a GPU; not in bytes_in_use. What the
   * parts of one GPU share, each of them tells. */
  uint64_t pinned_bytes;
  /** Arrays (array.h) that were read, written or copied outside of runs, by kind. */
  gantry_copy_count_t array_copies[GANTRY_NUM_COPY_KINDS];
} gantry_device_info_t;

GANTRY_API size_t gantry_runtime_num_devices(const gantry_runtime_t *runtime);
GANTRY_API gantry_status_t gantry_runtime_device(const gantry_runtime_t *runtime, size_t index,
                                                 gantry_device_info_t *info);

/* ---- plan -------------------------------------------------------------------------------------
 */

/** Maps and loads a plan file, which must stay as it is while the plan lives: replace it by
 * renaming another over it, since writing into it would change weights at work, and cutting it off
 * would end the process with SIGBUS. Errors: NOT_FOUND (file, or a custom kernel), CORRUPT,
 * UNSUPPORTED (format version; a kernel without a variant that runs here, by name), UNAVAILABLE
 * (driver), DOES_NOT_FIT. */
GANTRY_API gantry_status_t gantry_plan_load(gantry_runtime_t *runtime, const char *path,
                                            gantry_plan_t **plan);

/** Called when borrowed bytes are no longer needed; from any thread. */
typedef void (*gantry_release_t)(void *context);

/** Loads a plan from memory. With `release` null the bytes are copied. Otherwise they are used in
 * place, must start at a 64-byte boundary and stay unchanged until `release` is called, once, also
 * when loading fails. */
GANTRY_API gantry_status_t gantry_plan_load_memory(gantry_runtime_t *runtime, const void *data,
                                                   size_t size, gantry_release_t release,
                                                   void *context, gantry_plan_t **plan);
GANTRY_API void gantry_plan_destroy(gantry_plan_t *plan);

/** An input, output or variable. Pointers live as long as the plan or state that was asked. */
typedef struct gantry_tensor_info_t {
  const char *name;
  gantry_element_type_t element;
  uint32_t rank;
  const int64_t *dims; /**< `rank` of them */
  uint64_t size;       /**< bytes */
  const char *device;  /**< full name */
} gantry_tensor_info_t;

GANTRY_API uint32_t gantry_plan_num_functions(const gantry_plan_t *plan);
/** Null when there is no such function. */
GANTRY_API const char *gantry_plan_function_name(const gantry_plan_t *plan, uint32_t function);
/** NOT_FOUND lists the functions. */
GANTRY_API gantry_status_t gantry_plan_find_function(const gantry_plan_t *plan, const char *name,
                                                     uint32_t *function);

/** 0 when there is no such function. */
GANTRY_API uint32_t gantry_plan_num_inputs(const gantry_plan_t *plan, uint32_t function);
GANTRY_API uint32_t gantry_plan_num_outputs(const gantry_plan_t *plan, uint32_t function);
GANTRY_API gantry_status_t gantry_plan_input(const gantry_plan_t *plan, uint32_t function,
                                             uint32_t index, gantry_tensor_info_t *info);
GANTRY_API gantry_status_t gantry_plan_output(const gantry_plan_t *plan, uint32_t function,
                                              uint32_t index, gantry_tensor_info_t *info);
/** NOT_FOUND lists the inputs or outputs with their types. */
GANTRY_API gantry_status_t gantry_plan_find_input(const gantry_plan_t *plan, uint32_t function,
                                                  const char *name, uint32_t *index);
GANTRY_API gantry_status_t gantry_plan_find_output(const gantry_plan_t *plan, uint32_t function,
                                                   const char *name, uint32_t *index);

/** The input that output `output` may lie over: where a caller gives that input's array away, it
 * can be bound to the output as well (gantry_bindings_set_output_array_at, `outputs` of
 * gantry_session_call), and the run leaves the output in it, without memory for both. -1 when there
 * is none, and then binding one array to both is an INVALID_ARGUMENT of the run. */
GANTRY_API int64_t gantry_plan_output_over(const gantry_plan_t *plan, uint32_t function,
                                           uint32_t output);

/** Which variant of a kernel runs on a device: of those for the device's driver, the first whose
 * needs this machine meets. Pointers live as long as the plan. */
typedef struct gantry_kernel_choice_t {
  size_t struct_size; /**< set to sizeof(gantry_kernel_choice_t) before the call */
  const char *kernel;
  const char *device; /**< full name */
  const char *driver;
  uint32_t variant;        /**< its number among all of the kernel's */
  const char *description; /**< "code of x86-64 avx2 on host" */
  /** What the variants for the driver before it lack here; empty when it is the first of them. */
  const char *passed_over;
} gantry_kernel_choice_t;

/** One for each kernel on each device that launches it. */
GANTRY_API size_t gantry_plan_num_kernel_choices(const gantry_plan_t *plan);
GANTRY_API gantry_status_t gantry_plan_kernel_choice(const gantry_plan_t *plan, size_t index,
                                                     gantry_kernel_choice_t *choice);

/** The plan file, to be saved or shown (show.h): `*size` bytes at a 64-byte boundary that live as
 * long as the plan. Null, and a size of 0, when the plan is null. */
GANTRY_API const void *gantry_plan_data(const gantry_plan_t *plan, size_t *size);

/** Everything that the plan says about itself, as JSON: producer, devices, arenas, constants,
 * variables, code, kernels and, for each function, inputs, outputs, commands, values and placed
 * ops. Keys are the names of include/gantry/Plan/Plan.fbs. The text lives as long as the plan. */
GANTRY_API gantry_status_t gantry_plan_describe_json(const gantry_plan_t *plan, const char **json);

/* ---- state ------------------------------------------------------------------------------------
 */

/** Variables with the values that the graph gives them, else zeros. Sessions that are given the
 * same state share them. */
GANTRY_API gantry_status_t gantry_state_create(const gantry_plan_t *plan, gantry_state_t **state);
GANTRY_API void gantry_state_destroy(gantry_state_t *state);

GANTRY_API uint32_t gantry_state_num_variables(const gantry_state_t *state);
GANTRY_API gantry_status_t gantry_state_variable(const gantry_state_t *state, uint32_t index,
                                                 gantry_tensor_info_t *info);
/** The variable that variable `index` is a mirror of, by name; null when it is none. */
GANTRY_API const char *gantry_state_mirror_of(const gantry_state_t *state, uint32_t index);

/** Copies a variable out or in; `size` must be its size in bytes. Waits for runs that use it. What
 * is written to a variable is written to its mirrors on other devices, which are called
 * NAME/replica_I. */
GANTRY_API gantry_status_t gantry_state_read(const gantry_state_t *state, const char *name,
                                             void *data, size_t size);
GANTRY_API gantry_status_t gantry_state_write(gantry_state_t *state, const char *name,
                                              const void *data, size_t size);

/** Copies `count` variables out or in with no run in between; each value has exactly its variable's
 * type, and writing does not change it. All are checked before the first is
 * copied: when a call fails with NOT_FOUND, which lists the variables, or INVALID_ARGUMENT (another
 * type; given twice), nothing has been copied. Variables that are not given keep their values.
 * Mirrors can be read, but only be written through their variable.
 *
 * With these a checkpoint can have any form: its variables are those that gantry_state_mirror_of
 * gives null for (examples/checkpoint.c). gantry_state_save has one. */
GANTRY_API gantry_status_t gantry_state_read_values(const gantry_state_t *state,
                                                    const gantry_value_t *values, size_t count);
GANTRY_API gantry_status_t gantry_state_write_values(gantry_state_t *state,
                                                     const gantry_value_t *values, size_t count);

/* ---- files of tensors -------------------------------------------------------------------------
 *
 * .safetensors: a header of JSON with names, types and places, then the tensors' bytes. Files of
 * other programs are read as those of this one; types that Gantry has not are UNSUPPORTED, and all
 * else that is wrong with a file is CORRUPT, with what is wrong: nothing in it is trusted. */

/** What gantry_state_load does beyond loading all or nothing. */
typedef enum gantry_state_load_t {
  GANTRY_STATE_LOAD_KEEP_MISSING = 1, /**< variables that the file lacks keep their values */
  GANTRY_STATE_LOAD_SKIP_UNKNOWN = 2  /**< tensors whose name no variable has are passed over */
} gantry_state_load_t;

/** Writes all variables but mirrors, so that a file of eight devices loads on one. `metadata_json`
 * is a JSON object of texts, {"step": "100"}, or null. Runs that write variables wait until it is
 * done; nothing is copied but variables on GPUs, one at a time. The file is written beside its
 * place, synchronised with the disk and renamed: under `path` there is the old file or the new one,
 * whatever happens, and the new one for good when this returns GANTRY_OK. The same values give the
 * same bytes. INVALID_ARGUMENT for metadata of another form, and when the file cannot be written;
 * DOES_NOT_FIT. */
GANTRY_API gantry_status_t gantry_state_save(const gantry_state_t *state, const char *path,
                                             const char *metadata_json);

/** Gives variables, with their mirrors, the values of a file, by name. `names_json` says which
 * tensors have other names than their variables: a JSON object, {"fc.weight": "dense/weight"},
 * where null passes a tensor over; it may be null itself. `flags` are those of gantry_state_load_t,
 * or 0: then each variable has to be in the file, and each tensor of it has to be one's.
 *
 * The values are read where the file is mapped, with no run in between. All are checked before the
 * first is written: no variable has changed when this fails, unless a device does. NOT_FOUND for no
 * such file, and lists the variables where a tensor is no one's, or those that the file lacks;
 * INVALID_ARGUMENT for a variable of another type, by name, and a map that is none; CORRUPT;
 * UNSUPPORTED. */
GANTRY_API gantry_status_t gantry_state_load(gantry_state_t *state, const char *path,
                                             const char *names_json, uint32_t flags);

/** A file that is mapped, with its tensors. It must stay as it is meanwhile, as a plan's. */
typedef struct gantry_tensor_file_t gantry_tensor_file_t;

/** Maps and checks a file. NOT_FOUND, INVALID_ARGUMENT (no regular file), CORRUPT, UNSUPPORTED. */
GANTRY_API gantry_status_t gantry_tensor_file_load(const char *path, gantry_tensor_file_t **file);
GANTRY_API void gantry_tensor_file_destroy(gantry_tensor_file_t *file);

GANTRY_API size_t gantry_tensor_file_num_tensors(const gantry_tensor_file_t *file);
/** Tensors in the order of the header. The pointers live as long as the file; `data` is read only,
 * and may lie at any address. */
GANTRY_API gantry_status_t gantry_tensor_file_tensor(const gantry_tensor_file_t *file, size_t index,
                                                     gantry_value_t *tensor);
/** What the file says besides, a JSON object of texts, which lives as long as the file. */
GANTRY_API const char *gantry_tensor_file_metadata(const gantry_tensor_file_t *file);

/** Writes a file as gantry_state_save does, of `count` tensors in memory of the host.
 * INVALID_ARGUMENT for a name that is given twice or is not UTF-8, too. */
GANTRY_API gantry_status_t gantry_tensor_file_save(const char *path, const gantry_value_t *tensors,
                                                   size_t count, const char *metadata_json);

/* ---- session ----------------------------------------------------------------------------------
 */

/** Takes the memory for running the plan's functions. `state` may be null: the session then has one
 * of its own if the plan has variables. DOES_NOT_FIT says what is missing. */
GANTRY_API gantry_status_t gantry_session_create(const gantry_plan_t *plan, gantry_state_t *state,
                                                 gantry_session_t **session);
GANTRY_API void gantry_session_destroy(gantry_session_t *session);

/** The state that the session uses, as a handle of its own; `*state` is null for plans without
 * variables. */
GANTRY_API gantry_status_t gantry_session_state(const gantry_session_t *session,
                                                gantry_state_t **state);

/** Inputs and outputs for runs of a function, with every session of the plan. */
GANTRY_API gantry_status_t gantry_bindings_create(const gantry_plan_t *plan, uint32_t function,
                                                  gantry_bindings_t **bindings);
GANTRY_API void gantry_bindings_destroy(gantry_bindings_t *bindings);

/** Binds a row-major, contiguous array of exactly the declared type. It is read (or written) by
 * each run until another is bound. 64-byte aligned arrays are used in place; others are copied
 * through an aligned buffer at each run. INVALID_ARGUMENT says what was expected; NOT_FOUND lists
 * the names. */
GANTRY_API gantry_status_t gantry_bindings_set_input(gantry_bindings_t *bindings, const char *name,
                                                     const void *data,
                                                     gantry_element_type_t element,
                                                     const int64_t *dims, uint32_t rank);
GANTRY_API gantry_status_t gantry_bindings_set_output(gantry_bindings_t *bindings, const char *name,
                                                      void *data, gantry_element_type_t element,
                                                      const int64_t *dims, uint32_t rank);
/** The same by position. */
GANTRY_API gantry_status_t gantry_bindings_set_input_at(gantry_bindings_t *bindings, uint32_t index,
                                                        const void *data,
                                                        gantry_element_type_t element,
                                                        const int64_t *dims, uint32_t rank);
GANTRY_API gantry_status_t gantry_bindings_set_output_at(gantry_bindings_t *bindings,
                                                         uint32_t index, void *data,
                                                         gantry_element_type_t element,
                                                         const int64_t *dims, uint32_t rank);

/** The same with an array in memory of the device that gantry_plan_input or gantry_plan_output
 * names: for a GPU, a CUdeviceptr in the primary context of the GPU that it is bound to. It is used
 * where it is and stays the caller's, who keeps it until another is bound or the last run is over.
 * Memory of another library, and what gantry_bindings_output gives of an output on that device, are
 * alike. INVALID_ARGUMENT when it is elsewhere or does not start at a multiple of 64 bytes. A plan
 * has inputs and outputs on a GPU when they were placed there; on a CPU this is set_input. */
GANTRY_API gantry_status_t gantry_bindings_set_device_input(gantry_bindings_t *bindings,
                                                            const char *name, const void *data,
                                                            gantry_element_type_t element,
                                                            const int64_t *dims, uint32_t rank);
GANTRY_API gantry_status_t gantry_bindings_set_device_output(gantry_bindings_t *bindings,
                                                             const char *name, void *data,
                                                             gantry_element_type_t element,
                                                             const int64_t *dims, uint32_t rank);
GANTRY_API gantry_status_t gantry_bindings_set_device_input_at(gantry_bindings_t *bindings,
                                                               uint32_t index, const void *data,
                                                               gantry_element_type_t element,
                                                               const int64_t *dims, uint32_t rank);
GANTRY_API gantry_status_t gantry_bindings_set_device_output_at(gantry_bindings_t *bindings,
                                                                uint32_t index, void *data,
                                                                gantry_element_type_t element,
                                                                const int64_t *dims, uint32_t rank);

/** Orders later runs with a CUstream of a GPU that they run on, in its primary context (its default
 * stream: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD); null: with none. What is on the stream when a
 * run starts comes before the run's work on GPUs; what is put there after gantry_session_submit has
 * returned comes after it, without the host waiting, so that arrays on the device can go on to the
 * caller's own kernels at once. Arrays in memory of the host are read and written by the host: they
 * must be ready when the run starts, and are when its fence is done. The stream stays the caller's,
 * who keeps it until the last run is over. FAILED_PRECONDITION while a run goes on. Runs return
 * UNSUPPORTED where the function runs on no GPU through CUDA, INVALID_ARGUMENT for a stream of
 * another context, FAILED_PRECONDITION for one that is being captured. */
GANTRY_API gantry_status_t gantry_bindings_set_stream(gantry_bindings_t *bindings, void *stream);

/** The data of an output: the bound array, or memory of the bindings', valid until the next run
 * with these bindings or their end. It is memory of the output's device: of an output on a GPU, an
 * address there, which stays where it is in all runs. */
GANTRY_API gantry_status_t gantry_bindings_output(gantry_bindings_t *bindings, const char *name,
                                                  const void **data);
GANTRY_API gantry_status_t gantry_bindings_output_at(gantry_bindings_t *bindings, uint32_t index,
                                                     const void **data);

/** Later runs with these bindings end with CANCELLED before their next command once the token is
 * set; null: never. A command that has begun, a kernel or a copy, goes on to its end. Outputs then
 * hold anything; variables keep what the commands before have written. */
GANTRY_API gantry_status_t gantry_bindings_set_cancel(gantry_bindings_t *bindings,
                                                      const gantry_cancel_t *cancel);

/** Runs the bindings' function to its end. Allocates nothing from the second run on. A plan that
 * was compiled with `check-indices` ends the run with INVALID_ARGUMENT at an index that is out of
 * range; outputs then hold anything, no variable has changed, and the session can be run again. */
GANTRY_API gantry_status_t gantry_session_run(gantry_session_t *session,
                                              gantry_bindings_t *bindings);

/** What the session's last run did on the virtual clock of simulated devices, in the order in which
 * it did, a command in a loop once for each round: the first `capacity` of it into `moments`, which
 * may be null when that is 0, and how much there is into `*count`. 0 before the first run, and when
 * no device is simulated. gantry_show_options_t takes it (show.h). */
GANTRY_API gantry_status_t gantry_session_timeline(const gantry_session_t *session,
                                                   gantry_moment_t *moments, size_t capacity,
                                                   size_t *count);

/** Starts a run. On the host and on simulated devices the work is done by the calling thread,
 * before this returns; other devices may still be at work then. Until the run is over the bound
 * arrays must stay as they are, and nothing can be bound anew (FAILED_PRECONDITION). The fence
 * keeps session, bindings, plan and state alive: their handles may be destroyed before it. A second
 * run of the session, and reading or writing variables that the run uses, waits for the run.
 *
 * Errors of this call are those of the arguments; what goes wrong in the run, the fence tells. */
GANTRY_API gantry_status_t gantry_session_submit(gantry_session_t *session,
                                                 gantry_bindings_t *bindings,
                                                 gantry_fence_t **fence);
/** 1 when the run is over. */
GANTRY_API int gantry_fence_done(const gantry_fence_t *fence);
/** Waits for the run and gives its outcome: GANTRY_OK, or why it failed, with the op by name.
 * May be called again, and from any thread; so may the next two. */
GANTRY_API gantry_status_t gantry_fence_wait(gantry_fence_t *fence);
/** Without waiting: `*done` is 0 and the status GANTRY_OK while the run goes on; then `*done` is 1
 * and the status is the run's outcome. */
GANTRY_API gantry_status_t gantry_fence_poll(const gantry_fence_t *fence, int *done);
/** The same after waiting for the run for at most that many nanoseconds. */
GANTRY_API gantry_status_t gantry_fence_wait_for(const gantry_fence_t *fence, uint64_t nanoseconds,
                                                 int *done);
/** Told how a run ended: its status, and the message, "" for GANTRY_OK, for the time of the call.
 */
typedef void (*gantry_done_t)(void *context, gantry_status_t status, const char *message);
/** Calls `callback` once: before this returns when the run is over, else at its end on a thread of
 * the library's, which must not be kept waiting and may not call into this library. */
GANTRY_API gantry_status_t gantry_fence_on_done(const gantry_fence_t *fence, gantry_done_t callback,
                                                void *context);
/** Waits for a run that still goes on. */
GANTRY_API void gantry_fence_destroy(gantry_fence_t *fence);

/** Time of a command in one run, summed over the passes of a loop. Strings live as long as the plan
 * and are empty where the plan has none. */
typedef struct gantry_command_time_t {
  const char *name;   /**< stable name of the op */
  const char *kernel; /**< symbol; "copy" or "fill" for those */
  const char *location;
  const char *device;
  uint64_t nanoseconds;
  uint64_t calls;
} gantry_command_time_t;

/** Runs once with a clock around each command. Gives up to `capacity` times in order of first
 * execution in `times` and the number of all in `*count`. */
GANTRY_API gantry_status_t gantry_session_run_timed(gantry_session_t *session,
                                                    gantry_bindings_t *bindings,
                                                    gantry_command_time_t *times, size_t capacity,
                                                    size_t *count);

#ifdef __cplusplus
}
#endif
#endif
