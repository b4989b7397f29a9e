//===- AllOps.td - What the page of the dialect is made of ----------------===//
#ifndef GANTRY_ALL_OPS_TD
#define GANTRY_ALL_OPS_TD

include "gantry/Dialect/Gantry/IR/GantryOps.td"
include "gantry/Dialect/Gantry/IR/CollectiveOps.td"

#endif
