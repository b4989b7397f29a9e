// One kernel for two updates: that of @w is made in place, that of @v is not, since its old value is
// returned after it. Both are right, and neither runs one element at a time for the other's sake.
// RUN: gantry compile %s --stop-after=schedule -o - | FileCheck %s --check-prefix=PLAN
// RUN: gantry compile %s --stop-after=llvm -o - | FileCheck %s --check-prefix=CODE
// RUN: gantry run %s --function both --fill ramp --repeat 3 --save-state %t.npz
// RUN: gantry run %s --function values --load-state %t.npz | FileCheck %s

// PLAN: plan.launch @update_add_0(%[[W:.*]], %{{.*}}) -> (%[[W]])
// PLAN: plan.launch @update_add_0(%[[V:.*]], %{{.*}}) -> (%{{.*}})
// CODE: define {{.*}}@update_add_0(ptr readonly {{[^%]*}}%[[OLD:[0-9]+]], ptr noalias readonly {{[^%]*}}%{{[0-9]+}}, ptr align{{[^%]*}}%[[NEW:[0-9]+]], i64
// CODE: icmp eq ptr %[[OLD]], %[[NEW]]
// CHECK: output0
// CHECK-NEXT: 0.5 3.5 6.5 9.5
// CHECK: output1
// CHECK-NEXT: 1.5 4.5 7.5 10.5
module {
  gantry.variable @w = dense<0.5> : tensor<64xf32>
  gantry.variable @v = dense<1.5> : tensor<64xf32>
  func.func @both(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
    gantry.assign_add @w, %x : tensor<64xf32>
    %old = gantry.read @v : tensor<64xf32>
    gantry.assign_add @v, %y : tensor<64xf32>
    return %old : tensor<64xf32>
  }
  func.func @values() -> (tensor<4xf32>, tensor<4xf32>) {
    %w = gantry.read @w : tensor<64xf32>
    %v = gantry.read @v : tensor<64xf32>
    %0 = gantry.slice %w {starts = array<i64: 0>, sizes = array<i64: 4>, steps = array<i64: 1>} : (tensor<64xf32>) -> tensor<4xf32>
    %1 = gantry.slice %v {starts = array<i64: 0>, sizes = array<i64: 4>, steps = array<i64: 1>} : (tensor<64xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
