/* Gantry C API, what plans say of themselves (libgantry-show): for people as the tool prints it,
 * for programs as JSON, for browsers as a page. Nothing is run, and neither runtime nor compiler is
 * needed: a plan is a file, what gantry_artifact_data gives, or what gantry_plan_data gives of a
 * loaded one.
 *
 * Ownership and errors: common.h; the message of an error is gantry_show_last_error(). All calls
 * are thread-safe, and a view can be shared. What a plan does not keep it does not tell: why an op
 * is *not* somewhere is asked of the compiler and the graph (gantry_why_not, compiler.h). */
#ifndef GANTRY_C_SHOW_H
#define GANTRY_C_SHOW_H

#include "gantry-c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- plans to tell of -------------------------------------------------------------------------
 */

/** A plan that is looked at: its metadata, checked. Weights and code are not read. */
typedef struct gantry_plan_view_t gantry_plan_view_t;

/** Maps a plan file, which must stay as it is while the view lives. Errors: NOT_FOUND, CORRUPT,
 * UNSUPPORTED (format version). */
GANTRY_API gantry_status_t gantry_plan_view_open(const char *path, gantry_plan_view_t **view);

/** Of a plan in memory. Bytes at a 64-byte boundary, as gantry_artifact_data and gantry_plan_data
 * give them, are used in place and must stay as they are until the view is destroyed; others are
 * copied. Errors as gantry_plan_view_open. */
GANTRY_API gantry_status_t gantry_plan_view_of(const void *data, size_t size,
                                               gantry_plan_view_t **view);
GANTRY_API void gantry_plan_view_destroy(gantry_plan_view_t *view);

/* ---- telling ----------------------------------------------------------------------------------
 */

/** A text that was made for the caller. */
typedef struct gantry_text_t gantry_text_t;

/** Ends with a null character and lives as long as the text; null when that is null. */
GANTRY_API const char *gantry_text_string(const gantry_text_t *text);
/** Bytes without that character; 0 when the text is null. */
GANTRY_API size_t gantry_text_size(const gantry_text_t *text);
GANTRY_API void gantry_text_destroy(gantry_text_t *text);

/** What to tell of a plan. */
typedef enum gantry_show_t {
  GANTRY_SHOW_LOG = 0,      /**< where every op runs and what is copied, in the order of a run: the
                               tool's --log-device-placement */
  GANTRY_SHOW_COPIES = 1,   /**< the copies alone, in the same lines */
  GANTRY_SHOW_MEMORY = 2,   /**< of each device, bytes of constants, variables and of a run */
  GANTRY_SHOW_EXPLAIN = 3,  /**< what runs where and why, what takes time, what is copied, what
                               memory it takes: `gantry explain` */
  GANTRY_SHOW_TIMELINE = 4, /**< what every queue does when, as predicted */
  GANTRY_SHOW_REPORT = 5    /**< all of it in pictures: `gantry report` */
} gantry_show_t;

typedef enum gantry_form_t {
  GANTRY_FORM_TEXT = 0, /**< lines for people, each with its newline; of REPORT a page of HTML that
                           loads nothing */
  GANTRY_FORM_JSON = 1  /**< LOG and COPIES: an object a line; MEMORY and TIMELINE: an array of
                           objects; EXPLAIN: an object, REPORT: that with what its pictures draw; of
                           two plans an object with both in "plans" and what differs */
} gantry_form_t;

/** How to tell it. Zero-initialise, set struct_size, then what matters to you. */
typedef struct gantry_show_options_t {
  size_t struct_size;   /**< sizeof(gantry_show_options_t) */
  const char *function; /**< of this one; null: of all. For people, of several each has a line
                           "function NAME:" first. MEMORY is that of the plan */
  const char *op;       /**< EXPLAIN: of ops that this describes, a name, a type or a pattern as the
                           flag "place" takes them, and of the copies that they need; null: of all */
  uint32_t
      all; /**< EXPLAIN and diffs, for people: 1 for every row in the place of the first page */
  uint32_t memory;   /**< EXPLAIN: 1 for memory in the place of ops: arenas, values at the peak */
  uint32_t timeline; /**< EXPLAIN: 1 for what TIMELINE tells besides */
  uint32_t width;    /**< for people: columns of the longest line, at least 40; 0: 100 */
  /** A run of one function as gantry_session_timeline gives it: TIMELINE, and EXPLAIN with
   * `timeline`, tell it in the place of what is predicted, REPORT beside it, of that function
   * alone; null: predicted. */
  const gantry_moment_t *moments;
  size_t num_moments;
  const gantry_plan_view_t *other; /**< REPORT: a second plan, shown beside the first with what
                                      differs, which lives as long as the call; null: none. Moments
                                      are of the first */
} gantry_show_options_t;

/** Tells it. `options` may be null: the defaults. Errors: NOT_FOUND, which lists what there is,
 * when there is no such function or op; INVALID_ARGUMENT for an `op` that is no pattern, numbers
 * that say nothing, moments of commands that there are not. */
GANTRY_API gantry_status_t gantry_plan_view_show(const gantry_plan_view_t *view, gantry_show_t what,
                                                 gantry_form_t form,
                                                 const gantry_show_options_t *options,
                                                 gantry_text_t **text);

/** What changed from one plan to another in placement, copies, memory and prediction: lines, or a
 * JSON object whose first member, "same", says whether anything did. Functions are matched by name,
 * ops by their stable names. Of `options`, which may be null, `all` and `width` count. */
GANTRY_API gantry_status_t gantry_plan_view_diff(const gantry_plan_view_t *before,
                                                 const gantry_plan_view_t *after,
                                                 gantry_form_t form,
                                                 const gantry_show_options_t *options,
                                                 gantry_text_t **text);

/** Message of the calling thread's last failing call into this library; never null. */
GANTRY_API const char *gantry_show_last_error(void);

/** Version of this library, "0.1.0". */
GANTRY_API const char *gantry_show_version(void);

#ifdef __cplusplus
}
#endif
#endif
