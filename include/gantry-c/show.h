/* Gantry C API, what plans say of themselves (libgantry-runtime): for people as the tool prints it,
 * for programs as JSON. Nothing is run. Ownership and errors: common.h. */
#ifndef GANTRY_C_SHOW_H
#define GANTRY_C_SHOW_H

#include "gantry-c/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A text that was made for the caller. */
typedef struct gantry_text_t gantry_text_t;

/** Lives as long as the text; null when that is null. */
GANTRY_API const char *gantry_text_string(const gantry_text_t *text);
GANTRY_API void gantry_text_destroy(gantry_text_t *text);

/** What to tell of a plan. */
typedef enum gantry_show_t {
  GANTRY_SHOW_LOG = 0,    /**< where every op runs and what is copied, in the order of a run: the
                             tool's --log-device-placement */
  GANTRY_SHOW_COPIES = 1, /**< the copies alone, in the same lines */
  GANTRY_SHOW_MEMORY = 2  /**< of each device, bytes of constants, variables and of a run */
} gantry_show_t;

typedef enum gantry_form_t {
  GANTRY_FORM_TEXT = 0, /**< lines for people, each with its newline */
  GANTRY_FORM_JSON = 1  /**< LOG and COPIES: an object a line; MEMORY: an array of objects */
} gantry_form_t;

/** Tells it of one function, or of all when `function` is null: for people, of several each has a
 * line "function NAME:" first. Memory is that of the plan. NOT_FOUND, which lists the functions,
 * when there is none of that name. */
GANTRY_API gantry_status_t gantry_plan_show(const gantry_plan_t *plan, const char *function,
                                            gantry_show_t what, gantry_form_t form,
                                            gantry_text_t **text);

/** What changed from one plan to another in placement, copies, memory and prediction, as a JSON
 * object; its first member, "same", says whether anything did. Functions are matched by name, ops
 * by their stable names. */
GANTRY_API gantry_status_t gantry_plan_diff(const gantry_plan_t *before, const gantry_plan_t *after,
                                            gantry_text_t **json);

#ifdef __cplusplus
}
#endif
#endif
