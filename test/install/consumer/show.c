/* A program of somebody else: tells what a plan does with what was installed, without runtime and
 * compiler. */
#include <gantry-c/show.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  gantry_plan_view_t *view = NULL;
  gantry_text_t *text = NULL;
  if (argc != 2 || !strstr(argv[1], ".gantry")) {
    if (gantry_plan_view_of("not a plan", 10, &view) != GANTRY_CORRUPT || view)
      return fprintf(stderr, "ten bytes were taken for a plan\n"), 1;
    printf("gantry %s: %s\n", gantry_show_version(), gantry_show_last_error());
    return 0;
  }
  if (gantry_plan_view_open(argv[1], &view) != GANTRY_OK ||
      gantry_plan_view_show(view, GANTRY_SHOW_LOG, GANTRY_FORM_TEXT, NULL, &text) != GANTRY_OK)
    return fprintf(stderr, "%s\n", gantry_show_last_error()), 1;
  fputs(gantry_text_string(text), stdout);
  gantry_text_destroy(text);
  gantry_plan_view_destroy(view);
  return 0;
}
