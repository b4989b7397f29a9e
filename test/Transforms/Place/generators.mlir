// Cheap generators go to the devices of their uses, cloned for several (spec P7).
// RUN: gantry-opt %s --gantry-assign-devices --gantry-verify-placed --mlir-print-local-scope | FileCheck %s

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {

// CHECK-LABEL: @p7_clones
// CHECK: %[[G0:.*]] = gantry.iota {{.*}}device:GPU:0">, gantry.name = "i", gantry.placement = #gantry.decision<"inferred", "goes with what uses it">
// CHECK: %[[C:.*]] = gantry.iota {{.*}}device:CPU:0">, gantry.name = "i@CPU:0", gantry.placement = #gantry.decision<"inferred", "goes with what uses it; a clone">
// CHECK: gantry.abs %[[C]] {{.*}}device:CPU:0">
// CHECK: gantry.neg %[[G0]] {{.*}}device:GPU:0">
// CHECK: return %[[C]]
func.func @p7_clones() -> tensor<4xf32> {
  %0 = gantry.iota {gantry.name = "i", axis = 0 : i64} : () -> tensor<4xf32>
  %1 = gantry.abs %0 {gantry.device = #gantry.device<"CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Through a view; and one that asks is obeyed.
// CHECK-LABEL: @p7_view
// CHECK: gantry.iota {{.*}}device:GPU:1">
// CHECK: gantry.iota {{.*}}device:GPU:0">{{.*}}<"requested"
func.func @p7_view() {
  %0 = gantry.iota {axis = 0 : i64} : () -> tensor<4xf32>
  %1 = gantry.reshape %0 : (tensor<4xf32>) -> tensor<2x2xf32>
  %2 = gantry.abs %1 {gantry.device = #gantry.device<"GPU:1">} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = gantry.iota {axis = 0 : i64, gantry.device = #gantry.device<"GPU:0">} : () -> tensor<4xf32>
  %4 = gantry.abs %3 {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

}
