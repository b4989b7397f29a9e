#include "gantry-c/runtime.h"

#include "gantry-c/compiler.h"
