// Kernels of several modules: one text that ptxas takes, and the same bytes however many threads
// make them.

// RUN: gantry compile %s --devices=CPU:0,GPU:0 --no-fuse --gpu-arch=sm_90 --stop-after=ptx -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// CHECK-COUNT-1: .version
// CHECK-NOT: .version
// CHECK-COUNT-9: .entry
// CHECK-NOT: .entry
// RUN: gantry-ptx lint %t.ptx
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --no-fuse --gpu-arch=sm_75,sm_90 --cubins=off -o %t.many
// RUN: taskset 1 gantry compile %s --devices=CPU:0,GPU:0 --no-fuse --gpu-arch=sm_75,sm_90 --cubins=off -o %t.one
// RUN: cmp %t.many %t.one
// RUN: gantry run %t.one --emulate --emulate-checks all --fill x=ramp | FileCheck %s --check-prefix=VALUES
// VALUES: [-0.270140{{[0-9]*}} -0.161216{{[0-9]*}} {{ *}}-0.29387{{[0-9]*}} {{ *}}-0.32014{{[0-9]*}}]
// RUN: gantry plan-text %t.one | FileCheck %s --check-prefix=PLAN
// PLAN: @code3 ptx for "sm_75"

func.func @main(%x: tensor<4xf32> {gantry.name = "x"}) -> (tensor<4xf32> {gantry.name = "y"}) {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.sin %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gantry.cos %2 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = gantry.tanh %3 : (tensor<4xf32>) -> tensor<4xf32>
  %5 = gantry.neg %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = gantry.abs %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = gantry.sqrt %6 : (tensor<4xf32>) -> tensor<4xf32>
  %8 = gantry.log %7 : (tensor<4xf32>) -> tensor<4xf32>
  return %8 : tensor<4xf32>
}
