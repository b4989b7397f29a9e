/* Gantry C API, graphs call by call (libgantry-compiler): functions of ops, without text between.
 *
 *   gantry_graph_create(compiler, NULL, &graph);
 *   gantry_graph_function(graph, "main");
 *   gantry_graph_argument(graph, &argument, &x);
 *   gantry_graph_op(graph, &relu, &y, 1, NULL);
 *   gantry_graph_return(graph, &output, 1);
 *   request.graph = graph;  gantry_compile(&request, &artifact);
 *
 * Ops infer the types of their results and verify themselves, so that a mistake is the error of the
 * call that makes it. gantry_op_table_json lists the ops, their operands and attributes.
 *
 * After an error the graph is as it was before the call; its message is
 * gantry_compiler_last_error's and goes in parts to the callback of gantry_graph_options_t. A graph
 * is used by one thread at a time; graphs are independent. Ownership: common.h. */
#ifndef GANTRY_C_GRAPH_H
#define GANTRY_C_GRAPH_H

#include "gantry-c/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ops --------------------------------------------------------------------------------------
 */

/** Every op that gantry_graph_op and gantry_graph_begin_op take, as JSON, in the order of their
 * names; made from their definitions; "version" 1 gains keys. Lives as long as the library.
 *
 *   {"version": 1, "ops": [{
 *     "name": "conv", "summary": "...", "description": "...",
 *     "operands": [{"name": "input", "arity": "one" | "optional" | "variadic",
 *                   "elements": ["f32", ...]}],
 *     "attributes": [{"name": "strides", "kind": KIND, "optional": false}],
 *     "results": [{"name": "result", "arity": ..., "elements": [...]}],
 *     "regions": [{"name": "then_body", "variadic": false}],
 *     "kernel": ["f32", ...],
 *     "infers_types": true, "log_name": "Conv2D", "stage": "graph"}]}
 *
 * KIND is that of gantry_attribute_t in lower case: "unit", "int", "float", "string", "ints",
 * "floats", "symbol", "device", "devices", "enum" (with "enum": {"name": "pad_mode", "cases":
 * ["constant", ...]}), or "text" for what is written as MLIR writes it. `kernel` is there of ops
 * that run as kernels: CPUs and GPUs have one for these elements of the first operand, or of the
 * result of ops that are made of attributes and a key. `infers_types` is false for ops whose result
 * types the caller gives. `stage` is "graph", or "compiler" for ops that passes make and graphs do
 * not hold. */
GANTRY_API const char *gantry_op_table_json(void);

/* ---- graph ------------------------------------------------------------------------------------
 */

/** Zero-initialise, set struct_size, then what matters to you. */
typedef struct gantry_graph_options_t {
  size_t struct_size;                    /**< sizeof(gantry_graph_options_t) */
  const char *name;                      /**< what plans and messages call it; null: "<graph>" */
  gantry_diagnostic_callback_t diagnose; /**< what is wrong with a call, in parts; may be null */
  void *diagnose_context;
} gantry_graph_options_t;

/** An empty graph. `options` may be null; so may `compiler`: a context of the graph's own, which
 * takes milliseconds to make. */
GANTRY_API gantry_status_t gantry_graph_create(gantry_compiler_t *compiler,
                                               const gantry_graph_options_t *options,
                                               gantry_graph_t **graph);
/** No compilation of it may go on. Constants' bytes are given back here at the latest. */
GANTRY_API void gantry_graph_destroy(gantry_graph_t *graph);

/** A value of a graph, by number: what an argument, a constant or an op gives. Never reused. */
typedef uint32_t gantry_graph_value_t;

/** Element type and shape. */
typedef struct gantry_tensor_type_t {
  gantry_element_type_t element;
  uint32_t rank;
  const int64_t *dims; /**< `rank` of them, -1 for an open one; may be null for a scalar */
} gantry_tensor_type_t;

/** What is known of a value; its dims live as long as the graph. */
GANTRY_API gantry_status_t gantry_graph_value_type(const gantry_graph_t *graph,
                                                   gantry_graph_value_t value,
                                                   gantry_tensor_type_t *type);

/* ---- where things come from and where they go -------------------------------------------------
 */

/** What is made from now on comes from that line (from 1; 0: not known) and column of a file, which
 * messages, logs and plans then tell. Folders are left out, so that a plan does not depend on them.
 * A null file: from nowhere, as at first. */
GANTRY_API gantry_status_t gantry_graph_location(gantry_graph_t *graph, const char *file,
                                                 uint32_t line, uint32_t column);

/** What may become of a request that cannot be met. */
typedef enum gantry_soft_t {
  GANTRY_SOFT_UNSET = 0,  /**< the flag "soft-placement" decides */
  GANTRY_SOFT_STRICT = 1, /**< it is obeyed or refused */
  GANTRY_SOFT_PREFER = 2, /**< another id, then another type, with a remark */
  GANTRY_SOFT_ANY = 3     /**< it only breaks ties */
} gantry_soft_t;

/** Ops and constants that are made until the matching gantry_graph_pop_device ask for the device,
 * by name; inner scopes are merged into outer ones part by part, as gantry_device_name_merge does.
 * The place is the current location. INVALID_ARGUMENT when it is no name of a device. */
GANTRY_API gantry_status_t gantry_graph_push_device(gantry_graph_t *graph, const char *device,
                                                    gantry_soft_t soft);
/** FAILED_PRECONDITION when there is no scope, or it was begun outside of the open region. */
GANTRY_API gantry_status_t gantry_graph_pop_device(gantry_graph_t *graph);

/* ---- functions, variables, constants ----------------------------------------------------------
 */

/** Begins a function; what follows goes into it until gantry_graph_return. FAILED_PRECONDITION
 * while another is open; INVALID_ARGUMENT when the name is taken. */
GANTRY_API gantry_status_t gantry_graph_function(gantry_graph_t *graph, const char *name);

/** An input of the open function. Zero-initialise, set struct_size, then what matters. */
typedef struct gantry_graph_argument_t {
  size_t struct_size; /**< sizeof(gantry_graph_argument_t) */
  const char *name;   /**< null: "input0" and so on */
  gantry_tensor_type_t type;
  const char *const *dim_names; /**< `rank` of them, what the flag "dim" calls open dimensions;
                                   null, also in the list: NAME:AXIS */
  const char *device;           /**< where it is handed over; null: on the host */
} gantry_graph_argument_t;

/** At any time, also while a region is open: the input is the function's, and its value can be used
 * until gantry_graph_return. INVALID_ARGUMENT when an input has the name. */
GANTRY_API gantry_status_t gantry_graph_argument(gantry_graph_t *graph,
                                                 const gantry_graph_argument_t *argument,
                                                 gantry_graph_value_t *value);

/** Elements of a constant: row-major and contiguous, GANTRY_I1 a byte each. Zero-initialise, set
 * struct_size, then what matters. */
typedef struct gantry_graph_constant_t {
  size_t struct_size; /**< sizeof(gantry_graph_constant_t) */
  gantry_tensor_type_t type;
  const void *data;
  /** Called once, when `data` is no longer read: in this call, also when it fails, or in
   * gantry_graph_destroy. Null: the bytes are copied in the call. */
  void (*release)(void *context);
  void *release_context;
  const char *name; /**< stable name; null: made up */
} gantry_graph_constant_t;

GANTRY_API gantry_status_t gantry_graph_constant(gantry_graph_t *graph,
                                                 const gantry_graph_constant_t *constant,
                                                 gantry_graph_value_t *value);

/** A value that outlives runs, and which all functions share: it is read, assigned and added to by
 * the ops "read", "assign", "assign_add" and "optimizer_step"; their attribute `variable` names it.
 */
typedef struct gantry_graph_variable_t {
  size_t struct_size; /**< sizeof(gantry_graph_variable_t) */
  /** Before the first run; its name is the variable's. Without `data`: zeros, which take no bytes
   * of a plan. */
  const gantry_graph_constant_t *initial;
  const char *device; /**< where it lives; null: placement decides */
  gantry_soft_t soft;
  int is_central; /**< 1: replicas share the one; 0: each has a mirror */
} gantry_graph_variable_t;

/** INVALID_ARGUMENT when the name is taken. */
GANTRY_API gantry_status_t gantry_graph_variable(gantry_graph_t *graph,
                                                 const gantry_graph_variable_t *variable);

/** What a function gives. */
typedef struct gantry_graph_output_t {
  gantry_graph_value_t value;
  const char *name;   /**< null: "output0" and so on */
  const char *device; /**< where it is handed over; null: on the host */
} gantry_graph_output_t;

/** Ends the open function. FAILED_PRECONDITION while a region or a device's scope is open in it. */
GANTRY_API gantry_status_t gantry_graph_return(gantry_graph_t *graph,
                                               const gantry_graph_output_t *outputs, size_t count);

/* ---- ops --------------------------------------------------------------------------------------
 */

/** What an attribute holds; the op table says which kind each attribute is. */
typedef enum gantry_attribute_kind_t {
  GANTRY_ATTRIBUTE_UNIT = 0,    /**< `integer`: not 0 when it is there */
  GANTRY_ATTRIBUTE_INT = 1,     /**< `integer` */
  GANTRY_ATTRIBUTE_FLOAT = 2,   /**< `number` */
  GANTRY_ATTRIBUTE_STRING = 3,  /**< `text` */
  GANTRY_ATTRIBUTE_INTS = 4,    /**< `integers`, `count` */
  GANTRY_ATTRIBUTE_FLOATS = 5,  /**< `numbers`, `count` */
  GANTRY_ATTRIBUTE_SYMBOL = 6,  /**< `text`: the name of a variable or function */
  GANTRY_ATTRIBUTE_DEVICE = 7,  /**< `text`: the name of a device */
  GANTRY_ATTRIBUTE_DEVICES = 8, /**< `texts`, `count` */
  GANTRY_ATTRIBUTE_ENUM = 9,    /**< `text`: the case, "reflect" */
  GANTRY_ATTRIBUTE_TEXT = 10    /**< `text`: as MLIR writes it, "array<i64: 1, 2>" */
} gantry_attribute_kind_t;

typedef struct gantry_attribute_t {
  const char *name;
  gantry_attribute_kind_t kind;
  size_t count; /**< of `integers`, `numbers`, `texts` */
  union {
    int64_t integer;
    double number;
    const char *text;
    const int64_t *integers;
    const double *numbers;
    const char *const *texts;
  } value;
} gantry_attribute_t;

/** An op to make. Zero-initialise, set struct_size, then `name` and what it needs; everything is
 * borrowed for the call. */
typedef struct gantry_graph_op_t {
  size_t struct_size;                   /**< sizeof(gantry_graph_op_t) */
  const char *name;                     /**< "matmul" or "gantry.matmul" */
  const gantry_graph_value_t *operands; /**< an optional one that is not given is left out */
  size_t num_operands;
  const gantry_attribute_t *attributes;
  size_t num_attributes;
  /** Types of the results, for ops that do not infer them; null: inferred. Given all the same, they
   * must agree with what is inferred and may leave dimensions open. */
  const gantry_tensor_type_t *result_types;
  size_t num_result_types;
  const char *label; /**< stable name, which logs and messages tell; null: made up */
} gantry_graph_op_t;

/** Makes an op. Gives up to `capacity` of its results and, where `count` is not null, the number of
 * all. INVALID_ARGUMENT for what the op's verifier refuses, and for an op that is not in the table
 * or has regions. */
GANTRY_API gantry_status_t gantry_graph_op(gantry_graph_t *graph, const gantry_graph_op_t *op,
                                           gantry_graph_value_t *results, size_t capacity,
                                           size_t *count);

/** Begins an op with regions ("if", "while", "replicate", "gradient"). Then come its regions, each
 * between gantry_graph_begin_region and gantry_graph_end_region, in the table's order, then
 * gantry_graph_end_op. They nest. Without result types, the results have those of what its last
 * region yields; those of "gradient" are what its region yields and the types of the operands that
 * it takes. */
GANTRY_API gantry_status_t gantry_graph_begin_op(gantry_graph_t *graph,
                                                 const gantry_graph_op_t *op);
/** Begins the op's next region with arguments of these types: those of the operands for both
 * regions of "while", none for "if"; what the modes say for "replicate". `arguments` has room for
 * all of them. */
GANTRY_API gantry_status_t gantry_graph_begin_region(gantry_graph_t *graph,
                                                     const gantry_tensor_type_t *types,
                                                     size_t count, gantry_graph_value_t *arguments);
/** Ends the region with what it yields. Values made inside cannot be used after it. */
GANTRY_API gantry_status_t gantry_graph_end_region(gantry_graph_t *graph,
                                                   const gantry_graph_value_t *values,
                                                   size_t count);
/** Ends the op, as gantry_graph_op; when its verifier refuses it, the op is gone. */
GANTRY_API gantry_status_t gantry_graph_end_op(gantry_graph_t *graph, gantry_graph_value_t *results,
                                               size_t capacity, size_t *count);
/** Gives the innermost op that was begun up, with its open region and all that is in it: after an
 * error inside. FAILED_PRECONDITION when there is none. */
GANTRY_API gantry_status_t gantry_graph_abandon_op(gantry_graph_t *graph);

/* ---- text -------------------------------------------------------------------------------------
 */

/** What to print, added up. */
enum {
  GANTRY_PRINT_LOCATIONS = 1, /**< where ops come from; `gantry run` then tells it in messages */
  GANTRY_PRINT_NO_WEIGHTS = 2 /**< leave the bytes of large constants out: to be read, not run */
};

/** The graph as MLIR, a file that `gantry run` takes; valid until the next call with the graph.
 * Open functions are left out. */
GANTRY_API gantry_status_t gantry_graph_print(gantry_graph_t *graph, uint32_t what,
                                              const char **text);

#ifdef __cplusplus
}
#endif
#endif
