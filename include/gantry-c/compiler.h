/* Gantry C API, compiler half (libgantry-compiler): graph file in, plan out.
 *
 * The tool opens this library with dlopen only when it is given a graph, so that running a plan
 * needs no MLIR. Ownership and errors: common.h. */
#ifndef GANTRY_C_COMPILER_H
#define GANTRY_C_COMPILER_H

#include "gantry-c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a compilation made: a plan's bytes, or text when a phase was asked for. */
typedef struct gantry_artifact_t gantry_artifact_t;

/** Compiles the graph in `file` (.mlir text or bytecode, .onnx; "-" reads standard input).
 *
 * `flags` are the compile flags of the tool (include/gantry/Support/CompileFlags.def), each one
 * string "name=value" or "name", without leading dashes and in the order given: "dim=batch=8",
 * "stop-after=simplify". More are for programs: "write-to=FILE" writes the plan straight to a
 * file, streaming the weights; the artifact is then empty. With "write-above=BYTES" that is done
 * for a plan only whose constants take at least so many bytes. "why-not=OP=DEVICE" asks instead of
 * compiling: the artifact is text, the least that would have to change for the op to be there.
 * Diagnostics go to `log`, one call a line, with locations in the graph file. `*artifact` is set on
 * success only. Thread-safe; concurrent calls are independent but for linking, which is serialised.
 * Errors: INVALID_ARGUMENT for all that is wrong with file, graph or flags, or not supported; each
 * fault was logged, and the first is gantry_compiler_last_error(). */
GANTRY_API gantry_status_t gantry_compile(const char *file, const char *const *flags,
                                          size_t num_flags, gantry_log_callback_t log,
                                          void *context, gantry_artifact_t **artifact);

/** As gantry_compile, but only says what of the graph is supported: the artifact is a report for
 * people, or JSON with the flag "json". GANTRY_UNSUPPORTED when something is not, with the artifact
 * set all the same. */
GANTRY_API gantry_status_t gantry_check(const char *file, const char *const *flags,
                                        size_t num_flags, gantry_log_callback_t log, void *context,
                                        gantry_artifact_t **artifact);

/** The artifact's bytes: `*size` of them, 64-byte aligned, valid until it is destroyed. */
GANTRY_API const void *gantry_artifact_data(const gantry_artifact_t *artifact, size_t *size);
GANTRY_API void gantry_artifact_destroy(gantry_artifact_t *artifact);

/** Prints a plan file as text of the plan dialect (what --stop-after=memory prints for its graph).
 */
GANTRY_API gantry_status_t gantry_plan_to_text(const void *plan, size_t size,
                                               gantry_artifact_t **artifact);

/** Message of the calling thread's last failing call into this library; never null. */
GANTRY_API const char *gantry_compiler_last_error(void);

/** Version of this library, "0.1.0". */
GANTRY_API const char *gantry_compiler_version(void);

#ifdef __cplusplus
}
#endif
#endif
