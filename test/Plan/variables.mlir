// Variables in a plan file: their places and first values; what a function writes, it says.
// RUN: gantry compile %s -o %t.gantry --devices=CPU:0,GPU:0,GPU:1 --simulate
// RUN: gantry plan-text %t.gantry | FileCheck %s
// RUN: gantry plan-text %t.gantry | gantry-opt | FileCheck %s
// RUN: gantry run %t.gantry --function read 2>/dev/null | FileCheck %s --check-prefix=FIRST
// RUN: gantry run %t.gantry --function write --save-state %t.npz 2>/dev/null
// RUN: gantry run %t.gantry --function read --load-state %t.npz 2>/dev/null | FileCheck %s --check-prefix=SECOND

// CHECK-DAG: plan.arena @variables_d1 variables on @d1 size 64
// CHECK-DAG: plan.arena @variables_d2 variables on @d2 size 64
// CHECK-DAG: plan.variable @[[W:v[0-9]+]] "w" on @d1 in @variables_d1 offset 0 size 12 : tensor<3xf32>
// CHECK-DAG: plan.variable @[[M:v[0-9]+]] "w/replica_1" on @d2 mirror of "w" in @variables_d2 offset 0 size 12 : tensor<3xf32>
// CHECK: plan.func @write
// CHECK-DAG: plan.state @[[W]] size 12
// CHECK-DAG: plan.state @[[M]] size 12
// CHECK: plan.func @read
// CHECK: plan.state @[[W]] size 12
// CHECK-NOT: plan.state @[[M]]
// FIRST: [1. 2. 3.]
// SECOND: [2. 4. 6.]
gantry.variable @w = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
func.func @write() {
  gantry.replicate () on ["GPU:0", "GPU:1"] takes [] gives [] : () -> () {
    %w = gantry.read @w : tensor<3xf32>
    gantry.assign_add @w, %w : tensor<3xf32>
    gantry.yield
  }
  return
}
func.func @read() -> tensor<3xf32> {
  %w = gantry.read @w : tensor<3xf32>
  return %w : tensor<3xf32>
}
