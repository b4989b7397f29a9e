/* Gantry C API, compiler half (libgantry-compiler): graph in, plan out.
 *
 * A request says what to compile and how; an artifact is what came of it. The tool opens this
 * library with dlopen only when it is given a graph, so that running a plan needs no MLIR.
 * Ownership and errors: common.h. All calls are thread-safe; concurrent ones are independent but
 * for linking, which is serialised. See examples/compile_in_memory.c. */
#ifndef GANTRY_C_COMPILER_H
#define GANTRY_C_COMPILER_H

#include "gantry-c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a compilation made: a plan's bytes, or text when a phase was asked for. */
typedef struct gantry_artifact_t gantry_artifact_t;

/** What is known of a graph before it is compiled. */
typedef struct gantry_graph_info_t gantry_graph_info_t;

/** A graph that is built call by call: graph.h. */
typedef struct gantry_graph_t gantry_graph_t;

/* ---- compiler ---------------------------------------------------------------------------------
 */

/** What compilations share: threads, and contexts with what they have loaded. A compilation has a
 * context to itself while it goes on; contexts are made as they are needed and given up after a
 * while, so that memory stays flat. What is compiled does not depend on what was compiled before.
 * Any number of threads may compile with one.
 */
typedef struct gantry_compiler_t gantry_compiler_t;

/** Zero-initialise, set struct_size, then what matters to you. */
typedef struct gantry_compiler_options_t {
  size_t struct_size; /**< sizeof(gantry_compiler_options_t) */
  uint32_t threads;   /**< for passes; 0: all available, 1: the calling one alone */
} gantry_compiler_options_t;

/** `options` may be null: the defaults. */
GANTRY_API gantry_status_t gantry_compiler_create(const gantry_compiler_options_t *options,
                                                  gantry_compiler_t **compiler);
/** Graphs that were made with it stay usable. No compilation with it may go on. */
GANTRY_API void gantry_compiler_destroy(gantry_compiler_t *compiler);

/* ---- diagnostics ------------------------------------------------------------------------------
 */

/** What the compiler has to say, in parts. All of it is borrowed for the call that hands it out; no
 * string is null. */
typedef struct gantry_diagnostic_t {
  size_t struct_size; /**< of the library's struct: fields beyond it are not there */
  gantry_severity_t severity;
  gantry_status_t status; /**< of an error: what the call will return if it is the first */
  const char *file;       /**< "layers.py", "model.onnx"; empty when no file is at fault */
  uint32_t line;          /**< from 1; 0: not known, as in files without lines */
  uint32_t column;        /**< from 1; 0: not known */
  const char *node;       /**< stable name of the op, "encoder/dense"; empty: it has none */
  const char *op;         /**< "gantry.matmul" when the text is about one; else empty */
  const char *text;       /**< without place and severity */
  const char *told;       /**< place and text in one line, as a log callback gets it */
  const struct gantry_diagnostic_t *notes;
  size_t num_notes;
} gantry_diagnostic_t;

/** Receives diagnostics, each with its notes. May be called from any thread, one at a time. */
typedef void (*gantry_diagnostic_callback_t)(void *context, const gantry_diagnostic_t *diagnostic);

/* ---- what to compile --------------------------------------------------------------------------
 */

/** A graph and how to compile it. Zero-initialise, set struct_size, then `file`, `data` or `graph`,
 * then what matters to you; everything is borrowed for the call. */
typedef struct gantry_compile_request_t {
  size_t struct_size; /**< sizeof(gantry_compile_request_t) */

  /** The graph: a file (.mlir text, .onnx), or its bytes. The format is told by the content. Give
   * one of them, or `graph` below. MLIR's bytecode is refused, since MLIR does not check what it
   * reads of it; the flag "trust-bytecode" reads files of one's own. */
  const char *file;
  const void *data;
  size_t data_size;
  const char *name;   /**< what messages call `data`; null: "<memory>" */
  const char *folder; /**< where external data of `data` is looked for; null: the current one */

  /** Values of inputs that shapes depend on, which are read, not changed. Each must be an input,
   * which becomes a constant. */
  const gantry_value_t *values;
  size_t num_values;
  /** Values of inputs, of which those are compiled in that shapes depend on; the others stay
   * inputs. gantry_artifact_shape_value tells which. */
  const gantry_value_t *candidates;
  size_t num_candidates;

  /** The compile flags of the tool (include/gantry/Support/CompileFlags.def), each one string
   * "name=value" or "name", without leading dashes and in the order given: "dim=batch=8",
   * "stop-after=simplify". With "train=loss" and "optimizer=adamw,rate=1e-3" the plan trains: its
   * functions are `step` and `evaluate`, its variables the weights (examples/train.c). */
  const char *const *flags;
  size_t num_flags;

  /** A file that the plan is written to, whole or not at all, the weights streamed; the artifact
   * then has no bytes. Null: the artifact has them. */
  const char *output;
  /** An artifact whose constants take at least so many bytes is kept in a nameless file in TMPDIR,
   * which it maps, not in memory; 0: always in memory. */
  uint64_t scratch_above;

  /** Receives diagnostics, one call a line, with locations in the graph; may be null. */
  gantry_log_callback_t log;
  void *log_context;

  /** gantry_compile looks at it between passes, and between pieces of machine code, and writes
   * nothing to `output` once it is set; may be null. */
  const gantry_cancel_t *cancel;

  /** In the place of `file` and `data`: a graph with a function that has returned, which stays as
   * it is and can go on. Its context is used, and `compiler` must be null. */
  gantry_graph_t *graph;
  /** Null: a context of its own, which is made and destroyed. */
  gantry_compiler_t *compiler;
  /** The devices, in the place of the flags "devices" and "topology": what gantry_topology_to_json
   * gives (topology.h); null: as flags and graph say. */
  const char *topology;
  /** Receives diagnostics in parts, beside `log`; may be null. */
  gantry_diagnostic_callback_t diagnose;
  void *diagnose_context;

  /** Not 0: gantry_compile makes an outline of the plan, a plan file to be told of (show.h) and not
   * to be run, in a fraction of the time: without code, and without the bytes of weights. */
  uint32_t outline;
} gantry_compile_request_t;

/* ---- compiling --------------------------------------------------------------------------------
 */

/** Compiles a graph. Errors: INVALID_ARGUMENT for all that is
 * wrong with graph, values or flags, or not supported; DOES_NOT_FIT when a device's memory is too
 * small; CANCELLED. Each fault was logged, and the first is gantry_compiler_last_error(). */
GANTRY_API gantry_status_t gantry_compile(const gantry_compile_request_t *request,
                                          gantry_artifact_t **artifact);

/** Whether the compile flags can be meant, whatever the graph; files that they name are not opened.
 * INVALID_ARGUMENT when not. */
GANTRY_API gantry_status_t gantry_check_flags(const char *const *flags, size_t num_flags);

/** Asks instead of compiling: the artifact is text, the least that would have to change for the ops
 * that `op` describes (a name, a type as "MatMul", or a pattern, as the flag "place" takes them) to
 * be placed on `device`, "GPU:1", and what that would bring: both ways are compiled, without code.
 * Errors as gantry_compile, and INVALID_ARGUMENT for an op or a device that is not there. */
GANTRY_API gantry_status_t gantry_why_not(const gantry_compile_request_t *request, const char *op,
                                          const char *device, gantry_artifact_t **artifact);

/** The artifact's bytes: `*size` of them, 64-byte aligned, valid until it is destroyed. */
GANTRY_API const void *gantry_artifact_data(const gantry_artifact_t *artifact, size_t *size);
/** The candidates that were compiled in, by name: they are inputs of the plan no more. */
GANTRY_API size_t gantry_artifact_num_shape_values(const gantry_artifact_t *artifact);
/** Null when there is no candidate of that index. */
GANTRY_API const char *gantry_artifact_shape_value(const gantry_artifact_t *artifact, size_t index);
/** The files that were read besides the graph's: external data, and those that flags name. With the
 * graph, the flags, the values and this library's version they are all that an artifact depends on.
 */
GANTRY_API size_t gantry_artifact_num_files(const gantry_artifact_t *artifact);
/** Null when there is no file of that index. */
GANTRY_API const char *gantry_artifact_file(const gantry_artifact_t *artifact, size_t index);
GANTRY_API void gantry_artifact_destroy(gantry_artifact_t *artifact);

/** Prints a plan file as text of the plan dialect (what --stop-after=memory prints for its graph).
 */
GANTRY_API gantry_status_t gantry_plan_to_text(const void *plan, size_t size,
                                               gantry_artifact_t **artifact);

/* ---- looking at a graph -----------------------------------------------------------------------
 */

/** Looks at a graph without compiling it: its ports, what is open, what of it is not supported.
 * GANTRY_UNSUPPORTED when something is not, with `*info` set all the same; other errors, without
 * it, are those of gantry_compile. Of the request only the graph, values and flags about them
 * count; with "train=LOSS", or "train=*" for all outputs, what has no gradient is not supported. */
GANTRY_API gantry_status_t gantry_check(const gantry_compile_request_t *request,
                                        gantry_graph_info_t **info);

/** An input or output as the file declares it; borrowed from the graph's info. */
typedef struct gantry_port_t {
  size_t struct_size; /**< set to sizeof(gantry_port_t) before the call */
  const char *name;
  const char *type;             /**< as reports print it: "f32[batch,3,224,224]" */
  int32_t element;              /**< a gantry_element_type_t; -1 for what Gantry has not */
  int32_t rank;                 /**< -1 when it is not declared, and for what is no tensor */
  const int64_t *dims;          /**< `rank` sizes; -1 for an open one */
  const char *const *dim_names; /**< what the flag "dim" calls open ones; null for the others */
} gantry_port_t;

GANTRY_API size_t gantry_graph_info_num_inputs(const gantry_graph_info_t *info);
GANTRY_API gantry_status_t gantry_graph_info_input(const gantry_graph_info_t *info, size_t index,
                                                   gantry_port_t *port);
GANTRY_API size_t gantry_graph_info_num_outputs(const gantry_graph_info_t *info);
GANTRY_API gantry_status_t gantry_graph_info_output(const gantry_graph_info_t *info, size_t index,
                                                    gantry_port_t *port);

/** Dimensions whose sizes are still to be given, with the flag "dim" under these names. The names
 * here and below are null when there is none of that index. */
GANTRY_API size_t gantry_graph_info_num_open_dims(const gantry_graph_info_t *info);
GANTRY_API const char *gantry_graph_info_open_dim(const gantry_graph_info_t *info, size_t index);

/** Inputs whose values decide shapes and are still to be given, as values or candidates. */
GANTRY_API size_t gantry_graph_info_num_shape_inputs(const gantry_graph_info_t *info);
GANTRY_API const char *gantry_graph_info_shape_input(const gantry_graph_info_t *info, size_t index);

/** All that is known, for people and as JSON; both end in a newline. */
GANTRY_API const char *gantry_graph_info_text(const gantry_graph_info_t *info);
GANTRY_API const char *gantry_graph_info_json(const gantry_graph_info_t *info);

GANTRY_API void gantry_graph_info_destroy(gantry_graph_info_t *info);

/** Message of the calling thread's last failing call into this library; never null. */
GANTRY_API const char *gantry_compiler_last_error(void);

/** Version of this library, "0.1.0". */
GANTRY_API const char *gantry_compiler_version(void);

#ifdef __cplusplus
}
#endif
#endif
