#include "gantry-c/compiler.h"

#include "gantry-c/machine.h"
#include "gantry-c/runtime.h"
