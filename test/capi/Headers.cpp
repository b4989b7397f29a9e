#include "gantry-c/graph.h"

#include "gantry-c/array.h"
#include "gantry-c/compiler.h"
#include "gantry-c/machine.h"
#include "gantry-c/runtime.h"
#include "gantry-c/show.h"
#include "gantry-c/topology.h"
