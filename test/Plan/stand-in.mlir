// A kernel of a GPU has one work item, whatever the host's has: where simulated devices stand in, all of
// the host's items run.

// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_75 --cubins=off --also=sim -o %t.gantry
// RUN: gantry run %t.gantry --fill ones 2>/dev/null | FileCheck %s

// CHECK: output0: f32[] on CPU:0
// CHECK-NEXT: 512
func.func @main(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>) -> tensor<f32> {
  %0 = gantry.matmul %x, %y : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = gantry.reduce_min %0 {axes = array<i64: 0, 1>} : (tensor<512x512xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
