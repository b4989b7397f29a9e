/* What the tests of the C API are written with. A test that uses the compiler defines
 * COMPILER_ERROR() before, so that both libraries' last errors are told. */
#ifndef GANTRY_TEST_CAPI_EXPECT_H
#define GANTRY_TEST_CAPI_EXPECT_H

#include "gantry-c/runtime.h"

#include <stdio.h>
#include <stdlib.h>

#ifndef COMPILER_ERROR
#define COMPILER_ERROR() ""
#endif

static int failures;

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: not true: %s (last errors: '%s', '%s')\n", __FILE__, __LINE__,       \
              #condition, gantry_last_error(), COMPILER_ERROR());                                  \
      ++failures;                                                                                  \
    }                                                                                              \
  } while (0)

/* What the rest of the test cannot do without. */
#define NEED(condition)                                                                            \
  do {                                                                                             \
    int before = failures;                                                                         \
    EXPECT(condition);                                                                             \
    if (failures != before)                                                                        \
      exit(1);                                                                                     \
  } while (0)

#endif
