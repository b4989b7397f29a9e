// Place reads interfaces only: ops of another dialect are placed like our own (spec G5). gantry-opt
// attaches the interfaces (tools/gantry-opt/ForeignOps.cpp).
// RUN: gantry-opt %s --gantry-name-ops --gantry-assign-devices --gantry-verify-placed --mlir-print-local-scope | FileCheck %s
// RUN: not gantry-opt %s --gantry-place="rules=op:TosaSub=GPU:0" 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: error: 'TosaSub' is placed on '/job:localhost/replica:0/task:0/device:GPU:0' by --place 'op:TosaSub=GPU:0': no kernel for 'TosaSub' of f32 there; there are kernels for CPU; ask for another device

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {

// CHECK-LABEL: @g5_foreign
// CHECK: tosa.add {{.*}}device:GPU:1">, gantry.name = "TosaAdd/output0.0.0", gantry.placement = #gantry.decision<"requested"
// CHECK: tosa.sub {{.*}}device:CPU:0">, gantry.name = "TosaSub/output0.0", gantry.placement = #gantry.decision<"default", {{.*}}rejected = ["GPU:0: no kernel for 'TosaSub' of f32"
// CHECK: tosa.reciprocal {{.*}}device:GPU:0">
func.func @g5_foreign(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tosa.add %x, %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = tosa.sub %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = tosa.reciprocal %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

}
