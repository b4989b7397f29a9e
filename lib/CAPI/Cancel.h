// The C API's token, the same in both libraries.
#pragma once

#include "gantry-c/common.h"
#include "gantry/Support/Cancel.h"

struct gantry_cancel_t {
  gantry::Cancel token;
};
