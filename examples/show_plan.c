/* Tells what a plan does, without running it: libgantry-show alone.
 *   show_plan PLAN [REPORT.html]     lines of the placement log; a page with pictures */
#include "gantry-c/show.h"

#include <stdio.h>
#include <stdlib.h>

static void check(gantry_status_t status) {
  if (status != GANTRY_OK) {
    fprintf(stderr, "error: %s\n", gantry_show_last_error());
    exit(1);
  }
}

/* Into a file, or to standard output when `path` is null. */
static void show(const gantry_plan_view_t *view, gantry_show_t what, const char *path) {
  gantry_text_t *text = NULL;
  check(gantry_plan_view_show(view, what, GANTRY_FORM_TEXT, NULL, &text));
  FILE *out = path ? fopen(path, "w") : stdout;
  if (!out || fwrite(gantry_text_string(text), 1, gantry_text_size(text), out) == 0) {
    perror(path);
    exit(1);
  }
  if (path)
    fclose(out);
  gantry_text_destroy(text);
}

int main(int argc, char **argv) {
  gantry_plan_view_t *view = NULL;
  check(gantry_plan_view_open(argc > 1 ? argv[1] : "model.gantry", &view));
  show(view, GANTRY_SHOW_LOG, NULL);
  show(view, GANTRY_SHOW_MEMORY, NULL);
  if (argc > 2)
    show(view, GANTRY_SHOW_REPORT, argv[2]);
  gantry_plan_view_destroy(view);
  return 0;
}
