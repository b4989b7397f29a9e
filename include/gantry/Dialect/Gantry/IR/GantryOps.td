//===- GantryOps.td - All ops of the gantry dialect -----------------------===//
#ifndef GANTRY_OPS_TD
#define GANTRY_OPS_TD

include "gantry/Dialect/Gantry/IR/ElementwiseOps.td"
include "gantry/Dialect/Gantry/IR/ContractionOps.td"
include "gantry/Dialect/Gantry/IR/ReductionOps.td"
include "gantry/Dialect/Gantry/IR/ShapeOps.td"
include "gantry/Dialect/Gantry/IR/IndexingOps.td"
include "gantry/Dialect/Gantry/IR/RandomOps.td"
include "gantry/Dialect/Gantry/IR/StructureOps.td"
include "gantry/Dialect/Gantry/IR/VariableOps.td"
include "gantry/Dialect/Gantry/IR/GradientOps.td"

#endif
