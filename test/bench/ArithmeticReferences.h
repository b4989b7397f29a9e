// The functions that Gantry's are measured against, in more precision than those have.
#pragma once

#include <cstddef>
#include <vector>

struct Function {
  const char *name; ///< of the op
  void (*narrow)(const float *x, double *results, size_t count);
  long double (*wide)(long double x);
};

const std::vector<Function> &functions();
