// Each module of kernels goes the way of its target; modules that name none are left alone.
// RUN: gantry-opt %s --gantry-lower-kernels | FileCheck %s
// RUN: gantry-opt %s --gantry-lower-kernels=targets=cpu | FileCheck %s

// CHECK: module @mine
// CHECK: func.func private @add_0(%{{[a-z0-9]+}}: memref<4xf32>
// CHECK-SAME: gantry.work = #gantry.work<items = 1, grain = {{[0-9]+}}, in_place = [0, 1]>
module @mine attributes {gantry.target = #gantry.target<"cpu">} {
  gantry.kernel @add_0 attributes {gantry.work = #gantry.work<in_place = [0, 1]>} {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
    %0 = gantry.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0 : tensor<4xf32>
  }
}
// CHECK: module @nobodys
// CHECK-NEXT: gantry.kernel @add_0
module @nobodys {
  gantry.kernel @add_0 {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
    %0 = gantry.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0 : tensor<4xf32>
  }
}
